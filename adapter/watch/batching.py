"""Whether a due model waits for further commits, so that one run reads several commits. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..status.status import ModelStatus


@dataclass(frozen=True)
class Batching:
    """How long a model waits for a period without commits.

    ``debounce``: this period in seconds, 0 for no wait. ``max_batch``: the number of pending commits that ends the
    wait; None for no limit. ``max_wait``: the maximum wait in seconds.
    """

    debounce: float = 0.0
    max_batch: int | None = None
    max_wait: float = 60.0

    def is_ready(self, status: ModelStatus, last_changed: Mapping[str, float], due_since: float, now: float) -> bool:
        """Whether to build a due model now.

        ``last_changed``: the times of the last observed changes of sources; missing for sources without changes.
        ``due_since``: the time at which the model became due. All times are in seconds of the same clock.
        """
        if self.max_batch is not None and status.commits >= self.max_batch:
            return True
        if now - due_since >= self.max_wait:
            return True
        changes = (last_changed.get(source.source) for source in status.sources)
        return all(at is None or now - at >= self.debounce for at in changes)

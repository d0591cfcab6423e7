"""Whether a due model waits for further commits, so that one run takes them together. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..status.status import ModelStatus


@dataclass(frozen=True)
class Batching:
    """How long a model waits for its sources to be quiet.

    ``debounce``: seconds without a commit, 0 for no wait. ``max_batch``: the number of pending commits at which a model
    waits no longer, None for any number. ``max_wait``: the seconds for which it waits at most.
    """

    debounce: float = 0.0
    max_batch: int | None = None
    max_wait: float = 60.0

    def is_ready(self, status: ModelStatus, last_changed: Mapping[str, float], due_since: float, now: float) -> bool:
        """Whether a due model is to be built now.

        ``last_changed``: when each source was last seen to change; one that has not been seen to is quiet.
        ``due_since``: when the model was first seen to be due. Times are seconds of one clock.
        """
        if self.max_batch is not None and status.commits >= self.max_batch:
            return True
        if now - due_since >= self.max_wait:
            return True
        changes = (last_changed.get(source.source) for source in status.sources)
        return all(at is None or now - at >= self.debounce for at in changes)

"""What ``watch`` is doing, as the status page shows it. Times are seconds since 1970 (UTC)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_VARYING = re.compile(r"[0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}|\d+", re.IGNORECASE)
"""What differs between two messages of one error: ids of runs and snapshots, numbers of rows, tasks and lines."""


@dataclass(frozen=True)
class RunInProgress:
    """A run in progress: when it began, and how many nodes it builds."""

    began: float
    nodes: int


@dataclass(frozen=True)
class Failure:
    """A node that is failing.

    ``foreseen``: its metadata show that a run would fail, so that none was tried. ``failures``: how often it has failed
    in a row. ``since``: when it failed first; ``retry_at``: when it is tried again. ``is_repeated``: whether it failed
    with the same error before.
    """

    message: str
    foreseen: bool
    failures: int
    since: float
    retry_at: float
    is_repeated: bool = False

    def is_like(self, message: str) -> bool:
        """Whether a message is that of the same error."""
        return _kind(self.message) == _kind(message)


@dataclass(frozen=True)
class Live:
    """``run``: the one in progress, None if there is none; ``failing``: by unique id."""

    run: RunInProgress | None = None
    failing: Mapping[str, Failure] = field(default_factory=dict)


def _kind(message: str) -> frozenset[str]:
    """What two messages of one error have in common; those of several failing tests are in any order."""
    return frozenset(_VARYING.sub("#", line) for line in message.splitlines())

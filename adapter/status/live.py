"""The state of ``watch`` for the status page. Times are seconds since 1970 (UTC)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_VARYING = re.compile(r"[0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}|\d+", re.IGNORECASE)
"""The parts of a message that can differ for the same error: ids of runs and snapshots, and numbers."""


@dataclass(frozen=True)
class RunInProgress:
    """A run in progress: its start, and the number of nodes that it builds."""

    began: float
    nodes: int


@dataclass(frozen=True)
class Failure:
    """A failing node.

    ``foreseen``: whether no run was started, because the metadata shows that it would fail. ``failures``: the number of
    consecutive failures. ``since``: the time of the first of them. ``retry_at``: the time of the next attempt.
    ``is_repeated``: whether the previous failure had the same error.
    """

    message: str
    foreseen: bool
    failures: int
    since: float
    retry_at: float
    is_repeated: bool = False

    def is_like(self, message: str) -> bool:
        """Whether a message belongs to the same error."""
        return _kind(self.message) == _kind(message)


@dataclass(frozen=True)
class Live:
    """The state of ``watch``. ``run``: None without a run in progress. ``failing``: the failing nodes by unique id."""

    run: RunInProgress | None = None
    failing: Mapping[str, Failure] = field(default_factory=dict)


def _kind(message: str) -> frozenset[str]:
    """The lines of a message without their varying parts. Several failing tests can be in any order."""
    return frozenset(_VARYING.sub("#", line) for line in message.splitlines())

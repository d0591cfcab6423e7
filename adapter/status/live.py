"""What ``watch`` is doing, as the status page shows it. Times are milliseconds since 1970 (UTC)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LiveFailure:
    """A node that is failing.

    ``since_ms``: when it failed first; ``retry_ms``: when it is tried again; ``failures``: how often in a row.
    """

    message: str
    since_ms: int
    retry_ms: int
    failures: int


@dataclass(frozen=True)
class Live:
    """``run_started_ms``: when the run in progress began, None if there is none; ``run_nodes``: how many it builds.

    ``failing``: by unique id.
    """

    run_started_ms: int | None = None
    run_nodes: int = 0
    failing: Mapping[str, LiveFailure] = field(default_factory=dict)

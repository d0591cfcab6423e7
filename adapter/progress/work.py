"""How far a statement is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Work:
    """What Spark has done of the jobs that a statement has started so far.

    ``stage``: the first stage that runs, from 1, of ``stages``. ``tasks``: of the stages that ran, run and will run.
    ``rows`` and ``bytes`` that were read; 0 where Spark does not say.
    """

    stage: int
    stages: int
    tasks_done: int
    tasks: int
    rows: int = 0
    bytes: int = 0


@runtime_checkable
class WatchedWork(Protocol):
    """A connection's handle that knows what its session is doing. One that does not has no such method."""

    def progress(self) -> Work | None:
        """What runs now, asked from another thread than the statement's; None where that is not known. Never raises."""

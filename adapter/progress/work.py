"""The progress of a statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Work:
    """The progress of the jobs that a statement has started so far.

    ``stage``: the number of the first running stage, from 1, out of ``stages``. ``tasks``: the tasks of stages that
    have run, are running or will run. ``rows``, ``bytes``: the amounts read; 0 if Spark does not report them.
    """

    stage: int
    stages: int
    tasks_done: int
    tasks: int
    rows: int = 0
    bytes: int = 0


@runtime_checkable
class WatchedWork(Protocol):
    """A connection's handle that reports the progress of its session. Other handles lack this method."""

    def progress(self) -> Work | None:
        """The current progress, requested from another thread. None if unknown. Never raises an error."""

"""The tasks of ``watch`` between its runs: table maintenance."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from dbt_common.exceptions import DbtRuntimeError

from .project import Project


@dataclass
class PeriodicTask:
    """A task that runs at an interval, while no model is due.

    ``do`` raises DbtBaseException on failure, which does not stop the loop. ``every``: seconds. ``last``: the time of
    the last attempt, in seconds of the loop's clock.
    """

    name: str
    do: Callable[[], None]
    every: float
    last: float = 0.0

    def is_due(self, now: float) -> bool:
        """Whether to run the task now."""
        return now - self.last >= self.every

    def mark_attempt(self, now: float) -> None:
        """Record an attempt. The task is due again after the interval."""
        self.last = now


def maintenance(project: Project, every: float, now: float) -> PeriodicTask:
    """Call ``ip_maintain`` for the watched models, the first time after ``every`` seconds."""

    def maintain() -> None:
        from dbt.cli.main import dbtRunner

        names = [str(node["unique_id"]) for node in project.nodes.values()]
        arguments = json.dumps({"select": sorted(names)})
        outcome = dbtRunner(project.parsed()).invoke(
            ["run-operation", "ip_maintain", *project.options.common, "--args", arguments]
        )
        if not outcome.success:
            raise DbtRuntimeError(str(outcome.exception or "ip_maintain failed; see dbt's log"))

    return PeriodicTask("ip_maintain", maintain, every, last=now)

"""What ``watch`` does between its runs: it maintains the tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from dbt_common.exceptions import DbtRuntimeError

from .project import Project


@dataclass
class Chore:
    """Something to do again and again, while no model is due.

    ``do`` raises DbtBaseException where it fails, which stops nothing else. ``every``: seconds. ``last``: when it was
    last tried, in seconds of the loop's clock.
    """

    name: str
    do: Callable[[], None]
    every: float
    last: float = 0.0

    def is_due(self, now: float) -> bool:
        """Whether to do it now."""
        return now - self.last >= self.every

    def was_tried(self, now: float) -> None:
        """Begin to wait for the next time."""
        self.last = now


def maintenance(project: Project, every: float, now: float) -> Chore:
    """Call ``ip_maintain`` for the watched models, the first time after ``every`` seconds."""

    def maintain() -> None:
        from dbt.cli.main import dbtRunner

        names = [str(node["unique_id"]) for node in project.nodes.values()]
        arguments = json.dumps({"select": sorted(names)})
        outcome = dbtRunner(project.parsed()).invoke(
            ["run-operation", "ip_maintain", *project.options.common, "--args", arguments]
        )
        if not outcome.success:
            raise DbtRuntimeError(str(outcome.exception or "ip_maintain failed, as dbt's log says"))

    return Chore("ip_maintain", maintain, every, last=now)

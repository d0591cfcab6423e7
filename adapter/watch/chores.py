"""What ``watch`` does beside its runs: it keeps the status page, and keeps up the tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbt_common.exceptions import DbtRuntimeError

from ..incremental.capture.cuts import Cuts
from ..incremental.operations.project_status import with_failures
from ..incremental.operations.show_status import project_status
from ..incremental.operations.status_page import write_page
from .lake import Lake
from .project import Project

PAGE_EVERY = 60.0
"""Seconds after which the page is written again where nothing has changed: ages and lags have."""
_PAGE_REFRESH = 15
"""Seconds after which a browser that shows the page loads it again."""


@dataclass
class Chore:
    """Something to do again and again. ``do`` raises DbtBaseException where it fails, which stops nothing else.

    It is given the messages of the nodes that are failing, by unique id.
    ``every``: seconds. ``at_changes``: whether a change makes it due before. ``between_runs``: whether it waits until
    no model is due. ``last``: when it was last tried, in seconds of the loop's clock.
    """

    name: str
    do: Callable[[Mapping[str, str]], None]
    every: float
    at_changes: bool = False
    between_runs: bool = False
    last: float = 0.0
    saw_change: bool = False

    def is_due(self, now: float, *, idle: bool) -> bool:
        """Whether to do it now; ``idle``: no model is due."""
        if self.between_runs and not idle:
            return False
        return now - self.last >= self.every or (self.at_changes and self.saw_change)

    def was_tried(self, now: float) -> None:
        """Begin to wait for the next time."""
        self.last, self.saw_change = now, False


def status_page(project: Project, lake: Lake, file: Path, now: float) -> Chore:
    """Write the status page of the watched models: now, and then as they change. Raises ConfigError."""

    def write(failing: Mapping[str, str]) -> None:
        cuts = Cuts(lambda: lake.reader)
        nodes = [project.nodes[name] for name in sorted(project.nodes)]
        found = project_status(
            lake.reader,
            cuts,
            project.graph,
            project.default_catalog,
            project.scope,
            project.config.project_name,
            nodes,
        )
        write_page(with_failures(found, failing), file, refresh=_PAGE_REFRESH)

    write({})
    return Chore("the status page", write, PAGE_EVERY, at_changes=True, last=now)


def upkeep(project: Project, every: float, now: float) -> Chore:
    """Call ``ip_maintain`` for the watched models, the first time after ``every`` seconds."""

    def maintain(failing: Mapping[str, str]) -> None:
        from dbt.cli.main import dbtRunner

        names = [str(node["unique_id"]) for node in project.nodes.values()]
        manifest = project.manifest.deepcopy() if project.reuses_manifest else None
        arguments = json.dumps({"select": sorted(names)})
        outcome = dbtRunner(manifest).invoke(
            ["run-operation", "ip_maintain", *project.options.common, "--args", arguments]
        )
        if not outcome.success:
            raise DbtRuntimeError(str(outcome.exception or "ip_maintain failed, as dbt's log says"))

    return Chore("ip_maintain", maintain, every, between_runs=True, last=now)

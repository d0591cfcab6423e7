"""The status page of ``watch``: the models and snapshots as in ``ip_status``, the run in progress, and failures."""

from __future__ import annotations

from pathlib import Path

from ..operations.show_status import StatusReader
from ..status.live import Live
from ..status.project_status import with_failures
from ..status_page import write_page
from .profile_tables import ProfileTables
from .project import Project
from .watched import Watched

_REFRESH = 15
"""The interval in seconds at which a browser reloads the page."""


class Page:
    """The page of the watched models and of the selected snapshots, in a file."""

    def __init__(self, project: Project, lake: ProfileTables, watched: Watched, file: Path) -> None:
        self._project = project
        self._lake = lake
        self._watched = watched
        self._file = file

    def write(self, live: Live) -> None:
        """Replace the file of the page. Raises ConfigError if the page cannot be created or written."""
        project = self._project
        with self._watched.reading:
            look = StatusReader(self._lake.reader, project.tables, project.scope)
            nodes = {**project.nodes, **project.snapshots}
            folder = Path(project.config.project_root) / project.config.target_path
            found = look.project_status(project.config.project_name, [nodes[name] for name in sorted(nodes)], folder)
        messages = {name: failure.message for name, failure in live.failing.items()}
        write_page(with_failures(found, messages), self._file, refresh=_REFRESH, live=live)

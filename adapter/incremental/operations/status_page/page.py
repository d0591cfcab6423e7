"""The status page as text."""

from __future__ import annotations

from ..project_status import ProjectStatus


def page(status: ProjectStatus, *, refresh: int | None = None) -> str:
    """The page of a project's status. ``refresh``: after how many seconds a browser loads it again, None for never."""
    return f"{status.project}{refresh or ''}"

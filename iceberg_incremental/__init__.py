"""Incremental processing of Iceberg tables: capture a range of snapshots, apply it, and commit the new position.

``Job`` is the entry point for PySpark jobs. The dbt adapter and the command ``iceberg-incremental`` use the same code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .job.job import Job

__all__ = ["Job"]


def __getattr__(name: str) -> Any:
    """Import ``Job`` on first use, because the adapter needs only some of the packages."""
    if name != "Job":
        raise AttributeError(name)
    from .job.job import Job

    return Job

"""Incremental processing of Iceberg tables: capture a range of snapshots, apply it, commit where it ended.

``Job`` is the entrance for jobs of PySpark; a dbt adapter and a command stand on the same packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .job.job import Job

__all__ = ["Job"]


def __getattr__(name: str) -> Any:
    """``Job``, loaded when it is asked for: the adapter needs only some of the packages below."""
    if name != "Job":
        raise AttributeError(name)
    from .job.job import Job

    return Job

"""Incremental processing of Iceberg tables: capture a range of snapshots, apply it, and commit the new position.

``Job`` is the entry point for PySpark jobs, and ``local_spark`` starts a Spark for them in their own process. The dbt
adapter and the command ``iceberg-incremental`` use the same code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .job.job import Job
    from .jvm.launch import local_spark

__all__ = ["Job", "local_spark"]


def __getattr__(name: str) -> Any:
    """Import the entry points on first use, because the adapter needs only some of the packages."""
    if name == "Job":
        from .job.job import Job

        return Job
    if name == "local_spark":
        from .jvm.launch import local_spark

        return local_spark
    raise AttributeError(name)

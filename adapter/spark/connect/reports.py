"""The progress that a Spark Connect server reports for a statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ...progress import Work
from ...progress.jobs import Stage, total


class StageReport(Protocol):
    """A stage of a statement's job, as in Spark's client: ``StageInfo`` in pyspark/sql/connect/shell/progress.py."""

    stage_id: int
    num_tasks: int
    num_completed_tasks: int
    num_bytes_read: int
    done: bool


def work_of(reports: Iterable[StageReport]) -> Work | None:
    """The progress of a statement. None if no job has started."""
    return total([_stage(each) for each in sorted(reports, key=lambda each: each.stage_id)])


def _stage(report: StageReport) -> Stage:
    """Convert a stage. The server counts every attempt of a task, and does not report whether a stage has started."""
    done = min(report.num_completed_tasks, report.num_tasks)
    status = "COMPLETE" if report.done else "ACTIVE" if done else "PENDING"
    return Stage(status, done, report.num_tasks, bytes=report.num_bytes_read)

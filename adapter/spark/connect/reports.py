"""The progress that a Spark Connect server reports for a statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ...progress import Work
from ...progress.jobs import Stage, total


class StageReport(Protocol):
    """A stage of a job of the statement, as in Spark's client, with the bytes that it has read.

    See ``StageInfo`` in pyspark/sql/connect/shell/progress.py.
    """

    stage_id: int
    num_tasks: int
    num_completed_tasks: int
    num_bytes_read: int
    done: bool


def work_of(reports: Iterable[StageReport]) -> Work | None:
    """The progress of a statement. None if no job has started."""
    return total([_stage(each) for each in sorted(reports, key=lambda each: each.stage_id)])


def _stage(report: StageReport) -> Stage:
    """A stage. The server counts each attempt of a task, and does not report the start of a stage."""
    done = min(report.num_completed_tasks, report.num_tasks)
    status = "COMPLETE" if report.done else "ACTIVE" if done else "PENDING"
    return Stage(status, done, report.num_tasks, bytes=report.num_bytes_read)

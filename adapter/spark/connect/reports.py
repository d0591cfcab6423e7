"""What a Spark Connect server reports of a statement while it runs it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ...progress import Work
from ...progress.jobs import Stage, total


class StageReport(Protocol):
    """A stage of any job that the statement has started, as Spark's client has it, with the bytes that it has read.

    pyspark/sql/connect/shell/progress.py, ``StageInfo``.
    """

    stage_id: int
    num_tasks: int
    num_completed_tasks: int
    num_bytes_read: int
    done: bool


def work_of(reports: Iterable[StageReport]) -> Work | None:
    """How far a statement is; None where no job has started."""
    return total([_stage(each) for each in sorted(reports, key=lambda each: each.stage_id)])


def _stage(report: StageReport) -> Stage:
    """The server counts each attempt of a task, and does not say of a stage that it has begun."""
    done = min(report.num_completed_tasks, report.num_tasks)
    status = "COMPLETE" if report.done else "ACTIVE" if done else "PENDING"
    return Stage(status, done, report.num_tasks, bytes=report.num_bytes_read)

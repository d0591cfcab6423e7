"""The progress of a group of Spark jobs, from a driver in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .work import Work

if TYPE_CHECKING:
    from pyspark import SparkContext


_MOST_WAIT_MS = 1_000
"""The maximum time to wait for Spark's listeners. By default, Spark waits 10 s."""


@dataclass(frozen=True)
class Stage:
    """A stage of a Spark job. ``status``: for example ``PENDING``, ``ACTIVE`` or ``COMPLETE``."""

    status: str
    tasks_done: int
    tasks: int
    rows: int = 0
    bytes: int = 0


def work_of_group(context: SparkContext, group: str) -> Work | None:
    """The work of the group's active jobs; None without active jobs, or if the driver has ended."""
    from py4j.protocol import Py4JError

    try:
        tracker = context.statusTracker()
        active = set(tracker.getActiveJobsIds()) & set(tracker.getJobIdsForGroup(group))
        infos = [info for job in active if (info := tracker.getJobInfo(job)) is not None]
        return total([_stage(context, stage) for stage in sorted({stage for info in infos for stage in info.stageIds})])
    except (Py4JError, OSError):
        return None


def seconds_of_group(context: SparkContext, group: str) -> float | None:
    """The CPU time in s that executors have spent on the group's jobs so far.

    None if the driver has ended, or if Spark's listeners, such as the log of its events, are behind.
    """
    from py4j.protocol import Py4JError

    try:
        # the store learns of tasks later than the statement
        context._jsc.sc().listenerBus().waitUntilEmpty(_MOST_WAIT_MS)
        tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
        infos = [info for job in tracker.getJobIdsForGroup(group) if (info := tracker.getJobInfo(job)) is not None]
        stages = {stage for info in infos for stage in info.stageIds}
        return float(sum(store.lastStageAttempt(stage).executorCpuTime() for stage in stages)) / 1e9
    except (Py4JError, OSError):
        return None


def total(stages: Sequence[Stage]) -> Work | None:
    """The work of stages, which are ordered by id.

    A pending stage before the first active stage never runs. Its parents have lower ids, so it does not wait for
    another stage. Its result exists from an earlier job. Without active stages, the stage after the last complete one
    is next.
    """
    if not stages:
        return None
    complete = [place for place, each in enumerate(stages) if each.status == "COMPLETE"]
    following = min(max(complete, default=-1) + 1, len(stages) - 1)
    first = next((place for place, each in enumerate(stages) if each.status == "ACTIVE"), following)
    counted = [each for place, each in enumerate(stages) if place >= first or each.status == "COMPLETE"]
    return Work(
        stage=first + 1,
        stages=len(stages),
        tasks_done=sum(each.tasks_done for each in counted),
        tasks=sum(each.tasks for each in counted),
        rows=sum(each.rows for each in counted),
        bytes=sum(each.bytes for each in counted),
    )


def _stage(context: SparkContext, stage_id: int) -> Stage:
    """A stage with its rows and bytes, which PySpark's own tracker omits."""
    found = context._jsc.sc().statusStore().lastStageAttempt(stage_id)
    return Stage(
        found.status().toString(),
        found.numCompleteTasks(),
        found.numTasks(),
        found.inputRecords(),
        found.inputBytes(),
    )

"""What Spark's driver knows of the jobs of a group, where it runs in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .work import Work

if TYPE_CHECKING:
    from pyspark import SparkContext

_DONE = ("COMPLETE", "SKIPPED")


def work_of(context: SparkContext, group: str) -> Work | None:
    """The stages of the group's jobs that run now; None where there is none, or where the driver is gone."""
    from py4j.protocol import Py4JError

    try:
        tracker = context.statusTracker()
        active = set(tracker.getActiveJobsIds()) & set(tracker.getJobIdsForGroup(group))
        infos = [info for job in active if (info := tracker.getJobInfo(job)) is not None]
        return _sum([_stage(context, stage) for info in infos for stage in info.stageIds])
    except (Py4JError, OSError):
        return None


def _stage(context: SparkContext, stage_id: int) -> Any:
    """A stage with its rows and bytes, which PySpark's own tracker leaves out."""
    return context._jsc.sc().statusStore().lastStageAttempt(stage_id)


def _sum(stages: list[Any]) -> Work | None:
    if not stages:
        return None
    done = [stage for stage in stages if stage.status().toString() in _DONE]
    counted = [stage for stage in stages if stage.status().toString() != "SKIPPED"]
    return Work(
        stage=min(len(done) + 1, len(stages)),
        stages=len(stages),
        tasks_done=sum(stage.numCompleteTasks() for stage in counted),
        tasks=sum(stage.numTasks() for stage in counted),
        rows=sum(stage.inputRecords() for stage in counted),
        bytes=sum(stage.inputBytes() for stage in counted),
    )

from __future__ import annotations

from dbt.adapters.spark_iceberg.progress.jobs import Stage, total
from dbt.adapters.spark_iceberg.progress.work import Work


def test_completed_active_and_pending_stages():
    stages = [Stage("COMPLETE", 4, 4, 100, 1000), Stage("ACTIVE", 1, 8, 10, 50), Stage("PENDING", 0, 1)]
    assert total(stages) == Work(stage=2, stages=3, tasks_done=5, tasks=13, rows=110, bytes=1050)


def test_a_stage_whose_result_exists_from_an_earlier_job():
    stages = [Stage("PENDING", 0, 16), Stage("ACTIVE", 0, 1)]
    assert total(stages) == Work(stage=2, stages=2, tasks_done=0, tasks=1)


def test_a_stage_that_waits_for_its_parent_while_another_branch_runs():
    stages = [Stage("ACTIVE", 1, 4), Stage("PENDING", 0, 2), Stage("ACTIVE", 0, 4)]
    assert total(stages) == Work(stage=1, stages=3, tasks_done=1, tasks=10)


def test_between_two_stages():
    stages = [Stage("PENDING", 0, 16), Stage("COMPLETE", 4, 4), Stage("PENDING", 0, 1)]
    assert total(stages) == Work(stage=3, stages=3, tasks_done=4, tasks=5)
    assert total([Stage("COMPLETE", 4, 4), Stage("COMPLETE", 1, 1)]) == Work(stage=2, stages=2, tasks_done=5, tasks=5)


def test_no_stage_has_started():
    assert total([Stage("PENDING", 0, 4)]) == Work(stage=1, stages=1, tasks_done=0, tasks=4)
    assert total([]) is None

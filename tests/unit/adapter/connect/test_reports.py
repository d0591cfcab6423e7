from __future__ import annotations

from pyspark.sql.connect.shell.progress import StageInfo

from dbt.adapters.spark_iceberg.progress import Work
from dbt.adapters.spark_iceberg.spark.connect.session import work_of_stages


def test_stages_may_arrive_in_any_order():
    reports = [StageInfo(3, 2, 1, 30, False), StageInfo(0, 4, 4, 100, True), StageInfo(2, 4, 0, 0, False)]
    assert work_of_stages(reports) == Work(stage=3, stages=3, tasks_done=5, tasks=6, bytes=130)


def test_a_retried_task_counts_once():
    assert work_of_stages([StageInfo(0, 2, 3, 0, False)]) == Work(stage=1, stages=1, tasks_done=2, tasks=2)


def test_no_job_has_started():
    assert work_of_stages([]) is None

"""What the benchmarks record about runs of ``auto`` models."""

from __future__ import annotations

import pytest

from benchmarks.auto_models import INSERT, KEPT, NOTHING, REBUILD, UNAFFECTED, Taken, taken
from benchmarks.meter import files_read
from iceberg_incremental.plan.rebuild_cost import Choice, Reads, choose
from iceberg_incremental.query.plan import IncrementalQuery
from iceberg_incremental.query.rules.changed import Changes
from iceberg_incremental.write.auto.update_plan import Affected, Summary, UpdatePlan

READS = Reads(target_rows=100, sources=(1000,), searched=10, scans=(0,))


def affected(keys: int) -> Affected:
    kept, changes = IncrementalQuery.__new__(IncrementalQuery), Changes.__new__(Changes)
    object.__setattr__(kept, "key", ("order_id",))
    return Affected(kept, changes, Summary("view", keys, False, ("bigint",), ()))


def test_an_estimated_choice_is_recorded_with_its_input():
    found = taken(UpdatePlan(choose(READS, 5), affected=affected(5)), READS)
    assert (found.way, found.key, found.keys) == (REBUILD, ("order_id",), 5)
    assert found.reads is not None and found.reads["sources"] == (1000,)
    assert found.estimated == choose(READS, 5).estimated
    assert found.has_other_way


@pytest.mark.parametrize(
    ("plan", "way", "has_other_way"),
    [
        (UpdatePlan(Choice(False, "few"), affected=affected(5)), KEPT, True),
        (UpdatePlan(Choice(False, "no row is affected"), affected=affected(0)), UNAFFECTED, True),
        (UpdatePlan(Choice(False, "only gained rows"), "added"), INSERT, True),
        (UpdatePlan(Choice(True, "each change affects all rows")), REBUILD, False),
    ],
)
def test_the_way_of_each_plan(plan: UpdatePlan, way: str, has_other_way: bool):
    found = taken(plan, None)
    assert (found.way, found.has_other_way, found.estimated) == (way, has_other_way, None)


def test_a_model_without_a_plan():
    assert not Taken(NOTHING).has_other_way


def test_files_are_counted_by_the_metric_of_scans():
    start = '{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","sparkPlanInfo":%s}'
    scan = (
        '{"metrics":[{"name":"number of result data files","accumulatorId":7},'
        '{"name":"number of output rows","accumulatorId":8}],"children":[]}'
    )
    updates = '{"Event":"org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates","accumUpdates":%s}'
    lines = [
        start % f'{{"metrics":[],"children":[{scan}]}}',
        updates % "[[7,3],[8,100]]",
        '{"Event":"SparkListenerTaskEnd"}',
        updates % "[[9,5]]",
    ]
    assert files_read(lines) == 3

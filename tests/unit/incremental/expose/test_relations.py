"""Ranges as SQL text."""

from __future__ import annotations

from dataclasses import replace

from dbt.artifacts.resources.v1.components import InjectedCTE
from dbt.compilation import inject_ctes_into_sql

from iceberg_incremental.expose.relations import as_of_sql, changes_sql
from iceberg_incremental.plan.changes import plan_changes, plan_whole
from tests.unit.incremental import histories as h

NAME = "`lake`.`ops`.`flights`"


def sql(history, position):
    return changes_sql(plan_changes(history, position, history.current))


def test_a_whole_table_is_pinned():
    source = h.history(*h.chain(3))
    assert changes_sql(plan_whole(source, source.current)) == f"{NAME}.`snapshot_id_3`"
    assert as_of_sql(plan_whole(source, source.current)) == f"{NAME} VERSION AS OF 3"


def test_no_condition_reaches_a_table_whose_names_refer_to_other_columns_since():
    commits = h.chain(3)
    source = h.history(*commits[:2], replace(commits[2], has_other_names=True))
    whole = plan_whole(source, source.current)
    assert changes_sql(whole) == f"{NAME}.`snapshot_id_3` TABLESAMPLE (100 PERCENT) REPEATABLE (0)"
    assert as_of_sql(whole) == f"{NAME} VERSION AS OF 3 TABLESAMPLE (100 PERCENT) REPEATABLE (0)"
    assert sql(source, h.at(3)) == f"{NAME}.`snapshot_id_3` TABLESAMPLE (0 ROWS)"


def test_appends():
    assert sql(h.history(*h.chain(3)), h.at(1)) == (
        f"({NAME}.`branch_main` WITH (`start-snapshot-id` = '1', `end-snapshot-id` = '3'))"
    )


def test_ephemeral_models_are_not_inserted_into_ranges():
    """dbt inserts ephemeral models after the first WITH outside parentheses."""
    commits = [*h.chain(4), h.snapshot(5, 4, "overwrite", h.ADDITION)]
    for position in range(1, 6):
        for last in range(position, 6):
            source = h.history(*commits[:last])
            text = f"select * from {sql(source, h.at(position))} as c join __dbt__cte__e as e"
            compiled = inject_ctes_into_sql(text, [InjectedCTE("model.shop.e", " __dbt__cte__e as (select 1)")])
            assert compiled.lower().split() == f"with __dbt__cte__e as (select 1) {text}".lower().split()


def test_nothing_new_keeps_the_columns():
    assert sql(h.history(*h.chain(3)), h.at(3)) == f"{NAME}.`snapshot_id_3` TABLESAMPLE (0 ROWS)"


def test_a_source_without_a_snapshot():
    assert as_of_sql(plan_whole(h.history(), None)) == f"{NAME} TABLESAMPLE (0 ROWS)"


def test_additions_come_from_the_changelog():
    source = h.history(*h.chain(2), h.snapshot(3, 2, "overwrite", h.ADDITION))
    columns = "_change_type, _change_ordinal, _commit_snapshot_id"
    scan = f"{NAME}.`changes` WITH (`start-snapshot-id` = '2', `end-snapshot-id` = '3')"
    assert sql(source, h.at(2)) == f"(select * except ({columns}) from {scan})"
    assert sql(source, h.at(1)).startswith(f"(select * from {NAME}.`branch_main` WITH (`start-snapshot-id` = '1', ")


def test_each_range_has_its_own_name():
    """Spark resolves a name once per statement, so a second range with the same name would read the first range."""
    commits = [h.snapshot(n, n - 1, "overwrite" if n % 2 else "append", h.ADDITION) for n in range(3, 12)]
    scans = sql(h.history(*h.chain(2), *commits), h.at(2)).split(" from ")[1:]
    assert len(scans) == 6
    assert len({scan.split(" WITH ")[0] for scan in scans}) == 6

"""The conditions of ``incremental_predicates`` limit the rows that a statement deletes or updates, even with OR."""

from __future__ import annotations

import pytest

from iceberg_incremental.write.columns.table_columns import Column
from iceberg_incremental.write.strategies.apply_changes import merge_changes_sql
from iceberg_incremental.write.strategies.dbt_strategies import delete_insert_sql, microbatch_sql
from iceberg_incremental.write.strategies.merge import merge_sql

COLUMNS = [Column("id", "int"), Column("t", "timestamp")]
PREDICATES = ["a or b", "c or d -- e"]
ENCLOSED = "(a or b) and (c or d -- e\n)"
STATEMENTS = {
    "merge": lambda: merge_sql("t", "r", COLUMNS, ["id"], COLUMNS, PREDICATES, "m"),
    "apply_changes": lambda: merge_changes_sql("t", "r", COLUMNS, ["id"], COLUMNS, PREDICATES, "m", shows_old=True),
    "delete+insert": lambda: delete_insert_sql("t", "r", COLUMNS, ["id"], PREDICATES),
    "microbatch": lambda: microbatch_sql("t", "r", COLUMNS, "t", ("2026-01-01", "2026-01-02"), PREDICATES),
}


@pytest.mark.parametrize("strategy", STATEMENTS)
def test_each_condition_is_enclosed(strategy):
    assert ENCLOSED in STATEMENTS[strategy]()

"""Rows whose IN can change are found by equality, for which Spark joins by hash, if both values have one type."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.states import TableStates
from iceberg_incremental.table.history import TableName

from .kept_tables import COLUMNS, Tables

IN = "select k, x from db.a where k in (select y from db.b)"
OF_ONE_TYPE = {
    "in": IN,
    "tuples": "select k, x from db.a where (k, s) in (select y, s from db.b)",
    "not in": "select k, x from db.a where k not in (select y from db.b)",
    "below not": "select k, x from db.a where not (k in (select y from db.b) and s = 'p')",
    "in the result": "select k, x, k in (select y from db.b) as found from db.a",
}


def _keys_sql(sql: str) -> str:
    """The SQL of the keys that a change of ``b`` affects."""
    query = Tables(1).kept(sql)
    changed = TableName("lake", "db", "b")
    states = {table: TableStates("new", "old", "changes" if table == changed else None) for table in COLUMNS}
    return query.affected(query.changes(states, ""), "")[-1].sql


@pytest.mark.parametrize("sql", OF_ONE_TYPE.values(), ids=OF_ONE_TYPE)
def test_one_type(sql: str) -> None:
    found = _keys_sql(sql)
    assert "`k`) = (`" in found
    assert "IS FALSE" not in found


@pytest.mark.parametrize(
    "sql",
    [IN.replace("where k", "where d"), "select k, x from db.a where (k, s) not in (select y, s from db.b)"],
    ids=["other types", "tuples not in"],
)
def test_all_pairs_of_rows_are_compared(sql: str) -> None:
    assert "IS FALSE" in _keys_sql(sql)

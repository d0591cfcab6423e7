"""The rows that LIMIT returns stay as they are if all changed rows come after the last one."""

from __future__ import annotations

import pytest

from .kept_tables import Tables

QUERIES = {
    "one column": "select k, x, s from db.a order by x desc limit 3",
    "an expression": "select k, x + 1 as y from db.a order by x + 1, k limit 2",
    "groups": "select k, count(*) as n from db.a group by k order by count(*) desc, k limit 2",
    "no order": "select x, s from db.a limit 3",
    "an offset": "select k, s from db.a order by s desc nulls first limit 2 offset 1",
    "a union": "select k from db.a union all select y from db.b order by 1 limit 4",
    "a join": "select a.k, b.y from db.a join db.b on a.k = b.k order by b.y desc limit 2",
    "a number beside ordinals": "select 2 as two, x, k from db.a order by 1, 2, 3 limit 3",
    "the clock": "select k, x from db.a where x >= unix_date(current_date) order by x limit 2",
}
ROUNDS = 60


@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_left_alone_only_if_they_are_the_same(name: str) -> None:
    tables, left = Tables(len(name), rows=25), 0
    query = tables.kept(QUERIES[name])
    assert query.whole is not None and query.whole.construct == "LIMIT"
    for _ in range(ROUNDS):
        tables.change()
        old, new = (tables.fetch(tables.all_rows(query, state)) for state in ("old", "new"))
        changes = query.changes(tables.states, "ip", clock=tables.clock)
        tables.db.execute(f"create or replace view ip_built as {tables.statement(tables.all_rows(query, 'old'))}")
        found = query.first_rows(changes, "ip_built", query.column_types)
        assert found is not None
        for view in found.views:
            tables.db.execute(f"create or replace table {view.name} as {tables.statement(view.sql)}")
        ((may_alter,),) = tables.fetch(found.sql)
        left += may_alter is False
        assert old == new or may_alter is not False
    assert left


@pytest.mark.parametrize(
    "sql",
    [
        "select k, x from db.a",
        "select k from db.a order by x limit 3",  # by a column that the table lacks
        "select k, sum(d) as d from db.a group by k order by k limit 3",  # of values that can differ
        "select k, x from db.a order by k offset 2",
        "select k, x from db.a order by all desc limit 3",
        "select k, x from db.a order by abs(x - unix_date(current_date)) limit 3",
    ],
)
def test_other_queries_are_not_compared(sql: str) -> None:
    tables = Tables(1)
    query = tables.kept(sql)
    assert query.first_rows(query.changes(tables.states, "ip"), "ip_built", query.column_types) is None


def test_a_table_with_other_types_is_not_compared() -> None:
    tables = Tables(1)
    query = tables.kept(QUERIES["no order"])
    types = {**query.column_types, "x": "string"}
    assert query.first_rows(query.changes(tables.states, "ip"), "ip_built", types) is None

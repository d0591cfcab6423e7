"""Queries that choose among rows. Each statement may choose other rows, and the table has one of the possible results.

Rows that are equal in ORDER BY are in random order here, as they may be in Spark.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection

import pytest
import sqlglot
from sqlglot import exp

from iceberg_incremental.query import plan
from iceberg_incremental.query.plan import IncrementalQuery
from iceberg_incremental.table.history import TableName

from .kept_tables import Row, Tables

ROUNDS = int(os.environ.get("QUERY_ROUNDS", "3"))
_TABLES, _RESULTS = 4, 1_000

CHOSEN = "(select k, x, s, row_number() over (partition by k order by s = 'p') as r from db.a)"
VERSIONS = "(select k, x, s, lead(s) over (partition by k order by s = 'p') as n from db.a)"
QUERIES = {
    "a filter on what was chosen": f"select k, x from {CHOSEN} t where r = 1 and x > 1",
    "a join with what was chosen": f"select b.* from db.b join (select k, x from {CHOSEN} t where r = 1) t "
    "on b.k = t.k and b.y = t.x",
    "a join of what was chosen": f"select t.k, t.x, c.z from {CHOSEN} t join db.c on t.x = c.y where t.r = 1",
    "a left join of what was chosen": f"select t.k, t.x, c.z from {CHOSEN} t left join db.c on t.x = c.y "
    "where t.r = 1 and c.y is null",
    "a semi join with what was chosen": f"select b.k, b.y from db.b left semi join {CHOSEN} t "
    "on b.k = t.k and t.r = 1 and b.y < t.x",
    "groups of what was chosen": f"select k, count(*) as n from {CHOSEN} t where r < 3 and x > 1 group by k",
    "a choice among what was chosen": "select k, y from (select t.k, b.y, row_number() over (partition by t.k order by "
    f"b.s) as n from {CHOSEN} t join db.b on t.x = b.y where t.r < 3) u where n = 1 and y > 0",
    "a union of what was chosen": f"select k, x from {CHOSEN} t where r = 1 and x > 1 union all "
    "select k, y from db.b where y > 3",
    "grouping sets of what was chosen": f"select k, s, count(*) as n from {CHOSEN} t where r = 1 and x > 1 "
    "group by grouping sets ((k), (k, s))",
    "versions and a dimension": f"select v.k, v.x, v.n, c.z from {VERSIONS} v left join db.c on c.y = v.x",
    "current versions and dimensions": f"select v.k, v.n, c.z from (select * from {VERSIONS} t where n is null) v "
    "join db.b on b.y = v.x left join db.c on c.z = b.y and c.s = v.s where c.y is null or c.y > 1",
    "versions without a partner": f"select v.k, v.n from {VERSIONS} v left anti join db.b on b.k = v.x and b.s <=> v.n",
    "a left join with what was chosen": f"select b.k, b.y, t.x from db.b left join {CHOSEN} t "
    "on b.k = t.k and t.r = 1 and t.x > b.y",
}  # fmt: skip


BY_CHOICES = {
    "a join by what was chosen": "select t.k, c.z from (select k, first(x) as x from db.a group by k) t "
    "join db.c on t.x = c.y",
    "a join by an order": f"select v.k, c.z from {VERSIONS} v join db.c on c.y < v.x",
}


def leave_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the orders of windows as they are written, as if one of the columns could not be compared exactly."""
    monkeypatch.setattr(plan, "with_complete_windows", lambda tree: tree)


@pytest.fixture(autouse=True)
def _incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_incomplete(monkeypatch)


@pytest.mark.parametrize("name", QUERIES)
def test_the_table_has_one_of_the_possible_results(name: str) -> None:
    for number in range(_TABLES):
        tables = Choosing(zlib.crc32(name.encode()) + number, rows=24)
        query = tables.kept(QUERIES[name])
        assert query.choosing and query.key
        tables.build(query)
        for at in range(ROUNDS):
            tables.change()
            tables.update(query)
            wrong = tables.impossible(query)
            assert not wrong, f"round {at} of tables {number}, by {query.key}"


@pytest.mark.parametrize(
    ("name", "changed", "finds"),
    [
        ("a join of what was chosen", "a", True),
        ("a join of what was chosen", "c", True),
        ("a left join with what was chosen", "b", True),
        ("a union of what was chosen", "b", True),
        ("a choice among what was chosen", "b", True),
        ("versions and a dimension", "c", True),
        ("current versions and dimensions", "b", True),
        ("current versions and dimensions", "c", True),
        ("versions without a partner", "b", True),
        ("a join by what was chosen", "c", False),
        ("a join by an order", "c", False),
    ],
)
def test_rows_that_are_joined_with_a_choice_may_need_a_rebuild(name: str, changed: str, *, finds: bool) -> None:
    query = Tables(1).kept({**QUERIES, **BY_CHOICES}[name])
    assert query.choosing and query.finds_keys({TableName("lake", "db", changed): False}) is finds


def test_two_choices_with_different_partitions_need_a_rebuild() -> None:
    chosen = "(select y, z, row_number() over (partition by y order by s) as n from db.c)"
    kept = Tables(1).kept(f"select v.k, u.z from {VERSIONS} v join {chosen} u on u.y = v.x and u.n = 1")
    assert "may choose another of equal rows" in str(kept.whole)


def test_a_choice_does_not_compare_text_with_numbers() -> None:
    """'01' is in the partition of the number 1, but is a different text."""
    chosen = "(select y, k, row_number() over (partition by y order by s) as n from db.b)"
    kept = Tables(1).kept(f"select a.s, t.k from db.a join {chosen} t on a.s = t.y where t.n = 1")
    assert "row_number" in str(kept.whole)


def test_a_choice_is_not_followed_through_a_union_of_several_types() -> None:
    """0.0 and -0.0 are in one partition, but are different texts."""
    chosen = "(select d, k, row_number() over (partition by d order by s) as n from db.a)"
    kept = Tables(1).kept(f"select d, k from {chosen} t where t.n = 1 union all select s, y from db.b")
    assert "row_number" in str(kept.whole)


class Choosing(Tables):
    """Tables whose rows have another order in each statement, and ``ip_target``, which is the table of a query."""

    def fetch(self, sql: str) -> Counter[Row]:
        for name in self.schema:
            for state in ("old", "new"):
                table, seed = f"{name}_{state}", self.rng.randrange(1_000_000)
                columns = ", ".join(f"{column}::varchar" for column in self.schema[name])
                self.db.execute(
                    f"create or replace table {table} as select * from {table} order by hash({seed}, {columns}), rowid"
                )
        return super().fetch(sql)

    def statement(self, sql: str) -> str:
        tree, order = sqlglot.parse_one(super().statement(sql), read="duckdb"), self.rng.randrange(1_000_000)
        for window in tree.find_all(exp.Window):
            select = window.find_ancestor(exp.Select)
            spec = window.args.get("spec")
            of_rows = isinstance(window.this, (exp.RowNumber, exp.Lead, exp.Lag, exp.Ntile)) or (
                spec is not None and spec.args["kind"] == "ROWS" and window.args.get("order") is not None
            )
            if of_rows and select is not None:
                read = [column.copy() for each in select.expressions for column in each.find_all(exp.Column)]
                shuffled = exp.Ordered(this=exp.func("hash", exp.Literal.number(order), *read))
                window.args["order"].append("expressions", shuffled)
        return tree.sql("duckdb")

    def build(self, query: IncrementalQuery) -> None:
        self.db.execute(f"create or replace table ip_target as {self.statement(self.all_rows(query))}")

    def update(self, query: IncrementalQuery) -> None:
        if not query.finds_keys(self.changed):
            self.build(query)
            return
        kept, rows = self.replacement(query, "ip_target")
        self.db.execute(f"create or replace table ip_next as {self.statement(f'{kept} union all {rows}')}")
        self.db.execute("create or replace table ip_target as from ip_next")

    def impossible(self, query: IncrementalQuery) -> Collection[Row]:
        """The keys whose rows in the table differ from those of all drawn results."""
        found = self._by_key(query, "select * from ip_target")
        results = [self._by_key(query, self.all_rows(query))]
        wrong = {key for key in (*found, *results[0]) if found[key] != results[0][key]}
        while wrong and len(results) < _RESULTS:
            results.append(self._by_key(query, self.all_rows(query)))
            wrong = {key for key in wrong if found[key] != results[-1][key]}
        return wrong

    def _by_key(self, query: IncrementalQuery, sql: str) -> dict[Row, Counter[Row]]:
        places = [query.columns.index(column) for column in query.key]
        found: dict[Row, Counter[Row]] = defaultdict(Counter)
        for row, times in self.fetch(sql).items():
            found[tuple(row[place] for place in places)][row] = times
        return found

"""The added rows of a query are exactly the rows that the old result lacks, in DuckDB."""

from __future__ import annotations

import zlib

import pytest

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.query.states import TableStates
from iceberg_incremental.query.text.clock import ClockStates

from .kept_tables import COLUMNS, Tables
from .test_choices import leave_incomplete
from .test_exact import QUERIES


class Growing(Tables):
    """Tables to which rows are only added."""

    supersets = False

    def change(self) -> None:
        for name, rows in self.rows.items():
            self.old[name] = list(rows)
            self.rows[name] = [*rows, *(self._row(name) for _ in range(self.rng.choice((0, 2, 3))))]
        self.clock = ClockStates(self.clock.new, self.clock.new)
        self._publish()

    @property
    def states(self):
        def of(name):
            changes = f"{name}_changes" if len(self.old[name]) < len(self.rows[name]) else None
            return TableStates(f"{name}_new", f"{name}_old", changes, only_adds_rows=True)

        return {table: of(table.name) for table in COLUMNS}


@pytest.mark.parametrize("name", QUERIES)
def test_rows_that_were_added(name):
    tables = Growing(seed=zlib.crc32(name.encode()))
    query = tables.kept(QUERIES[name])
    for _ in range(3):
        tables.change()
        added = query.added(query.changes(tables.states, "ip", clock=tables.clock))
        if added is not None:
            old, new = (tables.fetch(tables.on(QUERIES[name], state)) for state in ("old", "new"))
            assert old + tables.fetch(f"select * from {added}") == new


CHOICES = {
    "first": "(select k, first(y) as v from db.b group by k)",
    "a list": "(select k, collect_list(y) as v from db.b group by k)",
    "a deduplication": "(select k, y as v from db.b qualify row_number() over (partition by k order by s) = 1)",
}
FIXED = "(select k, max(y) as v from db.b group by k)"


@pytest.mark.parametrize("name", CHOICES)
def test_rows_are_not_added_if_a_choice_may_change(name, monkeypatch):
    """All rows of one k must have the same v, which may differ when it is computed again."""
    leave_incomplete(monkeypatch)
    sql = "select a.k, a.x, t.v from db.a a join {} t on a.k = t.k"
    grown = {table: TableStates("n", "o", "c" if table.name == "a" else None, table.name == "a") for table in COLUMNS}
    types = {"k": "int", "x": "int", "v": "int"}
    chosen, fixed = (incremental_query(sql.format(each), COLUMNS, "lake", types) for each in (CHOICES[name], FIXED))
    assert chosen.key == ("k",) and chosen.added(chosen.changes(grown, "ip")) is None
    assert fixed.added(fixed.changes(grown, "ip")) is not None


def test_all_branches_of_a_union_affect_the_types_of_added_rows():
    """The text of ``1`` differs between decimals and whole numbers."""
    sql = "select k, cast(v as string) as v from (select k, x as v from db.a union all select k, {} from db.b) u"
    grown = {table: TableStates("n", "o", "c" if table.name == "a" else None, table.name == "a") for table in COLUMNS}
    types = {"k": "int", "v": "string"}
    other, same = (
        incremental_query(sql.format(each), COLUMNS, "lake", types) for each in ("cast(y as decimal(9, 2))", "y")
    )
    assert "where FALSE" in str(other.added(other.changes(grown, "ip")))
    assert "where FALSE" not in str(same.added(same.changes(grown, "ip")))

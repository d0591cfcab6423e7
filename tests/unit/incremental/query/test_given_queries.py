"""Queries of a folder equal their rebuild after each change, in DuckDB. By default, those of TPC-H.

``QUERY_FOLDER``: a folder of SQL files without LIMIT at the end, and ``QUERY_DATA`` one with a Parquet file of each of
their tables. ``QUERY_SEED``: the seed. ``QUERY_ROUNDS``: the number of rounds. ``QUERY_ROWS``: the maximum number of
rows of a table.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from benchmarks.plain_sql_tpch import data
from iceberg_incremental.query.plan import IncrementalQuery
from iceberg_incremental.query.states import TableStates
from iceberg_incremental.table.history import TableName

from . import kept_tables
from .given_rows import GivenRows, generated, on
from .kept_tables import Row, Tables
from .test_summary_delta import continued

FOLDER, DATA = (os.environ.get(name) for name in ("QUERY_FOLDER", "QUERY_DATA"))
PLAIN = {name: name for name in data.TABLES}
SEED = int(os.environ.get("QUERY_SEED", "0"))
ROUNDS = int(os.environ.get("QUERY_ROUNDS", "2"))
ROWS = int(os.environ.get("QUERY_ROWS", "1000"))
AT_ONCE = 10
"""The number of queries for which the rows are made."""


class GivenTables(Tables):
    """The tables in DuckDB. Averages are rounded to decimals, whose values do not depend on the order of rows."""

    supersets = False
    types: Mapping[str, str] = {**Tables.types, "DOUBLE": "decimal(38,6)"}

    def __init__(self, given: GivenRows) -> None:
        self.given, self.schema = given, given.schema
        super().__init__(SEED, rows=0)
        self.db.execute("set memory_limit = '2GB'; set temp_directory = ''")
        self.take()

    def take(self) -> None:
        """Make the given rows the new state."""
        for name, columns in self.schema.items():
            types = {column: "varchar" if type_ == "string" else type_ for column, type_ in columns.items()}
            self.db.execute(f"create or replace table {name}_old as from {name}_new")
            self.db.execute(f"create or replace table {name}_new ({', '.join(map(' '.join, types.items()))})")
            texts = {
                each: [None if row[each] is None else str(row[each]) for row in self.given.rows[name]]
                for each in columns
            }
            self.db.register("given", pa.table(texts))
            self.db.execute(f"insert into {name}_new from given")
            gone, new = (
                f"from {name}_{one} except all from {name}_{other}" for one, other in (("old", "new"), ("new", "old"))
            )
            changes = f"select *, 'DELETE' as _change_type from ({gone}) union all select *, 'INSERT' from ({new})"
            self.db.execute(f"create or replace table {name}_changes as {changes}")

    @property
    def states(self) -> dict[TableName, TableStates]:
        def of(name: str) -> TableStates:
            kinds = {
                each for (each,) in self.db.execute(f"select distinct _change_type from {name}_changes").fetchall()
            }
            return TableStates(f"{name}_new", f"{name}_old", f"{name}_changes" if kinds else None, kinds == {"INSERT"})

        return {table: of(table.name) for table in self.columns}

    def statement(self, sql: str) -> str:
        tree = sqlglot.parse_one(sql, kept_tables.Read)
        for each in list(tree.find_all(exp.Avg, exp.StddevSamp, exp.Stddev)):
            node: exp.Expr = each
            while isinstance(node.parent, (exp.Window, exp.Filter)) and node.parent.this is node:
                node = node.parent
            node.replace(exp.cast(exp.Round(this=node.copy(), decimals=exp.Literal.number(6)), "decimal(30, 6)"))
        return str(tree.sql("duckdb"))

    def fetch(self, sql: str) -> Counter[Row]:
        return Counter({tuple(map(_rounded, row)): n for row, n in super().fetch(sql).items()})


def _rounded(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, (float, Decimal)) else value


def require_exact(tables: GivenTables, query: IncrementalQuery) -> bool | None:
    """Whether changes alter the result, which must equal the rebuild in any way. None if they do not concern it."""
    old, new = (tables.fetch(tables.all_rows(query, state)) for state in ("old", "new"))
    changed = [table for table in query.reading.tables.values() if table in tables.changed]
    for each in (query, *query.narrower()[:2]) if changed else ():
        assert tables.update_method(each) == new, f"by {each.key}"
    changes = query.changes(tables.states, "ip", clock=tables.clock)
    added = query.added(changes)
    assert added is None or old + tables.fetch(f"select * from {added}") == new
    groups = continued(tables, query) if query.summary else None
    assert groups is None or groups == new
    if (
        changed
        and (found := query.first_rows(changes, f"({tables.all_rows(query, 'old')})", query.column_types)) is not None
    ):
        for view in found.views:
            tables.db.execute(f"create or replace table {view.name} as {tables.statement(view.sql)}")
        assert old == new or tables.fetch(found.sql) != Counter([(False,)])
    return old != new if changed else None


def queries(folder: Path) -> dict[str, str]:
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.sql"))}


QUERIES = queries(Path(FOLDER) if FOLDER else data.QUERIES)
NAMES = [list(QUERIES)[first : first + AT_ONCE] for first in range(0, len(QUERIES), AT_ONCE)]


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the data."""
    return Path(DATA) if DATA else generated(tmp_path_factory.mktemp("tpch"))


@pytest.mark.parametrize("names", NAMES, ids=lambda names: f"{names[0]}-{names[-1]}")
def test_exact(names: list[str], values: Path, record_property: Callable[[str, object], None]) -> None:
    plain = {name: QUERIES[name].format_map(PLAIN) for name in names}
    given = GivenRows(SEED, values, plain, ROWS)
    tables = GivenTables(given)
    kept = {name: tables.kept(on(sql, "db.{}")) for name, sql in plain.items()}
    count = {name: sum(tables.fetch(tables.all_rows(query)).values()) for name, query in kept.items()}
    wrong, changed = [], Counter[str]()
    for number in range(ROUNDS):
        given.change(given.rng.choice([*given.rows]) if number % 3 == 1 else None)
        tables.take()
        for name, query in kept.items():
            try:
                changed[name] += bool(require_exact(tables, query))
            except (AssertionError, duckdb.Error) as error:
                wrong.append(f"{name}, round {number}: {error}")
    for name, query in kept.items():
        how = f"replaced as a whole because of {query.whole.construct}" if query.whole else f"by {', '.join(query.key)}"
        record_property(name, f"{count[name]} rows, changed in {changed[name]} of {ROUNDS} rounds, {how}")
    assert not wrong, "\n".join(wrong)

"""Tables in DuckDB for queries, with random changes, and incremental updates of the results."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot.dialects.spark import Spark

from iceberg_incremental.names import sql_name
from iceberg_incremental.query.plan import IncrementalQuery, incremental_query
from iceberg_incremental.query.states import Keys, TableStates
from iceberg_incremental.query.text.clock import ClockStates, with_marks
from iceberg_incremental.query.text.parsing import mentions, replaced
from iceberg_incremental.table.clock import Clock
from iceberg_incremental.table.history import TableName

SCHEMA = {
    "a": {"k": "int", "x": "int", "s": "string", "d": "double"},
    "b": {"k": "int", "y": "int", "s": "string", "num": "string"},
    "c": {"y": "int", "z": "int", "s": "string", "num": "string"},
}
COLUMNS = {TableName("lake", "db", name): columns for name, columns in SCHEMA.items()}
_VALUES: Mapping[str, Sequence[Any]] = {
    "int": (0, 1, 2, 3, 4, None),
    "string": ("0", "1", "01", "p", "q", None),
    "double": (0.0, -0.0, 1.5, math.nan, None),
}
_NUMBERS = ("0", "1", "01", "2", "02", None)
"""The values of ``num``, which can be compared with numbers."""
_TYPES = {
    "INTEGER": "int",
    "BIGINT": "bigint",
    "HUGEINT": "bigint",
    "VARCHAR": "string",
    "DOUBLE": "double",
    "DATE": "date",
}

Row = tuple[Any, ...]


class Read(Spark):
    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012


def _duck(sql: str) -> str:
    return sqlglot.transpile(sql, read=Read, write="duckdb")[0]


def _same(value: Any) -> Any:
    """Return a value that equals all values of the same group in GROUP BY."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


class Tables:
    """Three small tables with many NULLs, duplicates, and values that are equal but not identical.

    ``supersets``: whether the changes may include rows that have not changed. ``growing``: the tables of which it is
    known that they have not lost rows.
    """

    supersets = True
    schema: Mapping[str, Mapping[str, str]] = SCHEMA
    types: Mapping[str, str] = _TYPES
    """The types in Spark by those in DuckDB."""

    def __init__(self, seed: int, rows: int = 9) -> None:
        self.rng = random.Random(seed)
        pytest.importorskip("duckdb", "2", reason="DuckDB 1, the last for Python 3.10, rejects some valid queries")
        self.db = duckdb.connect()
        self.db.execute("set threads = 1")
        # DuckDB 2.0.0 reads wrong columns of FULL JOINs that it shares between the branches of UNION ALL
        self.db.execute("set disabled_optimizers = 'common_subplan'")
        self.rows = {name: [self._row(name) for _ in range(rows)] for name in self.schema}
        self.old = {name: list(found) for name, found in self.rows.items()}
        self.clock = ClockStates(self._clock())
        self.growing: set[str] = set()
        self._publish()

    @property
    def columns(self) -> dict[TableName, Mapping[str, str]]:
        """The columns of the tables with their types in Spark."""
        return {TableName("lake", "db", name): columns for name, columns in self.schema.items()}

    def _clock(self) -> Clock:
        """Midnight of one of the first days of 1970, so that ``unix_date(current_date)`` is a number in the tables."""
        return Clock(self.rng.randrange(5) * 86_400_000_000, "UTC")

    def _row(self, name: str) -> Row:
        return tuple(self._value(name, column) for column in self.schema[name])

    def _value(self, name: str, column: str) -> Any:
        return self.rng.choice(_NUMBERS if column == "num" else _VALUES[self.schema[name][column]])

    def change(self) -> None:
        """Change some tables with random updates, deletes, inserts and exact duplicates. Sometimes delete all rows.

        About every second change only affects few rows of one table, so that most keys are not affected. The clock
        moves in about every second change.
        """
        only = self.rng.choice((*self.rows, None, None, None))
        for name, rows in self.rows.items():
            self.old[name] = list(rows)
            if only is None and self.rng.random() < 0.6:
                self.rows[name] = self._changed(name)
            elif name == only:
                self.rows[name] = self._with_few_changes(name)
        old = self.clock.new
        self.clock = ClockStates(self._clock() if self.rng.random() < 0.5 else old, old)
        self._publish()

    def _changed(self, name: str) -> list[Row]:
        found = []
        for row in self.rows[name] if self.rng.random() < 0.93 else ():
            chance = self.rng.random()
            if chance < 0.12:
                continue
            new = self._edited(name, row) if chance < 0.3 else row
            found += [new] * (2 if chance > 0.95 else 1)
        return [*found, *(self._row(name) for _ in range(self.rng.choice((0, 1, 2))))]

    def _with_few_changes(self, name: str) -> list[Row]:
        found, chance = list(self.rows[name]), self.rng.random()
        if chance < 0.4 or not found:
            return [*found, *(self._row(name) for _ in range(self.rng.choice((1, 1, 3))))]
        at = self.rng.randrange(len(found))
        found[at : at + 1] = [] if chance < 0.6 else [self._edited(name, found[at])]
        return found

    def _edited(self, name: str, row: Row) -> Row:
        new, at = list(row), self.rng.randrange(len(row))
        new[at] = self._value(name, list(self.schema[name])[at])
        return tuple(new)

    def _publish(self) -> None:
        for name in self.schema:
            gone = Counter(map(repr, self.old[name])) - Counter(map(repr, self.rows[name]))
            added = Counter(map(repr, self.rows[name])) - Counter(map(repr, self.old[name]))
            changes = [(*row, "DELETE") for row in _taken(self.old[name], gone)]
            changes += [(*row, "INSERT") for row in _taken(self.rows[name], added)]
            if changes and self.supersets and self.rng.random() < 0.2:
                changes.append((*changes[0][:-1], self.rng.choice(("INSERT", "DELETE"))))
            only_added = all(each[-1] == "INSERT" for each in changes) and self.rng.random() < 0.7
            self.growing = self.growing | {name} if only_added else self.growing - {name}
            self._put(f"{name}_old", name, self.old[name])
            self._put(f"{name}_new", name, self.rows[name])
            self._put(f"{name}_changes", name, changes, ", _change_type varchar")

    def _put(self, table: str, name: str, rows: Sequence[Row], more: str = "") -> None:
        columns = ", ".join(
            f"{column} {'varchar' if type_ == 'string' else type_}" for column, type_ in self.schema[name].items()
        )
        self.db.execute(f"create or replace table {table} ({columns}{more})")
        if rows:
            self.db.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)

    @property
    def states(self) -> dict[TableName, TableStates]:
        def of(name: str) -> TableStates:
            is_changed = Counter(map(repr, self.old[name])) != Counter(map(repr, self.rows[name]))
            changes = f"{name}_changes" if is_changed else None
            return TableStates(f"{name}_new", f"{name}_old", changes, is_changed and name in self.growing)

        return {table: of(table.name) for table in self.columns}

    @property
    def changed(self) -> dict[TableName, bool]:
        """The changed tables, each with whether it is known that no rows were removed."""
        return {table: each.only_adds_rows for table, each in self.states.items() if each.changes is not None}

    def on(self, sql: str, state: str) -> str:
        """Return a query that reads the given state of the tables and the clock."""
        sql = with_marks(sql)
        found = mentions(sql, "lake")
        text = replaced(sql, found, [f"(select * from {each.relation.name}_{state})" for each in found])
        return self._clock_of(state).sql(text)

    def all_rows(self, query: IncrementalQuery, state: str = "new") -> str:
        """Return the query for all rows in the given state, as builds execute it."""
        sql = query.all_rows_sql(lambda table: f"(select * from {table.name}_{state})", self._clock_of(state))
        return self.on(query.reading.text, state) if sql is None else sql

    def _clock_of(self, state: str) -> ClockStates:
        return self.clock if state == "new" or self.clock.old is None else ClockStates(self.clock.old)

    def statement(self, sql: str) -> str:
        """Translate a statement from Spark's SQL to DuckDB's."""
        return _duck(sql)

    def fetch(self, sql: str) -> Counter[Row]:
        return Counter(tuple(map(_same, row)) for row in self.db.execute(self.statement(sql)).fetchall())

    def kept(self, sql: str, unique_key: Sequence[str] = ()) -> IncrementalQuery:
        """The incremental query for some SQL, with the types of its result in DuckDB."""
        types = self._described(self.clock.sql(with_marks(sql)))
        return incremental_query(with_marks(sql), self.columns, "lake", types, unique_key, self._described)

    def _described(self, sql: str) -> dict[str, str]:
        found = mentions(sql, "lake")
        text = replaced(sql, found, [f"(select * from {each.relation.name}_new)" for each in found])
        described = self.db.execute(f"describe {self.statement(text)}").fetchall()
        return {name: self.types.get(type_, type_.lower()) for name, type_, *_ in described}

    def update_method(self, query: IncrementalQuery) -> Counter[Row]:
        """The old result, in which the rows of the affected keys are replaced."""
        if not query.finds_keys(self.changed, self.clock):
            return self.fetch(self.all_rows(query))
        kept, rows = self.replacement(query, f"({self.all_rows(query, 'old')})")
        return self.fetch(kept) + self.fetch(rows)

    def replacement(self, query: IncrementalQuery, table: str) -> tuple[str, str]:
        """Two queries, for the rows of a table that are kept, and for the rows that replace the other ones."""
        changes = query.changes(self.states, "ip", clock=self.clock)
        for view in query.affected(changes, "ip_keys_of_run"):
            self.db.execute(f"create or replace table {view.name} as {self.statement(view.sql)}")
        keys = Keys("ip_keys_of_run", query.key)
        same = " and ".join(f"k.{sql_name(column)} <=> t.{sql_name(column)}" for column in query.key)
        kept = f"select * from {table} t where not exists (select 1 from ip_keys_of_run k where {same})"
        return kept, query.rows_sql(changes, keys)


def require_exact(sql: str, seed: int, rounds: int) -> None:
    """Raise AssertionError if a result differs from its rebuild after a round of changes, for any possible key."""
    tables = Tables(seed)
    query = tables.kept(sql)
    narrower = query.narrower()
    for number in range(rounds):
        tables.change()
        expected = tables.fetch(tables.all_rows(query))
        for each in (query, *(narrower if number == 0 else ())):
            assert tables.update_method(each) == expected, f"round {number}, by {each.key}: {sql}"


def _taken(rows: Sequence[Row], wanted: Counter[str]) -> list[Row]:
    left, found = Counter(wanted), []
    for row in rows:
        if left[repr(row)] > 0:
            left[repr(row)] -= 1
            found.append(row)
    return found

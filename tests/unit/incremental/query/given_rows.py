"""Random rows and changes for given queries, such as those of a benchmark, so that nearly all of them return rows.

A row is made for one of the queries: its values make comparisons of the query with constants true, and its references
are those to other rows of the query. The names of columns must differ between tables.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from iceberg_incremental.query.text.dialect import PlainSpark
from iceberg_incremental.query.text.parsing import mentions, replaced

_FEWEST = 60
_OTHER_DAYS = 500
_CALENDAR = 50_000
_TYPES = {"INTEGER": "int", "BIGINT": "bigint", "VARCHAR": "string", "DATE": "date", "DOUBLE": "double"}
_COMPARED = (exp.EQ, exp.In, exp.Between, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.Is)

Row = dict[str, Any]


def on(sql: str, relation: str) -> str:
    """A query on other relations. ``relation``: their name, with ``{}`` in the place of the table's name."""
    found = mentions(sql, "lake", "db")
    return replaced(sql, found, [relation.format(each.relation.name) for each in found])


def generated(folder: Path, scale: float = 0.01) -> Path:
    """The folder, in which the tables of TPC-H have been generated."""
    generator = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([generator, "parquet", "--scale-factor", str(scale), "--output-dir", folder], check=True)
    return folder


class GivenRows:
    """The rows of tables, and their changes.

    ``data``: a folder with a Parquet file of each table, from which values are taken. Its first column is the table's
    key if its values are unique. ``queries``: their SQL, by their names. ``most``: the maximum number of rows. Each
    table has an additional column ``…_row``, a number that stays the same when a row is updated.
    """

    def __init__(self, seed: int, data: Path, queries: Mapping[str, str], most: int) -> None:
        self.rng, self._db = random.Random(seed), duckdb.connect()
        self.schema: dict[str, dict[str, str]] = {}
        self._given: dict[str, list[Row]] = {}
        self._count: dict[str, int] = {}
        self._keys: dict[str, str] = {}
        """The tables by their keys."""
        for file in sorted(data.glob("*.parquet")):
            self._read(file)
        self._table = {column: table for table, columns in self.schema.items() for column in columns}
        self._constants: dict[str, dict[str, list[Any]]] = {}
        """The values with which each query compares the columns."""
        self._pairs: dict[str, list[tuple[str, str]]] = {}
        """The columns that each query compares with each other."""
        self._readers: dict[str, list[str]] = {name: [] for name in self.schema}
        for query, sql in queries.items():
            self._analyze(query, sql)
        self._refers = dict(self._references())
        self._unused: dict[tuple[str, str], list[Row]] = {}
        self._used: dict[str, set[Any]] = defaultdict(set)
        self._made: dict[tuple[str, str], list[Row]] = defaultdict(list)
        self.rows: dict[str, list[Row]] = {name: [] for name in self.schema}
        self._numbers = 0
        self._calendars = [name for name in self._keys.values() if self._count[name] > _CALENDAR]
        """Tables whose columns depend on each other, such as those of days. Their rows are taken as they are."""
        for name in self._keys.values():
            self._count[name] = self._calendar(name) if name in self._calendars else self._count[name] // 4
        for name in self._in_order():
            for _ in range(min(most, max(_FEWEST, self._count[name]))):
                self._add(name)

    def _read(self, file: Path) -> None:
        name, relation = file.stem, f"'{file}'"
        described = self._db.execute(f"describe select * from {relation}").fetchall()
        columns = {column: _TYPES.get(type_, type_.lower()) for column, type_, *_ in described}
        self._given[name] = [
            dict(zip(columns, row, strict=True)) for row in self._db.execute(f"select * from {relation}").fetchall()
        ]
        self._count[name], key = len(self._given[name]), next(iter(columns))
        self.schema[name] = {**columns, f"{name}_row": "bigint"}
        if len({row[key] for row in self._given[name]}) == self._count[name]:
            self._keys[key] = name

    def _analyze(self, query: str, sql: str) -> None:
        tree = sqlglot.parse_one(sql, PlainSpark)
        constants: dict[str, list[Any]] = defaultdict(list)
        pairs: list[tuple[str, str]] = []
        for node in tree.find_all(*_COMPARED):
            other = node.args.get("expression")
            columns = {each.name.lower() for each in node.this.find_all(exp.Column)} & self._table.keys()
            if isinstance(node, exp.EQ) and isinstance(node.this, exp.Column) and isinstance(other, exp.Column):
                others = {other.name.lower()} & self._table.keys()
                pairs += [pair for one in columns for each in others for pair in ((one, each), (each, one))]
            elif len(columns) == 1 and not columns & self._keys.keys():
                constants[columns.pop()] += self._values(node)
        self._constants[query], self._pairs[query] = constants, pairs
        for table in {each.name.lower() for each in tree.find_all(exp.Table)} & self.schema.keys():
            self._readers[table].append(query)

    def _values(self, node: exp.Expr) -> Iterator[Any]:
        """Values for which a comparison with constants is true, or nearly so."""
        parts = [*node.expressions, *(node.args.get(each) for each in ("expression", "low", "high", "query"))]
        parts = [each for each in parts if each is not None]
        if any(each.find(exp.Column, exp.Query) for each in parts):
            return
        listed = ", ".join(each.sql("duckdb") for each in parts)
        found = [_date(each) for each in self._db.execute(f"select {listed}").fetchall()[0]]
        step = 1 if isinstance(node, exp.GT) else -1 if isinstance(node, exp.LT) else 0
        if isinstance(node, exp.Like):
            yield from (each.replace("%", "") for each in found)
        elif isinstance(node, exp.Between) and isinstance(found[0], (int, date)):
            yield from (found[0] + (found[1] - found[0]) * tenth // 10 for tenth in (0, 2, 4, 5, 7, 9, 10))
        else:
            yield from (each + step if step and isinstance(each, (int, Decimal)) else each for each in found)

    def _references(self) -> Iterator[tuple[str, str]]:
        """The columns that the queries join with keys, also by way of another such column."""
        pairs = [each for found in self._pairs.values() for each in found if each[0] not in self._keys]
        direct = {column: other for column, other in pairs if other in self._keys}
        yield from ((column, direct[other]) for column, other in pairs if other in direct)
        yield from direct.items()

    def _calendar(self, name: str) -> int:
        """Keep the rows of a calendar that some query looks for, and a few others. Returns how many to use."""
        rows = self._given[name]
        wanted = {id(row): row for query in self._readers[name] for row in self._fitting(name, query)}
        wanted |= {id(row): row for row in self.rng.sample(rows, _OTHER_DAYS)}
        self._given[name] = self.rng.sample(list(wanted.values()), len(wanted))
        return len(wanted) * 3 // 4

    def _in_order(self) -> Iterator[str]:
        """The tables, after those to which they refer."""
        left = sorted(self.schema, key=lambda name: self._count[name])
        while left:
            waiting = {name: self._referred(name) & {*left} - {name} for name in left}
            name = min(left, key=lambda name: len(waiting[name]))
            left.remove(name)
            yield name

    def _referred(self, name: str) -> set[str]:
        return {self._keys[self._refers[column]] for column in self.schema[name] if column in self._refers}

    # Rows

    def _add(self, name: str) -> None:
        query = self._reader(name)
        self._numbers += 1
        row = {**self._new(name, query), f"{name}_row": self._numbers}
        self.rows[name].append(row)
        self._made[name, query].append(row)

    def _reader(self, name: str) -> str:
        return self.rng.choice(self._readers[name] or list(self._constants))

    def _new(self, name: str, query: str) -> Row:
        """A row for a query. Its key is new."""
        made, columns = self._made[name, query], list(self.schema[name])[:-1]
        key = columns[0] if columns[0] in self._keys else None
        if name in self._calendars:
            return self._day(name, columns[0], query)
        if key is None and made and self.rng.random() < 0.4:
            row = dict(self.rng.choice(made[-20:]))
            drawn = self.rng.sample(columns, max(1, len(columns) // 7))
        else:
            row = dict(self.rng.choice(self._given[name]))
            constants = self._constants[query]
            drawn = [
                each for each in columns if each in self._refers or (each in constants and self.rng.random() < 0.9)
            ]
        for column in drawn:
            self._draw(name, row, column, query)
        self._join(name, row, query)
        if key is not None and row[key] in self._used[name]:
            row[key] = max(self._used[name]) + 1
            if isinstance(row[columns[1]], str) and self.rng.random() < 0.7:  # its name
                row[columns[1]] = f"{row[columns[1]][:8]}{row[key]:08}"
        self._used[name].add(key and row[key])
        return row

    def _day(self, name: str, key: str, query: str) -> Row:
        """A row of a calendar that has not been used, if possible one that a query looks for."""
        if (name, query) not in self._unused:
            found = list(self._fitting(name, query))
            self._unused[name, query] = self.rng.sample(found, len(found))
        for rows in (self._unused[name, query], self._given[name]):
            while rows:
                if (row := rows.pop())[key] not in self._used[name]:
                    self._used[name].add(row[key])
                    return dict(row)
        raise AssertionError(f"{name} has no further rows")

    def _fitting(self, name: str, query: str) -> Iterator[Row]:
        """The given rows of a table that a query looks for."""
        wanted = {column: values for column, values in self._constants[query].items() if self._table[column] == name}
        return (row for row in self._given[name] if all(row[column] in wanted[column] for column in wanted))

    def _draw(self, name: str, row: Row, column: str, query: str) -> None:
        """Give a row another value for a column: a reference, a value that a query looks for, or any other."""
        values, key = self._constants[query].get(column), self._refers.get(column)
        if key is not None and self.rows[table := self._keys[key]]:
            made = self._made[table, query] if self.rng.random() < 0.85 else None
            row[column] = None if self.rng.random() < 0.03 else self.rng.choice(made or self.rows[table])[key]
        elif values and self.rng.random() < 0.7:
            row[column] = self.rng.choice(values)
        else:
            row[column] = self.rng.choice(self._given[name])[column]

    def _join(self, name: str, row: Row, query: str) -> None:
        """Give a row values of a row with which a query joins it by other columns than keys."""
        partners: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for mine, other in self._pairs[query]:
            if self._table[mine] == name and not {mine, other} & self._keys.keys():
                partners[self._table[other]].append((mine, other))
        for table, pairs in partners.items():
            if (made := self._made[table, query]) and self.rng.random() < (0.25 if table == name else 0.7):
                partner = self.rng.choice(made)
                row.update({mine: partner[other] for mine, other in pairs})

    # Changes

    def change(self, only: str | None = None) -> None:
        """Insert, update and delete a few rows of each table, or of one table."""
        for name in self.rows if only is None else (only,):
            rows = self.rows[name]
            few = max(2, len(rows) // 40)
            for at in sorted(self.rng.sample(range(len(rows)), few + 1), reverse=True):
                if self.rng.random() < 0.4 and len(rows) > _FEWEST // 2:
                    del rows[at]
                else:
                    rows[at] = self._updated(name, rows[at])
            for _ in range(self.rng.randrange(1, few + 1)):
                self._add(name)

    def _updated(self, name: str, row: Row) -> Row:
        columns, query = list(row)[:-1], self._reader(name)
        if name in self._calendars or (columns[0] in self._keys and self.rng.random() < 0.3):
            return {
                **row,
                **{column: value for column, value in self._new(name, query).items() if column != columns[0]},
            }
        row, free = dict(row), [column for column in columns if column not in self._keys]
        for column in self.rng.sample(free, min(len(free), self.rng.choice((1, 2, 4)))):
            self._draw(name, row, column, query)
        return row


def _date(value: Any) -> Any:
    return value.date() if isinstance(value, datetime) else value

"""The versions that a history table must have, computed from the commits of its source in Python.

It reads each snapshot as a whole, and shares nothing with the SQL under test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
Key = tuple[Any, ...]


@dataclass
class Version:
    """A version of a row. Times are milliseconds since the epoch. ``end`` is None while the version is valid.

    ``is_old``: whether it existed before the current run.
    """

    values: Row
    begin: int
    updated: int
    end: int | None = None
    deleted: bool = False
    is_old: bool = False


@dataclass
class Versions:
    """The versions in a history table with these configs.

    ``check_cols``: empty for all columns. ``columns``: those of the table; runs add new ones.
    """

    hard_deletes: str
    check_cols: Sequence[str]
    columns: list[str]
    all: list[Version] = field(default_factory=list)
    valid: dict[Key, Version] = field(default_factory=dict)
    rows: dict[Key, Row] = field(default_factory=dict)
    clock: int = 0
    _added: frozenset[str] = frozenset()

    def begin_run(self, columns: Sequence[str]) -> None:
        """Begin a run whose rows have these columns."""
        self._added = frozenset(columns) - frozenset(self.columns) if self.all else frozenset()
        self.columns = list(columns)
        for version in self.all:
            version.is_old = True

    def commit(self, time: int, rows: dict[Key, Row]) -> None:
        """Apply a commit, after which the source has these rows."""
        self.clock = max(self.clock, time)
        for key in {*self.rows, *rows}:
            if self._values(self.rows.get(key)) != self._values(rows.get(key)):
                self._event(key, rows.get(key))
        self.rows = rows

    def _values(self, row: Row | None) -> list[Any] | None:
        """The values of a row. A column that a later commit adds is NULL."""
        return None if row is None else [row.get(name) for name in self.columns]

    def compare(self, time: int, rows: dict[Key, Row]) -> None:
        """Compare the valid versions with the source."""
        self.clock = max(self.clock, time)
        for key in {*self.valid, *rows}:
            self._event(key, rows.get(key))
        self.rows = rows

    def _event(self, key: Key, row: Row | None) -> None:
        version = self.valid.get(key)
        if row is None:
            if self.hard_deletes == "ignore" or version is None or version.deleted:
                return
            self._end(key)
            if self.hard_deletes == "new_record":
                self._begin(key, version.values, deleted=True)
        elif version is None:
            self._begin(key, row)
        elif version.deleted or self._differs(version, row):
            self._end(key)
            self._begin(key, row)
        else:
            if any(version.values.get(name) != row.get(name) for name in self.columns):
                version.updated = self.clock
            version.values, version.is_old = row, False

    def _differs(self, version: Version, row: Row) -> bool:
        names = [name for name in self.columns if not self.check_cols or name in self.check_cols]
        if version.is_old:
            names = [name for name in names if name not in self._added]
        return any(version.values.get(name) != row.get(name) for name in names)

    def _begin(self, key: Key, values: Row, *, deleted: bool = False) -> None:
        self.valid[key] = Version(values, self.clock, self.clock, deleted=deleted)
        self.all.append(self.valid[key])

    def _end(self, key: Key) -> None:
        self.valid.pop(key).end = self.clock

    def table(self) -> Counter[Any]:
        """The rows of the table: values, begin, end, time of the values, and whether the row is deleted."""
        return Counter(
            (
                tuple(each.values.get(name) for name in self.columns),
                each.begin,
                each.end,
                each.updated,
                each.deleted,
            )
            for each in self.all
        )

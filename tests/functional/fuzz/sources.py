"""A source table, and the parts of its steps: statements and the resulting rows, computed without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from .histories import Variant
from .kinds import Row, Rows
from .star_kinds import Columns
from .tables import NOTHING, REWRITE, Commit, Metadata, Table

READ = 4
"""The number of columns that models read: id, k, day, v. The others, u and an added w, only make rows differ."""
DAYS = 5
FIRST_DAY = date(2026, 1, 1)


@dataclass(frozen=True)
class Effect:
    """The rows after a statement, and its commit, if it makes one.

    ``back_to``: the snapshot to which the table is set instead. ``first``: a statement that prepares it.
    ``by_library``: an action with Iceberg's own library instead of SQL; returns whether it did anything.
    ``touched``: the ids of rows that were rewritten, possibly unchanged, or deleted.
    """

    sql: str
    rows: Rows | None = None
    commit: Commit = NOTHING
    back_to: int | None = None
    first: str | None = None
    by_library: Callable[[Any], bool] | None = None
    touched: frozenset[int | None] = frozenset()


class Source(Table):
    """A source after its steps. A step whose preconditions are not met does nothing."""

    def __init__(self, name: str, variant: Variant, folder: Path) -> None:
        """``folder``: the location of data files of other writers."""
        super().__init__(name, READ, day_at=2)
        self.variant = variant
        self.folder = folder
        self.files: list[tuple[str, Rows]] = []
        self.version = variant.version
        self.generation: dict[int, int] = {}
        self.touched: dict[int, frozenset[int | None]] = {}
        self._schemas: dict[int | None, Columns] = {}
        self.generations = 0
        self.last_id = 0
        self.last_other = 100
        self.begin_anew()

    def begin_anew(self) -> None:
        self.unread, self.has_added, self.is_wide = "u", False, False
        self.mode = self.variant.mode
        self.files = []
        self.has_a_file_twice = False

    @property
    def rewrites_a_file_twice(self) -> bool:
        """Whether a change of rows may have a result that the oracle cannot predict.

        If a table has a file twice, Iceberg's copy-on-write removes one entry, or both.
        """
        return self.has_a_file_twice and self.mode == "copy-on-write"

    @property
    def may_count_too_many(self) -> bool:
        """Whether the commits that added a file again have expired, so that no summary shows it."""
        parents = self.seen.parents
        return self.has_a_file_twice and any(parent not in (None, *parents) for parent in parents.values())

    @property
    def columns(self) -> list[str]:
        """The columns whose values the oracle knows."""
        return ["id", "k", "day", "v", self.unread, *(["w"] if self.has_added else [])]

    @property
    def listed(self) -> str:
        """All columns, in the order of ``values``."""
        return ", ".join([*self.columns, *(["K"] if self.variant.has_twins else [])])

    def columns_at(self, snapshot: int | None) -> list[Columns]:
        """The columns that a reader of a snapshot may find: those of the snapshot, or the current ones."""
        return list(dict.fromkeys([self._schema(), self._schemas.get(snapshot, self._schema())]))

    def _schema(self) -> Columns:
        return tuple((name, "bigint" if name == "v" and self.is_wide else "") for name in self.columns)

    def record(self, seen: Metadata, rows: Rows, commit: Commit) -> None:
        """In addition to the base class, records the columns of a snapshot."""
        if seen.head is not None and seen.head not in self.held:
            assert seen.parents[seen.head] in (None, self.head), f"{self.name}: more than one commit"
        super().record(seen, rows, commit)
        if seen.head is not None:
            self.generation.setdefault(seen.head, self.generations)
            self._schemas.setdefault(seen.head, self._schema())

    def create(self, verb: str = "create table", rest: str = "") -> str:
        partition = f" partitioned by ({self.variant.partition})" if self.variant.partition else ""
        modes = "".join(f", 'write.{each}.mode'='{self.variant.mode}'" for each in ("delete", "update", "merge"))
        if not self.variant.has_bounds:
            modes += ", 'write.metadata.metrics.default'='none'"
        twin = ", K int" if self.variant.has_twins else ""
        columns = f" (id {self.variant.id.type}, k {self.variant.k.type}, day date, v int, u string{twin})"
        return (
            f"{verb} {self.name}{'' if rest else columns} using iceberg{partition} "
            f"tblproperties ('format-version'='{self.version}'{modes}){rest}"
        )

    # Rows

    def fresh(self, numbers: Iterable[int], day: date | None = None, k: int | None = None) -> list[Row]:
        """New rows. In a keyed table they have new ids; otherwise they have few values, so that rows repeat."""
        rows = []
        for number in numbers:
            value = None if number % 11 == 0 else number % 13
            if self.variant.keyed:
                self.last_id += 1
                id_: int | None = self.last_id
            else:
                id_ = None if number % 7 == 0 else number % 3
            its_k = number % 4 if k is None else k
            its_day = day_of(number // 4 % DAYS) if day is None else day
            rows.append((id_, its_k, its_day, value, "u" if number % 3 else None, None))
        return rows

    def values(self, rows: Iterable[Row]) -> str:
        return ", ".join(f"({', '.join(self._literals(row))})" for row in rows)

    def _literals(self, row: Row) -> list[str]:
        id_, k = self.variant.id.literal(row[0]), self.variant.k.literal(row[1])
        twin = ["1000"] if self.variant.has_twins else []
        return [id_, k, *(literal(value) for value in row[2 : len(self.columns)]), *twin]

    def selected(self, rows: Iterable[Row]) -> str:
        """These rows as a SELECT with the types of a new table."""
        id_, k = self.variant.id.type, self.variant.k.type
        columns = f"cast(id as {id_}) as id, cast(k as {k}) as k, date(day) as day, int(v) as v, string(u) as u"
        twin = ", K" if self.variant.has_twins else ""
        return f"select {columns}{twin} from values {self.values(rows)} as c({self.listed})"

    def insert(self, rows: list[Row]) -> Effect:
        sql = f"insert into {self.name} ({self.listed}) values {self.values(rows)}"
        return Effect(sql, self.rows + Counter(rows), Commit(Counter(rows)))

    def changed(self, sql: str, change: Callable[[Row], Row | None], rows: Rows | None = None) -> Effect:
        """The effect of a statement that changes rows. ``change`` returns a row's new form, None if deleted."""
        after: Rows = Counter()
        touched = set()
        for row in self.rows.elements():
            new = change(row)
            if new is not row:
                touched.add(row[0])
            if new is not None:
                after[new] += 1
        added = rows or Counter()
        commit = REWRITE if touched else Commit(added)
        return Effect(sql, after + added, commit, touched=frozenset(touched))

    def known(self) -> list[Row]:
        """Rows whose id can be matched, each id once, in a fixed order."""
        by_id = {row[0]: row for row in sorted(self.rows, key=str) if row[0] is not None}
        return [by_id[key] for key in sorted(by_id)]


_NAMES = ("id", "k", "day", "v", "u", "w")

Numbers = tuple[int, ...]
StepFunction = Callable[[Source, Numbers], "Effect | None"]


def literal(value: object) -> str:
    """The SQL literal of a value in a column without a spelling."""
    if isinstance(value, date):
        return f"date '{value}'"
    return "null" if value is None else repr(value)


def day_of(number: int) -> date:
    """The day with this number, counted from 0."""
    return FIRST_DAY + timedelta(days=number)


def with_values(row: Row, **columns: Any) -> Row:
    """A row with other values in some columns."""
    return tuple(columns.get(name, value) for name, value in zip(_NAMES, row, strict=True))


def whole(row: Row) -> Row:
    """A row as the oracle stores it, with values for columns that the table does not have yet."""
    return row + (None,) * (len(_NAMES) - len(row))

"""A source table and the statements of its steps: each with the rows that it leaves, told without asking Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, TypeVar

from .histories import Step, Variant
from .kinds import Row, Rows
from .oracle import NOTHING, REWRITE, Commit, Metadata, Table

READ = 4
"""Models read the first columns: id, k, day, v. The others, u and an added w, only make rows differ."""
DAYS = 5
_FIRST_DAY = date(2026, 1, 1)


@dataclass(frozen=True)
class Effect:
    """The rows that a statement leaves, and what its commit is, if it makes one.

    ``back_to``: the snapshot that the table is set to instead.
    """

    sql: str
    rows: Rows | None = None
    commit: Commit = NOTHING
    back_to: int | None = None


class Source(Table):
    """A source as its steps have made it. What a step needs and does not find makes it a step that does nothing."""

    def __init__(self, name: str, variant: Variant) -> None:
        super().__init__(name, READ, day_at=2)
        self.variant = variant
        self.version = variant.version
        self.generation: dict[int, int] = {}
        self._generations = 0
        self._ids = 0
        self._others = 100
        self._as_new()

    def _as_new(self) -> None:
        self.unread, self.has_added = "u", False

    @property
    def columns(self) -> list[str]:
        return ["id", "k", "day", "v", self.unread, *(["w"] if self.has_added else [])]

    def record(self, seen: Metadata, rows: Rows, commit: Commit) -> None:
        """As of any table; remembers with which columns a snapshot was made."""
        if seen.head is not None and seen.head not in self.held:
            assert seen.parents[seen.head] in (None, self.head), f"{self.name}: more than one commit"
        super().record(seen, rows, commit)
        if seen.head is not None:
            self.generation.setdefault(seen.head, self._generations)

    def effect(self, step: Step) -> Effect | None:
        """The statement of a step; None where it does not apply."""
        return _STEPS[step.kind](self, step.numbers)

    def create(self, verb: str = "create table", rest: str = "") -> str:
        partition = f" partitioned by ({self.variant.partition})" if self.variant.partition else ""
        modes = "".join(f", 'write.{each}.mode'='{self.variant.mode}'" for each in ("delete", "update", "merge"))
        columns = "" if rest else " (id int, k int, day date, v int, u string)"
        return (
            f"{verb} {self.name}{columns} using iceberg{partition} "
            f"tblproperties ('format-version'='{self.version}'{modes}){rest}"
        )

    # Rows

    def fresh(self, numbers: Iterable[int], day: date | None = None, k: int | None = None) -> list[Row]:
        """New rows: of a keyed table with ids of their own, of another one with few values, so that rows repeat."""
        rows = []
        for number in numbers:
            value = None if number % 11 == 0 else number % 13
            if self.variant.keyed:
                self._ids += 1
                id_: int | None = self._ids
            else:
                id_ = None if number % 7 == 0 else number % 3
            its_k = number % 4 if k is None else k
            its_day = day_of(number // 4 % DAYS) if day is None else day
            rows.append((id_, its_k, its_day, value, "u" if number % 3 else None, None))
        return rows

    def values(self, rows: Iterable[Row]) -> str:
        shown = (", ".join(_literal(value) for value in row[: len(self.columns)]) for row in rows)
        return ", ".join(f"({each})" for each in shown)

    def insert(self, rows: list[Row]) -> Effect:
        sql = f"insert into {self.name} ({', '.join(self.columns)}) values {self.values(rows)}"
        return Effect(sql, self.rows + Counter(rows), Commit(Counter(rows)))

    def changed(self, sql: str, change: Callable[[Row], Row | None], rows: Rows | None = None) -> Effect:
        """What comes of a statement that changes rows; the function gives a row as it is after, None if it goes."""
        after: Rows = Counter()
        touched = False
        for row in self.rows.elements():
            new = change(row)
            touched = touched or new is not row
            if new is not None:
                after[new] += 1
        added = rows or Counter()
        return Effect(sql, after + added, REWRITE if touched else Commit(added))

    def known(self) -> list[Row]:
        """Rows whose id can be matched, each id once, in a fixed order."""
        by_id = {row[0]: row for row in sorted(self.rows, key=str) if row[0] is not None}
        return [by_id[key] for key in sorted(by_id)]


Numbers = tuple[int, ...]
StepFunction = TypeVar("StepFunction", bound=Callable[[Source, Numbers], "Effect | None"])
_STEPS: dict[str, Callable[[Source, Numbers], Effect | None]] = {}


def _step(function: StepFunction) -> StepFunction:
    _STEPS[function.__name__] = function
    return function


def _literal(value: object) -> str:
    if isinstance(value, date):
        return f"date '{value}'"
    return "null" if value is None else repr(value)


def day_of(number: int) -> date:
    """The days are numbered from 0."""
    return _FIRST_DAY + timedelta(days=number)


def _with(row: Row, **columns: Any) -> Row:
    names = ("id", "k", "day", "v", "u", "w")
    return tuple(columns.get(name, value) for name, value in zip(names, row, strict=True))


def _some(numbers: Numbers) -> tuple[str, Callable[[Row], bool]]:
    """A predicate that no file's bounds can tell, in SQL and in Python."""
    modulus = 2 + numbers[0] % 3
    rest = numbers[1] % modulus
    return f"id % {modulus} = {rest}", lambda row: row[0] is not None and row[0] % modulus == rest


# Rows that come


@_step
def append(source: Source, numbers: Numbers) -> Effect:
    return source.insert(source.fresh(numbers[: 1 + numbers[-1] % 3]))


@_step
def insert_again(source: Source, numbers: Numbers) -> Effect:
    """Ids that were deleted come back."""
    gone = sorted(set(range(1, source._ids + 1)) - {row[0] for row in source.rows})
    if not source.variant.keyed or not gone:
        return append(source, numbers)
    row = (gone[numbers[0] % len(gone)], numbers[1] % 4, day_of(numbers[2] % DAYS), numbers[3] % 13, "again", None)
    return source.insert([row])


@_step
def merge_new(source: Source, numbers: Numbers) -> Effect:
    return _merge(source, [], _unmatched(source, numbers[:2]), 0)


@_step
def overwrite_empty(source: Source, numbers: Numbers) -> Effect:
    """An overwrite of a partition that there never was: it only adds rows."""
    partition = source.variant.partition
    if partition is None:
        return append(source, numbers)
    source._others += 1
    other: Any = day_of(source._others) if partition == "day" else source._others
    return _overwrite(source, source.fresh(numbers[:2], **{partition: other}))


# Rows that change or go


@_step
def update(source: Source, numbers: Numbers) -> Effect:
    predicate, is_one = _some(numbers)
    value = numbers[2] % 13
    sql = f"update {source.name} set v = {value} where {predicate}"
    return source.changed(sql, lambda row: _with(row, v=value) if is_one(row) else row)


@_step
def update_same(source: Source, numbers: Numbers) -> Effect:
    predicate, is_one = _some(numbers)
    # a copy of the row: the same values, and yet a row that was written anew
    return source.changed(
        f"update {source.name} set v = v where {predicate}", lambda row: _with(row) if is_one(row) else row
    )


@_step
def update_partition(source: Source, numbers: Numbers) -> Effect:
    predicate, is_one = _some(numbers)
    first = _literal(_FIRST_DAY)
    later = f"date_add({first}, (datediff(day, {first}) + 1) % {DAYS})"
    return source.changed(
        f"update {source.name} set day = {later} where {predicate}",
        lambda row: _with(row, day=day_of(((row[2] - _FIRST_DAY).days + 1) % DAYS)) if is_one(row) else row,
    )


@_step
def update_unread(source: Source, numbers: Numbers) -> Effect:
    """Columns change that no model reads."""
    predicate, is_one = _some(numbers)
    name, column = ("w", "w") if source.has_added and numbers[2] % 2 else ("u", source.unread)
    sql = f"update {source.name} set {column} = 'x{numbers[3] % 3}' where {predicate}"
    return source.changed(sql, lambda row: _with(row, **{name: f"x{numbers[3] % 3}"}) if is_one(row) else row)


@_step
def delete(source: Source, numbers: Numbers) -> Effect:
    predicate, is_one = _some(numbers)
    return source.changed(f"delete from {source.name} where {predicate}", lambda row: None if is_one(row) else row)


@_step
def delete_partition(source: Source, numbers: Numbers) -> Effect | None:
    days = sorted({row[2] for row in source.rows})
    if not days:
        return None
    day = days[numbers[0] % len(days)]
    sql = f"delete from {source.name} where day = {_literal(day)}"
    return source.changed(sql, lambda row: None if row[2] == day else row)


@_step
def truncate(source: Source, numbers: Numbers) -> Effect | None:
    return source.changed(f"truncate table {source.name}", lambda row: None) if source.rows else None


@_step
def merge(source: Source, numbers: Numbers) -> Effect:
    known = source.known()
    chosen = {row[0]: row for row in (known[number % len(known)] for number in numbers[:2])} if known else {}
    return _merge(source, list(chosen.values()), _unmatched(source, numbers[2 : 2 + numbers[5] % 3]), numbers[4] % 13)


@_step
def merge_delete(source: Source, numbers: Numbers) -> Effect | None:
    known = source.known()
    if not known:
        return None
    id_ = known[numbers[0] % len(known)][0]
    sql = f"merge into {source.name} t using (select {id_} as id) s on t.id = s.id when matched then delete"
    return source.changed(sql, lambda row: None if row[0] == id_ else row)


@_step
def overwrite(source: Source, numbers: Numbers) -> Effect:
    """Overwrites a partition that has rows, or the whole table where it has no partitions."""
    partition = source.variant.partition
    if not source.rows:
        return append(source, numbers)
    if partition is None:
        return _overwrite(source, source.fresh(numbers[:2]))
    there = sorted({_value(row, partition) for row in source.rows})
    return _overwrite(source, source.fresh(numbers[:2], **{partition: there[numbers[2] % len(there)]}))


def _unmatched(source: Source, numbers: Iterable[int]) -> list[Row]:
    rows = source.fresh(numbers)
    if source.variant.keyed:
        return rows
    source._others += len(rows)  # ids that no row has
    return [_with(row, id=source._others - n) for n, row in enumerate(rows)]


def _merge(source: Source, matched: list[Row], new: list[Row], value: int) -> Effect:
    ids = {row[0] for row in matched}
    listed = source.values([*matched, *new]) or f"(-1{', null' * (len(source.columns) - 1)})"
    names = ", ".join(source.columns)
    sql = (
        f"merge into {source.name} t using (select * from values {listed} as c({names})) s on t.id = s.id "
        f"when matched then update set v = {value} when not matched then insert ({names}) "
        f"values ({', '.join(f's.{name}' for name in source.columns)})"
    )
    if not matched and not new:
        return source.changed(sql.partition(" when not matched")[0], lambda row: row)
    return source.changed(sql, lambda row: _with(row, v=value) if row[0] in ids else row, Counter(new))


def _value(row: Row, partition: str) -> Any:
    return row[{"k": 1, "day": 2}[partition]]


def _overwrite(source: Source, rows: list[Row]) -> Effect:
    partition = source.variant.partition
    there = None if partition is None else {_value(row, partition) for row in rows}
    sql = f"insert overwrite {source.name} ({', '.join(source.columns)}) values {source.values(rows)}"
    effect = source.changed(
        sql,
        lambda row: None if partition is None or there is None or _value(row, partition) in there else row,
        Counter(rows),
    )
    return replace(effect, commit=replace(effect.commit, is_overwrite=True))


# Commits of no rows


@_step
def compact(source: Source, numbers: Numbers) -> Effect:
    return Effect(compact_sql(source), source.rows)


@_step
def rewrite_manifests(source: Source, numbers: Numbers) -> Effect:
    return Effect(f"call {source.catalog}.system.rewrite_manifests('{source.name}')", source.rows)


@_step
def insert_nothing(source: Source, numbers: Numbers) -> Effect:
    return Effect(f"insert into {source.name} select * from {source.name} where false", source.rows)


@_step
def update_nothing(source: Source, numbers: Numbers) -> Effect:
    return Effect(f"update {source.name} set v = 1 where id = -1", source.rows)


@_step
def merge_nothing(source: Source, numbers: Numbers) -> Effect:
    return _merge(source, [], [], 1)


# Schema and settings


def _altered(source: Source, change: str) -> Effect:
    source.is_altered = True
    return Effect(f"alter table {source.name} {change}", source.rows)


@_step
def add_column(source: Source, numbers: Numbers) -> Effect | None:
    if source.has_added:
        return None
    source.has_added = True
    return _altered(source, "add column w string")


@_step
def rename_column(source: Source, numbers: Numbers) -> Effect:
    old, source.unread = source.unread, f"u{numbers[0] % 1000}"
    return _altered(source, f"rename column {old} to {source.unread}")


@_step
def widen_column(source: Source, numbers: Numbers) -> Effect:
    return _altered(source, "alter column v type bigint")


@_step
def upgrade(source: Source, numbers: Numbers) -> Effect:
    source.version = 3
    return Effect(f"alter table {source.name} set tblproperties ('format-version'='3')", source.rows)


@_step
def change_modes(source: Source, numbers: Numbers) -> Effect:
    mode = ("copy-on-write", "merge-on-read")[numbers[0] % 2]
    modes = ", ".join(f"'write.{each}.mode'='{mode}'" for each in ("delete", "update", "merge"))
    return Effect(f"alter table {source.name} set tblproperties ({modes})", source.rows)


# Breaks of the history


@_step
def expire(source: Source, numbers: Numbers) -> Effect:
    return Effect(expire_sql(source, 1 + numbers[0] % 4), source.rows)


@_step
def rollback(source: Source, numbers: Numbers) -> Effect | None:
    older = source.ancestors(source.head)[1:5]
    return _set_to(source, "rollback_to_snapshot", older[numbers[0] % len(older)]) if older else None


@_step
def restore(source: Source, numbers: Numbers) -> Effect | None:
    """Sets the table to any snapshot that it still has, on whichever line of its history."""
    others = [each for each in source.seen.parents if each != source.head]
    if source.is_altered:  # columns of a replaced table are others, even where their names are the same
        others = [each for each in others if source.generation[each] == source._generations]
    others.sort(key=lambda each: source.order[each])
    return _set_to(source, "set_current_snapshot", others[numbers[0] % len(others)]) if others else None


@_step
def replace_empty(source: Source, numbers: Numbers) -> Effect:
    _begin_anew(source)
    return Effect(source.create("create or replace table"), Counter())


@_step
def replace_by_rows(source: Source, numbers: Numbers) -> Effect:
    _begin_anew(source)
    rows = source.fresh(numbers[:2])
    columns = "int(id) as id, int(k) as k, date(day) as day, int(v) as v, string(u) as u"
    query = f" as select {columns} from values {source.values(rows)} as c(id, k, day, v, u)"
    return Effect(source.create("create or replace table", query), Counter(rows))


def _begin_anew(source: Source) -> None:
    source._generations += 1
    source._as_new()


def _set_to(source: Source, procedure: str, snapshot: int) -> Effect:
    return Effect(f"call {source.catalog}.system.{procedure}('{source.name}', {snapshot})", back_to=snapshot)


def expire_sql(table: Table, keep: int) -> str:
    """Expires all but the last snapshots of a table."""
    return (
        f"call {table.catalog}.system.expire_snapshots(table => '{table.name}', "
        f"older_than => timestamp'2100-01-01', retain_last => {keep})"
    )


def compact_sql(table: Table) -> str:
    """Writes all files of a table anew."""
    options = "options => map('rewrite-all', 'true')"
    return f"call {table.catalog}.system.rewrite_data_files(table => '{table.name}', {options})"


def rollback_sql(table: Table, snapshot: int) -> str:
    """Rolls a table back to one of its ancestors."""
    return f"call {table.catalog}.system.rollback_to_snapshot('{table.name}', {snapshot})"

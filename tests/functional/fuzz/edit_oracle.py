"""The expected table of an edited model, computed from the documented rules in plain Python.

``EditedTable`` stores the contents of a table, with the logic, key and order that wrote them. Its ``outcome`` is the
expected result of a run: the rows after a success, or the possible errors of a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .edit_model import APPEND, APPLY, MERGE, OVERWRITE, SYNTAX, Spec
from .edit_sources import SharedSource, SourceRow, appended, plain
from .edit_values import Value, cast, compare_alike, holds, widens

Row = Mapping[str, Value]
Key = tuple[Value, ...]

PARSE, UNRESOLVED = "PARSE_SYNTAX_ERROR", "UNRESOLVED_COLUMN"
EDITED = "on_sql_change is fail"
REWRITTEN = "was rewritten since"
OTHER_ORDER, OTHER_KEY = "was not built with sequence_by", "The unique_key of"
NO_KEY, NO_VALUE, TOO_NARROW, OUT_OF_SYNC = (
    "names ",
    "returns no value for",
    "do not fit the values of",
    "are out of sync",
)
OTHER_TYPES, NOT_IN_TABLE = "returns types that differ from those of", "does not have all columns by which"
ALL_COLUMNS = "has sequence_by, but its SQL does not return"
OTHER_PARTITIONS = "would replace the wrong rows"
TWICE, TAKEN = "More than one new row of", "An inserted row of"
TIED, NO_PLACE = "the same sequence_by", "so their order is unknown"


@dataclass(frozen=True)
class Kept:
    """The key with which a table was kept under ``sequence_by``, and the sequence of each key's last deletion."""

    key: tuple[str, ...]
    deletions: Mapping[Key, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Contents:
    """A table: its columns' types by name, its rows, and whether it is partitioned. ``kept``: None without an order."""

    types: Mapping[str, str]
    rows: Sequence[Row]
    partitioned: bool
    kept: Kept | None

    @property
    def counted(self) -> Counter[tuple[Value, ...]]:
        """The rows as tuples, in the order of the columns."""
        return Counter(tuple(row[name] for name in self.types) for row in self.rows)

    def altered(self, types: Mapping[str, str]) -> Contents:
        """The same rows with other columns."""
        rows = [
            {name: cast(row[name], type_) if name in row else None for name, type_ in types.items()}
            for row in self.rows
        ]
        return replace(self, types=types, rows=rows)


@dataclass(frozen=True)
class Outcome:
    """The expected result of a run.

    ``errors``: if there are any, the run must fail with one of them. ``may_fail``: the run may fail with one of these
    instead, if only the files show whether it can succeed. ``after``: the table after a success.
    ``warns``: the epoch that a warning of an edit must name, or None for no warning.
    """

    errors: frozenset[str]
    after: EditedTable | None
    may_fail: frozenset[str] = frozenset()
    warns: int | None = None
    is_rebuild: bool = False
    writes: bool = False


class _FailedError(Exception):
    """A run fails with one of these errors."""


@dataclass(frozen=True)
class EditedTable:
    """The table of a model, and the contents of its checkpoint.

    ``contents``: None before the first build. ``position``: the number of commits of the source that it has read.
    ``logic``: of the newest rows. ``changed_after``: the last epoch of rows of another logic. ``epoch``: as observed.
    """

    contents: Contents | None = None
    position: int = 0
    logic: object = None
    changed_after: int | None = None
    epoch: int = 0

    def changed(self, spec: Spec) -> int | None:
        """The last epoch of rows that another logic wrote, or None if there are none."""
        return self.changed_after if self.logic == spec.logic else self.epoch

    def shown(self, spec: Spec, source: SharedSource) -> int | None:
        """The expected ``logic_changed_since`` in the status of a model."""
        opening = self._opening_errors(spec)
        rebuilds = self._calls_for_rebuild(spec, source)
        if self.contents is None or opening or rebuilds or spec.on_sql_change == "ignore":
            return None
        return self.changed(spec)

    def accepted(self, spec: Spec) -> EditedTable:
        """The table after ``ip_set_checkpoint`` with ``accept_sql``. It accepts another order, but not another key."""
        assert self.contents is not None
        kept = self.contents.kept
        order = None if not spec.sequence else Kept(tuple(sorted(spec.key))) if kept is None else kept
        contents = replace(self.contents, kept=order)
        return replace(self, contents=contents, logic=spec.logic, changed_after=None)

    def outcome(self, spec: Spec, source: SharedSource, *, full_refresh: bool = False) -> Outcome:
        """The expected result of the next run."""
        if self.contents is None or full_refresh:
            return self._rebuilt(spec, source)
        opening = self._opening_errors(spec)
        if EDITED in opening:
            return Outcome(frozenset(opening), None)
        if self._calls_for_rebuild(spec, source):
            return self._rebuilt(spec, source)
        if opening:
            return Outcome(frozenset(opening), None)
        since = source.commits[self.position : source.head]
        rewrites = any(each.added is None for each in since)
        refuses = rewrites and not spec.reads_net and spec.on_source_rewrite == "fail"
        if refuses and source.held[self.position] - source.held[source.head]:
            return Outcome(frozenset({REWRITTEN}), None)
        found = self._continued(spec, source)
        return replace(found, may_fail=frozenset({REWRITTEN})) if refuses else found

    def _continued(self, spec: Spec, source: SharedSource) -> Outcome:
        """The expected result of a run that reads the commits since the position."""
        since = source.commits[self.position : source.head]
        is_new = self.logic != spec.logic
        changed = self.changed(spec)
        warns = changed if spec.on_sql_change in (None, "warn") else None
        ignores = spec.on_source_rewrite == "ignore" and not spec.reads_net
        applies = any(each.added is not None for each in since) if ignores else bool(since)
        if not applies:
            errors = frozenset(self._analysis_errors(spec)) if is_new else frozenset()
            after = replace(self, position=source.head)
            return Outcome(errors, after, warns=warns)
        errors = frozenset({*self._analysis_errors(spec), *self._apply_errors(spec)})
        if errors:
            return Outcome(errors, None, warns=warns)
        try:
            contents = self._applied(spec, source)
        except _FailedError as error:
            return Outcome(frozenset(error.args), None, warns=warns)
        after = EditedTable(contents, source.head, spec.logic, changed, self.epoch)
        return Outcome(frozenset(), after, warns=warns, writes=True)

    def failed(self, spec: Spec, types: Mapping[str, str]) -> EditedTable | None:
        """The table after a failure: unchanged, or with its new columns. None if it has any other columns."""
        assert self.contents is not None
        if types == self.contents.types:
            return self
        return replace(self, contents=self.contents.altered(types)) if types == self._types_after(spec) else None

    # Refusals

    def _opening_errors(self, spec: Spec) -> set[str]:
        """The errors that are raised before any row is read."""
        if self.contents is None:
            return set()
        errors = set()
        if self.changed(spec) is not None and spec.on_sql_change == "fail":
            errors.add(EDITED)
        if self.changed(spec) is not None and spec.on_sql_change == "full_refresh":
            return errors
        if spec.sequence and self.contents.kept is None:
            errors.add(OTHER_ORDER)
        elif spec.sequence and self.contents.kept is not None and self.contents.kept.key != tuple(sorted(spec.key)):
            errors.add(OTHER_KEY)
        return errors

    def _calls_for_rebuild(self, spec: Spec, source: SharedSource) -> bool:
        if self.changed(spec) is not None and spec.on_sql_change == "full_refresh":
            return True
        rewrites = any(each.added is None for each in source.commits[self.position : source.head])
        return rewrites and not spec.reads_net and spec.on_source_rewrite == "full_refresh"

    def _analysis_errors(self, spec: Spec) -> Iterator[str]:
        """The errors of the SQL, the columns and the partitions, which do not depend on rows."""
        assert self.contents is not None
        if spec.broken:
            yield PARSE if spec.broken == SYNTAX else UNRESOLVED
            return
        given, table = spec.types_by_column, self.contents.types
        if spec.is_keyed and any(name not in given for name in spec.key):
            yield NO_KEY
        shared = [(name, given[name], table[name]) for name in given if name in table]
        syncs = spec.on_schema_change == "sync_all_columns"
        if spec.on_schema_change == "fail" and (
            given.keys() != table.keys() or any(ours != theirs for _, ours, theirs in shared)
        ):
            yield OUT_OF_SYNC
        if spec.on_schema_change in (None, "ignore") and table.keys() - given.keys():
            yield NO_VALUE
        if any(not holds(ours, theirs) and not (syncs and widens(theirs, ours)) for _, ours, theirs in shared):
            yield TOO_NARROW
        for name in _compared(spec, self.contents):
            if name in given and name not in table:
                yield NOT_IN_TABLE
                yield NO_KEY
            elif name in given and not compare_alike(given[name], table[name]):
                yield OTHER_TYPES
        if spec.strategy == OVERWRITE and not self.contents.partitioned:
            yield OTHER_PARTITIONS

    def _apply_errors(self, spec: Spec) -> Iterator[str]:
        """Further errors of a run that has rows to apply."""
        assert self.contents is not None
        left_out = self.contents.types.keys() - spec.types_by_column.keys()
        if spec.sequence and left_out and spec.on_schema_change == "append_new_columns":
            yield ALL_COLUMNS

    # What a run writes

    def _order(self, spec: Spec) -> Kept | None:
        assert self.contents is not None
        if not spec.sequence:
            return None
        return self.contents.kept or Kept(tuple(sorted(spec.key)))

    def _rebuilt(self, spec: Spec, source: SharedSource) -> Outcome:
        errors = set()
        if spec.broken:
            errors.add(PARSE if spec.broken == SYNTAX else UNRESOLVED)
        if spec.is_keyed and any(name not in spec.types_by_column for name in spec.key):
            errors.add(NO_KEY)
        if errors:
            return Outcome(frozenset(errors), None, is_rebuild=True)
        rows = [(True, row) for row in source.held[source.head].elements()]
        order = Kept(tuple(sorted(spec.key))) if spec.sequence else None
        empty = Contents(spec.types_by_column, [], spec.partitioned, order)
        try:
            contents = _written(spec, empty, list(_selected(spec, rows)))
        except _FailedError as error:
            return Outcome(frozenset(error.args), None, is_rebuild=True)
        after = EditedTable(contents, source.head, spec.logic, None, self.epoch)
        return Outcome(frozenset(), after, is_rebuild=True, writes=True)

    def _applied(self, spec: Spec, source: SharedSource) -> Contents:
        assert self.contents is not None
        table = replace(self.contents.altered(self._types_after(spec)), kept=self._order(spec))
        return _written(spec, table, list(_selected(spec, self._read(spec, source))))

    def _types_after(self, spec: Spec) -> Mapping[str, str]:
        """The columns of a table after the rows of a model were written to it."""
        assert self.contents is not None
        given, types = spec.types_by_column, dict(self.contents.types)
        if spec.on_schema_change in ("append_new_columns", "sync_all_columns"):
            types |= {name: type_ for name, type_ in given.items() if name not in types}
        if spec.on_schema_change == "sync_all_columns":
            types = {
                name: given[name] if not holds(given[name], type_) else type_
                for name, type_ in types.items()
                if name in given
            }
        return types

    def _read(self, spec: Spec, source: SharedSource) -> list[tuple[bool, SourceRow]]:
        """The rows that the model's macro returns, each with False if it is a removed row."""
        since = source.commits[self.position : source.head]
        before, now = source.held[self.position], source.held[source.head]
        if spec.reads_net:
            added, removed = now - before, before - now
            return [*((False, row) for row in removed.elements()), *((True, row) for row in added.elements())]
        rewrites = any(each.added is None for each in since)
        if rewrites and spec.on_source_rewrite in ("upserts", "fail"):  # "fail": only rows of the range were rewritten
            return [(True, row) for row in (now - before).elements()]
        return [(True, row) for row in appended(since)]


def _compared(spec: Spec, contents: Contents) -> list[str]:
    """The columns with which new rows find the rows that they replace."""
    if spec.is_keyed:
        return [*spec.key, "at"] if spec.sequence else [*spec.key]
    return ["d"] if spec.strategy == OVERWRITE and contents.partitioned else []


def _selected(spec: Spec, rows: Iterable[tuple[bool, SourceRow]]) -> Iterator[tuple[bool, Row]]:
    """The rows that the model's SQL returns, each with whether it belongs in the table."""
    for is_there, source_row in rows:
        row = plain(source_row)
        if _passes(spec, row):
            is_kept = is_there and (spec.reads_net or spec.strategy != APPLY or row["op"] != "D")
            yield is_kept, _computed(spec, row)


def _passes(spec: Spec, row: Row) -> bool:
    id_, k, v = row["id"], row["k"], row["v"]
    return {
        "": lambda: True,
        "v > 20": lambda: isinstance(v, int) and v > 20,
        "v % 2 = 0": lambda: isinstance(v, int) and v % 2 == 0,
        "k <> 2": lambda: k is not None and k != 2,
        "id is not null": lambda: id_ is not None,
    }[spec.condition]()


def _computed(spec: Spec, row: Row) -> Row:
    v, k = row["v"], row["k"]
    computed: Value = None
    if isinstance(v, int):
        computed = {"*": v * spec.operand, "+": v + spec.operand, "/": v / spec.operand}[spec.operation]
    values = {**{name: row[name] for name in ("id", "k", "d", "at")}, spec.value_name: computed}
    values["w"] = None if not isinstance(k, int) else k + 1000
    return {name: cast(values[name], type_) for name, type_ in spec.types_by_column.items()}


def _written(spec: Spec, table: Contents, rows: list[tuple[bool, Row]]) -> Contents:
    """The table after the rows were written. Raises _FailedError."""
    given = spec.types_by_column
    written = [name for name in table.types if name in given]
    typed = [(is_kept, {name: cast(row[name], table.types[name]) for name in written}) for is_kept, row in rows]
    new = [{name: row.get(name) for name in table.types} for is_kept, row in typed if is_kept]
    if spec.strategy == APPEND:
        return replace(table, rows=[*table.rows, *new])
    if spec.strategy == OVERWRITE:
        days = {row["d"] for row in new}
        return replace(table, rows=[*(row for row in table.rows if row["d"] not in days), *new])
    if spec.sequence:
        return _ordered(spec, table, typed)
    gone = {_key(spec, row) for is_kept, row in typed if not is_kept}
    return _replaced(spec, table, new, gone, written)


def _replaced(
    spec: Spec, table: Contents, new: list[dict[str, Value]], gone: set[Key], written: Sequence[str]
) -> Contents:
    """A merge, or a changelog applied. Columns that are not written keep their values in matched rows."""
    has_null = spec.strategy == MERGE
    keys = [key for row in new if not (None in (key := _key(spec, row)) and has_null)]
    held: dict[Key, list[Row]] = {}
    for row in table.rows:
        held.setdefault(_key(spec, row), []).append(row)
    errors = [TWICE] if len(set(keys)) < len(keys) else []
    if spec.strategy == APPLY and any(key in held and key not in gone for key in keys):
        errors.append(TAKEN)
    if errors:
        raise _FailedError(*errors)
    updates = len(written) < len(table.types)
    rows: list[Row] = [row for row in table.rows if _key(spec, row) not in {*keys, *gone}]
    for row in new:
        matched = [] if has_null and None in _key(spec, row) else held.get(_key(spec, row), [])
        if matched and updates:
            rows += [{**old, **{name: row[name] for name in written}} for old in matched]
        else:
            rows.append(row)
    return replace(table, rows=rows)


def _ordered(spec: Spec, table: Contents, typed: list[tuple[bool, dict[str, Value]]]) -> Contents:
    """The newest row of each key by ``at``, which is unique within a key. Raises _FailedError."""
    assert table.kept is not None
    held: dict[Key, list[Row]] = {}  # an earlier logic may have written several rows of a key
    untouched: list[Row] = []
    for row in table.rows:
        if None in _key(spec, row) and spec.strategy == MERGE:
            untouched.append(row)
        else:
            held.setdefault(_key(spec, row), []).append(row)
    deletions = dict(table.kept.deletions)
    newest: dict[Key, tuple[bool, Row]] = {}
    for is_kept, row in typed:
        key = _key(spec, row)
        if None in key and spec.strategy == MERGE:
            untouched.append(row)
        elif key not in newest or _is_before(newest[key][1]["at"], row["at"]):
            newest[key] = is_kept, row
    for key, (is_kept, row) in newest.items():
        places = [*(held_row["at"] for held_row in held.get(key, [])), deletions.get(key)]
        known = [place for place in places if place is not None]
        if any(_is_before(row["at"], place) for place in known):
            continue
        if any(place == row["at"] for place in known):
            raise _FailedError(TIED)
        held.pop(key, None)
        if is_kept:
            held[key] = [row]
        else:
            deletions[key] = row["at"]
    rows = [*untouched, *(row for each in held.values() for row in each)]
    return replace(table, rows=rows, kept=replace(table.kept, deletions=deletions))


def _is_before(one: Value, other: Value) -> bool:
    """Whether one value of a type is less than another."""
    return one < other  # type: ignore[operator]


def _key(spec: Spec, row: Row) -> Key:
    """The values of the key, in a fixed order."""
    return tuple(row[name] for name in sorted(spec.key))

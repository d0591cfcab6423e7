"""SQL that applies a changelog in two statements: an INSERT of the kept rows, and a DELETE of the rows they replace.

As in ``replacement``, no statement shuffles the target. Both statements read a view of the model's changelog. Spark
holds the rows of the view, so that they are computed once. A server may have to compute them again if it lost them or
considers them outdated. The view is therefore summarized before the first statement and after the second. Equal
summaries show that both statements saw the same changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from typing import Any

from ...errors import ConfigError
from ...expose.groups import broadcast
from ...expose.same_key import same_key
from ...expose.value_range import ends_sql, from_row, has_ends, type_name
from ...sql import sql_name, sql_names, sql_string, unused
from ...table.files import ChangedFiles, DataFile
from ...table.intervals import Interval, interval_of
from ..columns.table_columns import Typed
from ..columns.unique_keys import duplicates_sql, raise_taken_sql
from .merge import SOURCE, TARGET
from .replacement import Inserted, Replacement, is_older, sequence_sql

IS_KEPT, IS_NEW, RUN = "DBT_INTERNAL_IS_KEPT", "DBT_INTERNAL_IS_NEW", "DBT_INTERNAL_RUN"
"""The columns that the view adds: whether the row is in the table afterwards, whether its key must be new to the table,
and the run that created the view, so that runs do not share a cache."""

_KEPT, _ROWS, _DECIDING = "DBT_INTERNAL_KEPT", "DBT_INTERNAL_ROWS", "DBT_INTERNAL_DECIDING"
_WORTH = 0.25
"""A bound is used if it excludes files with at least this share of the target's rows."""


@dataclass(frozen=True)
class ChangesView:
    """A view of a changelog, and the rows of the target that its rows replace.

    ``view``: its name in SQL. ``fixed_types``: the Spark types of ``replacement.fixed``. ``copies``: the column with
    the number of rows that a row of the view represents; None without one. ``deciding``: expressions that decide, like
    keys and kinds, which rows the statements write and delete.
    """

    view: str
    replacement: Replacement
    fixed_types: tuple[str, ...] = ()
    copies: str | None = None
    deciding: tuple[str, ...] = ()

    @property
    def bounded(self) -> list[tuple[str, str]]:
        """The columns whose bounds limit the rows to delete, with their types."""
        replacement = self.replacement
        return bounded((*replacement.unique_key, *replacement.fixed), (*replacement.types, *self.fixed_types))


@dataclass(frozen=True)
class Bound:
    """The bounds of a column, as a predicate on the target. ``interval``: in Iceberg's units."""

    column: str
    sql: str
    interval: Interval

    def of_column(self, column: str) -> str:
        """The same predicate for another column."""
        return self.sql.replace(f"{TARGET}.{sql_name(self.column)}", sql_name(column))

    def leaves_out(self, files: ChangedFiles) -> float:
        """The share of the table's rows, from 0 to 1, that are in ``files_left_out``."""
        rows = 0 if files.files is None else files.files.records
        return sum(file.records for file in self.files_left_out(files)) / rows if rows else 0

    def files_left_out(self, files: ChangedFiles) -> list[DataFile]:
        """The files whose metadata shows that none of their rows satisfies the predicate."""
        column = files.column(self.column)
        if files.files is None or column is None or not isinstance(column.type, str):
            return []
        type_, field_id = column.type, column.field_id
        return [file for file in files.files.all if _apart(interval_of(file, field_id, type_), self.interval)]


def _apart(one: Interval, other: Interval) -> bool:
    """Whether two intervals have no value in common."""
    if one.has_nulls and other.has_nulls:
        return False
    if not one.has_values or not other.has_values:
        return True
    ends = (one.lower, one.upper, other.lower, other.upper)
    # a query may compare a number with text that contains one
    kinds = {Number if isinstance(each, Number) else type(each) for each in ends}
    return None not in ends and len(kinds) == 1 and bool(one.upper < other.lower or other.upper < one.lower)


@dataclass(frozen=True)
class Summary:
    """A summary of a view of changes.

    ``keys``: the number of keys. ``kept``: the number of rows that are in the table afterwards, ``most_kept`` for one
    key. ``gone``: the number of keys without such a row. ``added``: the number of keys that must be new to the table.
    ``has_nulls``: whether a key may be NULL. ``digest``: differs if the keys, their changes or the deciding values
    differ. ``bounds``: satisfied by every row of these keys. ``most_copies``: the maximum number of rows that a row of
    the view represents.
    """

    keys: int
    kept: int
    most_kept: int
    gone: int
    added: int
    has_nulls: bool
    digest: str
    bounds: tuple[Bound, ...] = ()
    most_copies: int = 1


def view_sql(
    changelog: str, columns: Sequence[Typed], replacement: Replacement, *, is_kept: str, shows_old: bool, run: str
) -> str:
    """The query of the view, with the columns of the target. A deleted row has only its identifying columns.

    ``changelog``: the relation with ``_change_type``. ``is_kept``: the condition for kept rows.
    ``shows_old``: whether the changelog contains each row that a change replaces, so that a key without one is new.
    """
    needed = {*replacement.unique_key, *replacement.fixed}
    values = [_value(column, needed) for column in columns]
    is_new = IS_KEPT if shows_old else "_change_type = 'INSERT'"
    return (
        f"select {', '.join(values)}, {IS_KEPT}, {is_new} as {IS_NEW}, {sql_string(run)} as {RUN}\n"
        f"from (select *, {is_kept.strip()} as {IS_KEPT} from {changelog})"
    )


def _value(column: Typed, needed: set[str]) -> str:
    name = sql_name(column.name)
    if column.name not in needed:
        return f"if({IS_KEPT}, {name}, null) as {name}"
    return f"cast({name} as {type_name(column.dtype)}) as {name}" if has_ends(column.dtype) else name


def determinism_sql(relation: str) -> str:
    """A statement that reads no rows and that Spark rejects if a relation's rows are not deterministic."""
    return f"describe query select max((select count(*) from {relation}))"


def summary_sql(changes: ChangesView) -> str:
    """The query whose row ``summary_of`` parses."""
    keys = [sql_name(key) for key in changes.replacement.unique_key]
    inner = [f"count_if({IS_KEPT}) as {_KEPT}", f"every({IS_NEW}) as {IS_NEW}", f"count(*) as {_ROWS}"]
    digested = [*keys, _KEPT, IS_NEW]
    if changes.deciding:
        inner.append(f"bit_xor(xxhash64({', '.join(changes.deciding)})) as {_DECIDING}")
        digested.append(_DECIDING)
    outer = [
        "count(*)",
        f"coalesce(sum({_KEPT}), 0)",
        f"coalesce(max({_KEPT}), 0)",
        f"count_if({_KEPT} = 0)",
        f"count_if({IS_NEW})",
        f"count_if({' or '.join(f'{key} is null' for key in keys)})",
        f"coalesce(sum({_ROWS}), 0)",
        f"string(bit_xor(xxhash64({', '.join(digested)})))",
    ]
    for place, (name, type_) in enumerate(changes.bounded):
        low, high, values = (f"DBT_INTERNAL_{end}_{place}" for end in ("LOW", "HIGH", "VALUES"))
        column = sql_name(name)
        inner += [f"min({column}) as {low}", f"max({column}) as {high}", f"count({column}) as {values}"]
        outer += [*ends_sql(type_, f"min({low})", f"max({high})"), f"coalesce(sum({values}), 0)"]
    if changes.copies is not None:
        inner.append(f"max({changes.copies}) as {changes.copies}")
        outer.append(f"coalesce(max({changes.copies}), 0)")
    listed = ", ".join(keys)
    return f"select {', '.join(outer)} from (select {listed}, {', '.join(inner)} from {changes.view} group by {listed})"


def summary_of(changes: ChangesView, row: Sequence[Any]) -> Summary:
    """Parse a row of ``summary_sql``."""
    keys, kept, most_kept, gone, added, nulls, rows = (int(str(value)) for value in row[:7])
    digest, ends = row[7], row[8:]
    found = []
    for place, (name, type_) in enumerate(changes.bounded):
        low, high, values = ends[3 * place : 3 * place + 3]
        without = rows - int(str(values))
        if without and name in changes.replacement.fixed:
            continue  # deletions from a log may have only the key
        found.append(bound_of(name, type_, low, high, without))
    bounds = tuple(bound for bound in found if bound is not None)
    most_copies = 1 if changes.copies is None else int(str(ends[-1]))
    digest = f"{digest} {rows} {list(ends)}"
    return Summary(keys, kept, most_kept, gone, added, nulls > 0, digest, bounds, most_copies)


def bounded(names: Sequence[str], types: Sequence[str]) -> list[tuple[str, str]]:
    """The columns whose types have bounds, with their Spark types."""
    return [(name, type_) for name, type_ in zip(names, types, strict=True) if has_ends(type_)]


def all_ends_sql(columns: Sequence[tuple[str, str]], condition: str = "") -> list[str]:
    """The expressions for the lowest and highest values of columns, for ``bounds_of``. ``condition``: a filter."""
    only = f" filter (where {condition})" if condition else ""
    ends = (ends_sql(type_, *(f"{end}({sql_name(name)}){only}" for end in ("min", "max"))) for name, type_ in columns)
    return [each for pair in ends for each in pair]


def bounds_of(columns: Sequence[tuple[str, str]], ends: Sequence[Any], nulls: Mapping[str, int]) -> tuple[Bound, ...]:
    """The bounds of columns, from their lowest and highest values.

    ``nulls``: the number of NULLs by column, 0 if absent.
    """
    found = (
        bound_of(name, type_, ends[2 * place], ends[2 * place + 1], nulls.get(name, 0))
        for place, (name, type_) in enumerate(columns)
    )
    return tuple(bound for bound in found if bound is not None)


def bound_of(name: str, type_: str, low: Any, high: Any, nulls: int) -> Bound | None:
    """The bound of a column with these lowest and highest values. None if literals cannot express it."""
    column = f"{TARGET}.{sql_name(name)}"
    if low is None or high is None:
        return Bound(name, f"{column} is null", Interval(has_values=False))
    try:
        found = from_row(name, type_, (low, high, 1, nulls))
    except ConfigError:  # NaN, and text that is not UTF-8
        return None
    sql = f"{column} = {found.min}" if found.min == found.max else f"{column} between {found.min} and {found.max}"
    sql = f"({sql} or {column} is null)" if nulls else sql
    return Bound(name, sql, Interval(_value_of(type_, low), _value_of(type_, high), nulls > 0))


def _value_of(type_: str, text: str) -> Any:
    """A value of ``summary_sql`` in Iceberg's units. None if Iceberg may order it differently."""
    if type_ == "string":
        return bytes.fromhex(text).decode("utf-8", errors="replace")
    if type_.startswith("decimal"):
        return Decimal(text)
    return int(text) if type_.endswith("int") or type_ in ("date", "timestamp", "timestamp_ntz") else None


def useful(bounds: Sequence[Bound], files: ChangedFiles | None) -> tuple[Bound, ...]:
    """The bounds that avoid reading a substantial part of the target. All bounds if its files are unknown.

    Spark evaluates a predicate for every row of the remaining files. For one column, this costs about a third as much
    as finding the keys in these rows.
    """
    if files is None or files.files is None:
        return tuple(bounds)
    return tuple(bound for bound in bounds if bound.leaves_out(files) >= _WORTH)


def files_within(bounds: Sequence[Bound], files: ChangedFiles) -> list[DataFile]:
    """The files that may contain a row that satisfies all predicates."""
    left_out = {file.path for bound in bounds for file in bound.files_left_out(files)}
    return [] if files.files is None else [file for file in files.files.all if file.path not in left_out]


def repeated_sql(changes: ChangesView) -> str:
    """The query for keys with more than one kept row, with the columns of ``unique_keys.duplicates_sql``."""
    return duplicates_sql(f"(select * from {changes.view} where {IS_KEPT})", changes.replacement.unique_key, nulls=True)


def delete_sql(new: Inserted, changes: ChangesView, summary: Summary, model: str) -> str:
    """The DELETE of the rows of all changed keys, except for rows that were just inserted.

    It fails for an existing row whose key must be new to the table. The failing expression is part of the join
    condition and uses values of both sides, because Spark may evaluate an expression of one side for rows that the join
    omits.
    """
    replacement, keys = changes.replacement, changes.replacement.unique_key
    since = unused("_ip_since", replacement.unique_key) if new.by_sequence and summary.kept else None
    older = is_older(new, SOURCE, since) if summary.kept else "true"
    same = same_key(TARGET, SOURCE, replacement.unique_key, replacement.types, nulls=summary.has_nulls)
    conditions = [bound.sql for bound in summary.bounds if new.can_bound([bound.column])]
    if since is not None:
        same += f" and {older}"
    elif summary.kept:
        conditions.append(older)
    if summary.added and new.bounding is not None:
        conditions.append(_exists_in_copied_files(new, changes, summary, same, older, model))
    else:
        if summary.added:
            taken = f"{SOURCE}.{IS_NEW} and {_is_taken(changes, older)}"
            same += f" and case when {taken} then {raise_taken_sql(model, keys, SOURCE)} else true end"
        hint = broadcast(SOURCE, summary.keys, replacement.types)
        shown = f", every({IS_NEW}) as {IS_NEW}" if summary.added else ""
        conditions.append(
            f"exists (select {hint}1 from {_keys_sql(changes, new, since, shown)} as {SOURCE} where {same})"
        )
    return f"delete from {new.sql} as {TARGET} where {' and '.join(conditions)}"


def _exists_in_copied_files(
    new: Inserted, changes: ChangesView, summary: Summary, same: str, older: str, model: str
) -> str:
    """The condition for rows of changed keys in a copy-on-write table. It fails like the one of ``delete_sql``.

    Spark also uses the condition to find the files to rewrite, and then loses the columns of the subquery that are not
    keys (INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND, Spark 4.1.4). Each kind of key therefore has its own subquery.
    """
    keys, types = changes.replacement.unique_key, changes.replacement.types
    taken = f"case when {_is_taken(changes, older)} then {raise_taken_sql(model, keys, SOURCE)} else false end"
    found = []
    for is_new, count in ((False, summary.keys - summary.added), (True, summary.added)):
        if count:
            having = f" having {'' if is_new else 'not '}every({IS_NEW})"
            relation = _keys_sql(changes, new, None, having=having)
            condition = f"{same} and {taken}" if is_new else same
            found.append(
                f"exists (select {broadcast(SOURCE, count, types)}1 from {relation} as {SOURCE} where {condition})"
            )
    return f"({' or '.join(found)})"


def _is_taken(changes: ChangesView, older: str) -> str:
    """The condition that a row of the target has a key and is older than the inserted rows."""
    same = same_key(TARGET, SOURCE, changes.replacement.unique_key, changes.replacement.types, nulls=True)
    return f"{same} and {older}"


def _keys_sql(changes: ChangesView, new: Inserted, since: str | None, shown: str = "", having: str = "") -> str:
    """The distinct changed keys. ``shown``: a further column; ``having``: a HAVING clause.

    ``since``: the name of a column with the sequence number of the commit ``new``.
    """
    listed = sql_names(changes.replacement.unique_key)
    # As an aggregate, the number is not a literal, which would change the generated code for scanning the target.
    number = "" if since is None else f", max({sequence_sql(new.snapshot)}) as {since}"
    return f"(select {listed}{number}{shown} from {changes.view} group by {listed}{having})"

"""The order of rows within a key (``sequence_by``): which new rows are the newest of their keys, as SQL.

Three views build on each other. ``read_sql``: the result of the model's SQL. ``compared_sql``: the newest row of each
key that is not late, with ``FLAW`` if its order cannot be determined. ``newest_sql``: the rows to write, after the
flaws have been checked.

A run reads only the table's rows whose keys have new rows, and only the columns of the key and the sequence. The new
keys are broadcast, and the table is not shuffled. Deletions of earlier runs are in a separate table. A late row is
older than the row or the last deletion of its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from ...errors import SequenceError
from ...explain import sequence_errors
from ...expose.groups import broadcast
from ...expose.same_key import same_key
from ...expose.value_range import has_ends
from ...plan.ranges import CHANGE_TYPE
from ...sql import sql_name, sql_names, sql_string
from ...table.checkpoint import Deletions
from ...table.history import MAIN, Snapshot, TableName
from ...table.types import as_written
from ..columns.comparable import comparable_sql
from ..columns.table_columns import Typed
from ..columns.unique_keys import duplicates_sql, first_keys_sql, raise_error_sql, shown
from ..strategies.changelog import IS_KEPT, IS_NEW, RUN, Bound
from ..strategies.merge import TARGET
from .deletions import recorded_sql
from .ordered import Ordered, cast_sql, has_null

FLAW = "DBT_INTERNAL_FLAW"
"""The column of ``compared_sql`` that states why the order of a row cannot be determined. NULL if it can."""

_IS_BEFORE, _IS_AFTER, _PLACE = "DBT_INTERNAL_IS_BEFORE", "DBT_INTERNAL_IS_AFTER", "DBT_INTERNAL_PLACE"
_HAS_KEPT, _HAS_AFTER = "DBT_INTERNAL_HAS_KEPT", "DBT_INTERNAL_HAS_AFTER"
_ROW, _DELETION, _UNKNOWN = "DBT_INTERNAL_ROW", "DBT_INTERNAL_DELETION", "DBT_INTERNAL_UNKNOWN"
_NEW, _KNOWN, _CHANGED = "DBT_INTERNAL_SOURCE", "DBT_INTERNAL_KNOWN", "DBT_INTERNAL_CHANGED"
# to_json would truncate times to milliseconds
JSON_OPTIONS = "map('ignoreNullFields', 'false', 'timestampFormat', '{0}XXX', 'timestampNTZFormat', '{0}')".format(
    "yyyy-MM-dd HH:mm:ss.SSSSSS"
)

_Error = Callable[[str, Sequence[str], Sequence[str], str], SequenceError]


class Flaw(str, Enum):
    """Why the order of a row cannot be determined."""

    MISSING = "missing"
    """The row has NULL in the sequence."""

    MISSING_IN_TABLE = "missing in table"
    """The table's row of the same key has NULL in the sequence."""

    TIED = "tied"
    """Another new row of the same key has the same sequence."""

    SAME_AS_ROW = "same as row"
    """The table's row of the same key has the same sequence. An error unless the rows are equal."""

    DELETES_SAME = "deletes same"
    """The row is a deletion, and the table's row of the same key has the same sequence."""

    SAME_AS_DELETION = "same as deletion"
    """The last deletion of the same key has the same sequence."""


ERRORS: dict[Flaw, _Error] = {
    Flaw.MISSING: sequence_errors.null_in_sequence,
    Flaw.MISSING_IN_TABLE: sequence_errors.null_in_sequence_of_table,
    Flaw.TIED: sequence_errors.tied,
    Flaw.SAME_AS_ROW: sequence_errors.tied_with_row,
    Flaw.DELETES_SAME: sequence_errors.tied_deletion,
    Flaw.SAME_AS_DELETION: sequence_errors.tied_with_deletion,
}
"""The error for each flaw. Its arguments are the model, the key, the sequence, and the keys found."""


@dataclass(frozen=True)
class Known:
    """The existing rows and deletions that new rows are compared with.

    ``snapshot``: the target's current snapshot when the comparison began; None without one. ``deletions``: the
    recorded deletions; None if there are none. ``bounds``: satisfied by all rows of the changed keys. ``changed``: the
    number of these keys. ``replaces_same``: whether a new row replaces the table's row with the same key and sequence,
    because it is a new version of that row.
    """

    target: TableName
    snapshot: Snapshot | None
    deletions: Deletions | None
    bounds: Sequence[Bound] = ()
    changed: int = 0
    replaces_same: bool = False


def read_sql(source: str, ordered: Ordered, *, is_kept: str, run: str) -> str:
    """The new rows, with the target's columns. A deletion has only the columns that it needs.

    ``is_kept``: the condition for kept rows. ``run``: distinguishes the views of different runs.
    """
    needed = {*ordered.keys, *ordered.fixed}
    kinds = [("UPDATE_BEFORE", _IS_BEFORE), ("UPDATE_AFTER", _IS_AFTER)] if ordered.has_deletions else []
    marks = "".join(f"{CHANGE_TYPE} = '{kind}' as {mark}, " for kind, mark in kinds)

    def value(column: Typed) -> str:
        name, type_ = sql_name(column.name), str(column.dtype)
        value = cast_sql(name, type_) if column.name in ordered.sequence or has_ends(type_) else name
        is_needed = column.name in needed or column.name in ordered.sequence
        return f"{value} as {name}" if is_needed else f"if({IS_KEPT}, {value}, null) as {name}"

    values = ", ".join(value(column) for column in ordered.columns)
    return (
        f"select {values}, {IS_KEPT}, false as {IS_NEW}, {marks}{sql_string(run)} as {RUN}\n"
        f"from (select *, {is_kept.strip()} as {IS_KEPT} from {source})"
    )


def compared_sql(read: str, ordered: Ordered, known: Known) -> str:
    """The newest of the new rows that are not late, with ``FLAW``. ``read``: the view of ``read_sql``."""
    on = " and ".join(f"{_NEW}.{sql_name(key)} <=> {_KNOWN}.{sql_name(key)}" for key in ordered.keys)
    place, row, deletion = f"struct({sql_names(ordered.sequence, _NEW)})", f"{_KNOWN}.{_ROW}", f"{_KNOWN}.{_DELETION}"
    kept = f"{_NEW}.{IS_KEPT}"
    late = (
        f"coalesce({place} < {row}, false) or coalesce(if({kept}, {place} < {deletion}, {place} <= {deletion}), false)"
    )
    cases = [(f"{kept} and {place} = {deletion}", Flaw.SAME_AS_DELETION)]
    if not known.replaces_same:
        cases.insert(0, (f"{kept} and {place} = {row}", Flaw.SAME_AS_ROW))
    if not ordered.deletes_same:
        cases.append((f"not {kept} and {place} = {row}", Flaw.DELETES_SAME))
    flawed = " ".join(f"when {case} then {sql_string(flaw.value)}" for case, flaw in cases)
    unknown, missing = f"coalesce({_KNOWN}.{_UNKNOWN}, false)", f"{_NEW}.{FLAW} <=> {sql_string(Flaw.MISSING.value)}"
    return (
        f"select {sql_names(ordered.names, _NEW)}, {kept}, {_NEW}.{RUN},"
        f" case when {_NEW}.{FLAW} is not null then {_NEW}.{FLAW}"
        f" when {unknown} then {sql_string(Flaw.MISSING_IN_TABLE.value)} {flawed} end as {FLAW}\n"
        f"from ({_first(read, ordered)}) as {_NEW}\n"
        f"left join ({_known_sql(read, ordered, known)}) as {_KNOWN} on {on}\n"
        f"where {missing} or {unknown} or not ({late})"
    )


def newest_sql(read: str, compared: str, ordered: Ordered) -> str:
    """The rows to write and delete, with the columns of ``changelog.view_sql``."""
    columns = f"{sql_names(ordered.names)}, {IS_KEPT}, false as {IS_NEW}, {RUN}"
    newest = f"select {columns} from {compared} where {FLAW} is null"
    if ordered.has_deletions:
        return newest
    return f"{newest} union all select {columns} from {read} where {has_null(ordered.keys)}"


def built_sql(read: str, ordered: Ordered, model: str) -> str:
    """The rows of a table that is built as a whole. The query fails if the order of a row cannot be determined."""
    columns = sql_names(ordered.names)
    rows = f"select {columns} from ({_first(read, ordered)}) where {IS_KEPT} and {_raised(ordered, model)}"
    if ordered.has_deletions:
        return rows
    return f"{rows} union all select {columns} from {read} where {has_null(ordered.keys)}"


def any_deletion_sql(read: str) -> str:
    """The query that returns a row if there may be deletions to record. It is fast if all rows are INSERTs."""
    return f"select 1 from {read} where not {IS_KEPT} limit 1"


def built_deletions_sql(read: str, ordered: Ordered, model: str) -> str:
    """The deletions to record for a table that is built as a whole. The query fails as that of ``built_sql`` does."""
    columns = sql_names(ordered.identifying)
    return f"select {columns} from ({_first(read, ordered)}) where not {IS_KEPT} and {_raised(ordered, model)}"


def deletions_sql(newest: str, ordered: Ordered) -> str:
    """The deletions that a run applies. ``newest``: the view of ``newest_sql``."""
    return f"select {sql_names(ordered.identifying)} from {newest} where not {IS_KEPT}"


def flaws_sql(compared: str) -> str:
    """The query for the flaws that occur."""
    return f"select distinct {FLAW} from {compared} where {FLAW} is not null"


def flawed_sql(compared: str, keys: Sequence[str], flaw: Flaw) -> str:
    """The query for keys with a flaw, with the columns of ``unique_keys.duplicates_sql``."""
    return first_keys_sql(
        f"select {shown(keys)} as key, count(*) as times from {compared}"
        f" where {FLAW} = {sql_string(flaw.value)} group by {sql_names(keys)}"
    )


def differing_sql(compared: str, ordered: Ordered, known: Known) -> str:
    """The query for keys whose new row has the sequence of the table's row, but other values.

    The table is read as a branch, which has the columns that were added since its last commit. Its name then also
    differs from that of the snapshot that ``compared`` reads.
    """
    names = ordered.names
    tied = f"(select * from {compared} where {FLAW} = {sql_string(Flaw.SAME_AS_ROW.value)})"
    same = same_key(TARGET, _CHANGED, ordered.identifying, ordered.types_of(ordered.identifying), nulls=True)
    hint = broadcast(_CHANGED, known.changed, ordered.types_of(ordered.identifying))
    table = (
        f"select {hint}{sql_names(names, TARGET)} from {known.target.branch_sql(MAIN)} as {TARGET}"
        f" left semi join {tied} as {_CHANGED} on {same}"
    )
    rows = distinct_sql(f"(select {sql_names(names)} from {tied} union all {table})", ordered.columns)
    return duplicates_sql(f"({rows})", ordered.keys, nulls=True)


def _first(read: str, ordered: Ordered) -> str:
    """The newest rows and deletions of each key, with ``FLAW`` if the newest cannot be determined.

    An UPDATE_BEFORE is the deletion of its key, unless a kept row of the key has the same sequence. With
    ``deletes_same``, it is ignored if its key also has an UPDATE_AFTER, which is the new version of the row even if its
    sequence is older. Equal rows count as one row.
    """
    keys, missing = sql_names(ordered.keys), has_null(ordered.sequence)
    order = ", ".join([f"({missing}) desc", *(f"{sql_name(name)} desc" for name in ordered.sequence)])
    rows = read if ordered.has_deletions else f"(select * from {read} where not ({has_null(ordered.keys)}))"
    if ordered.deletes_same:
        rows = f"(select *, max({_IS_AFTER}) over (partition by {keys}) as {_HAS_AFTER} from {rows})"
        rows = f"(select * from {rows} where not ({_IS_BEFORE} and {_HAS_AFTER}))"
    placed = f"(select *, rank() over (partition by {keys} order by {order}) as {_PLACE} from {rows})"
    rows = f"(select * from {placed} where {_PLACE} = 1)"
    if ordered.has_deletions:
        rows = f"(select *, max({IS_KEPT}) over (partition by {keys}) as {_HAS_KEPT} from {rows})"
        rows = f"(select * from {rows} where not ({_IS_BEFORE} and {_HAS_KEPT}))"
    newest = distinct_sql(rows, ordered.columns, IS_KEPT, RUN)
    return (
        f"select *, case when {missing} then {sql_string(Flaw.MISSING.value)}"
        f" when count(*) over (partition by {keys}) > 1 then {sql_string(Flaw.TIED.value)} end as {FLAW}"
        f" from ({newest})"
    )


def _known_sql(read: str, ordered: Ordered, known: Known) -> str:
    """The sequences of each changed key's row and last deletion."""
    keys, columns = sql_names(ordered.keys), sql_names(ordered.identifying)
    place = f"struct({sql_names(ordered.sequence)})"
    parts = []
    if known.snapshot is not None:
        bounds = [bound.sql for bound in known.bounds]
        rows = known.target.at_sql(known.snapshot.snapshot_id, has_other_names=known.snapshot.has_other_names)
        parts.append(_changed(rows, "true", bounds, read, ordered, known))
    if known.deletions is not None:
        bounds = [bound.sql for bound in known.bounds if bound.column in ordered.keys]
        parts.append(_changed(recorded_sql(known.deletions), "false", bounds, read, ordered, known))
    if not parts:
        parts.append(f"select {columns}, true as {_ROW} from {read} where false")
    return (
        f"select {keys}, max(if({_ROW}, {place}, null)) as {_ROW}, max(if({_ROW}, null, {place})) as {_DELETION},"
        f" max({has_null(ordered.sequence)}) as {_UNKNOWN} from ({' union all '.join(parts)}) group by {keys}"
    )


def _changed(table: str, is_row: str, bounds: Sequence[str], read: str, ordered: Ordered, known: Known) -> str:
    """The keys and sequences of a table's rows whose keys have new rows."""
    types = ordered.types_of(ordered.keys)
    same = same_key(TARGET, _CHANGED, ordered.keys, types, nulls=ordered.has_deletions)
    pairs = zip(ordered.identifying, ordered.types_of(ordered.identifying), strict=True)
    values = ", ".join(
        f"{cast_sql(f'{TARGET}.{sql_name(name)}', type_)} as {sql_name(name)}"
        if name in ordered.sequence
        else f"{TARGET}.{sql_name(name)}"
        for name, type_ in pairs
    )
    where = f" where {' and '.join(bounds)}" if bounds else ""
    return (
        f"select {broadcast(_CHANGED, known.changed, types)}{values}, {is_row} as {_ROW} from {table} as {TARGET}"
        f" left semi join (select distinct {sql_names(ordered.keys)} from {read}) as {_CHANGED} on {same}{where}"
    )


def distinct_sql(rows: str, columns: Sequence[Typed], *more: str, marks: Sequence[str] = ()) -> str:
    """Rows without duplicates. ``more``: additional columns by which they are compared.

    ``marks``: aggregates of the rows that are equal.
    """
    values, groups = [*more, *marks], [*more]
    for column in columns:
        name = sql_name(column.name)
        form = comparable_sql(name, as_written(str(column.dtype)))
        values.append(name if form == name else f"any_value({name}) as {name}")
        groups.append(form)
    return f"select {', '.join(values)} from {rows} group by {', '.join(groups)}"


def sound_condition(errors: Mapping[Flaw, _Error], model: str, keys: Sequence[str], sequence: Sequence[str]) -> str:
    """The condition that fails for a row whose order cannot be determined. ``errors``: the error for each flaw."""
    cases = [f"when {FLAW} is null then true"]
    for flaw, error in errors.items():
        failure = raise_error_sql(partial(error, model, keys, sequence), shown(keys))
        cases.append(f"when {FLAW} = {sql_string(flaw.value)} then {failure}")
    return f"case {' '.join(cases)} end"


def _raised(ordered: Ordered, model: str) -> str:
    """As ``sound_condition``, for a new row among only new rows."""
    errors = {flaw: ERRORS[flaw] for flaw in (Flaw.MISSING, Flaw.TIED)}
    return sound_condition(errors, model, ordered.keys, ordered.sequence)

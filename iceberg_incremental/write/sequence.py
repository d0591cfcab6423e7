"""The order within a key (``sequence_by``): which new rows are the newest of their keys, as SQL.

Three views follow one from the other. ``read_sql``: what the model's SQL gives. ``compared_sql``: the newest of each
key that are not late, with the ``FLAW`` of those whose place in the order is not known. ``newest_sql``: what is to be
written, when the flawed rows have been looked at.

Of the table, only the keys that have new rows are read, in the columns of key and sequence: they are broadcast, and the
table is not shuffled. Deletions that earlier runs have applied are in a table beside it. A row that comes late is older
than one of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from ..errors import SequenceError
from ..explain import sequence_errors
from ..expose.groups import broadcast
from ..expose.same_key import same_key
from ..expose.value_range import has_ends
from ..plan.ranges import CHANGE_TYPE
from ..sql import sql_name, sql_names, sql_string
from ..table.checkpoint import Deletions
from ..table.history import MAIN, TableName
from ..table.types import is_comparable
from .changelog import IS_KEPT, IS_NEW, RUN, Bound
from .columns import Typed
from .deletions import pinned_sql, recorded_sql
from .ordered import Ordered, cast_sql, has_null
from .replacement import TARGET
from .unique_keys import duplicates_sql, first_keys_sql, shown

FLAW = "DBT_INTERNAL_FLAW"
"""The column of ``compared_sql`` that says why a row's place in the order is not known; NULL where it is."""

_IS_BEFORE, _IS_AFTER, _PLACE = "DBT_INTERNAL_IS_BEFORE", "DBT_INTERNAL_IS_AFTER", "DBT_INTERNAL_PLACE"
_HAS_KEPT, _HAS_AFTER = "DBT_INTERNAL_HAS_KEPT", "DBT_INTERNAL_HAS_AFTER"
_ROW, _DELETION, _UNKNOWN = "DBT_INTERNAL_ROW", "DBT_INTERNAL_DELETION", "DBT_INTERNAL_UNKNOWN"
_NEW, _KNOWN, _CHANGED = "DBT_INTERNAL_SOURCE", "DBT_INTERNAL_KNOWN", "DBT_INTERNAL_CHANGED"
# to_json cuts times to milliseconds by itself
JSON_OPTIONS = "map('ignoreNullFields', 'false', 'timestampFormat', '{0}XXX', 'timestampNTZFormat', '{0}')".format(
    "yyyy-MM-dd HH:mm:ss.SSSSSS"
)

_Error = Callable[[str, Sequence[str], Sequence[str], str], SequenceError]


class Flaw(str, Enum):
    """Why the place of a row in the order is not known."""

    MISSING = "missing"
    """It has NULL in the sequence."""

    MISSING_IN_TABLE = "missing in table"
    """The table's row of its key has."""

    TIED = "tied"
    """Another new row of its key has the same sequence."""

    SAME_AS_ROW = "same as row"
    """The table's row of its key has the same sequence: an error unless it is the same row."""

    DELETES_SAME = "deletes same"
    """It is a deletion, and the table's row of its key has the same sequence."""

    SAME_AS_DELETION = "same as deletion"
    """The last deletion of its key has the same sequence."""


ERRORS: dict[Flaw, _Error] = {
    Flaw.MISSING: sequence_errors.null_in_sequence,
    Flaw.MISSING_IN_TABLE: sequence_errors.null_in_sequence_of_table,
    Flaw.TIED: sequence_errors.tied,
    Flaw.SAME_AS_ROW: sequence_errors.tied_with_row,
    Flaw.DELETES_SAME: sequence_errors.tied_deletion,
    Flaw.SAME_AS_DELETION: sequence_errors.tied_with_deletion,
}
"""The error of each flaw, for the model, the key, the sequence, and the keys that were found."""


@dataclass(frozen=True)
class Known:
    """Where the rows and deletions are that new rows are compared with; None where there are none yet.

    ``snapshot_id``: the target's head when the comparison began. ``bounds``: hold for all rows of the changed keys;
    ``changed``: how many keys these are. ``replaces_same``: whether a new row replaces the table's row of its key with
    the same sequence, because it is a new version of it.
    """

    target: TableName
    snapshot_id: int | None
    deletions: Deletions | None
    bounds: Sequence[Bound] = ()
    changed: int = 0
    replaces_same: bool = False


def read_sql(source: str, ordered: Ordered, *, is_kept: str, run: str) -> str:
    """The new rows in the target's columns. A deletion has only those that it needs.

    ``is_kept``: the expression that says which rows are kept. ``run``: tells the views of one run from others.
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
    """What is to be written and deleted, with the columns of ``changelog.view_sql``."""
    columns = f"{sql_names(ordered.names)}, {IS_KEPT}, false as {IS_NEW}, {RUN}"
    newest = f"select {columns} from {compared} where {FLAW} is null"
    if ordered.has_deletions:
        return newest
    return f"{newest} union all select {columns} from {read} where {has_null(ordered.keys)}"


def built_sql(read: str, ordered: Ordered, model: str) -> str:
    """The rows of a table that is built as a whole; fails where the place of one is not known."""
    columns = sql_names(ordered.names)
    rows = f"select {columns} from ({_first(read, ordered)}) where {IS_KEPT} and {_raised(ordered, model)}"
    if ordered.has_deletions:
        return rows
    return f"{rows} union all select {columns} from {read} where {has_null(ordered.keys)}"


def any_deletion_sql(read: str) -> str:
    """The query that gives a row where there may be deletions to remember; it is quick where all rows are INSERTs."""
    return f"select 1 from {read} where not {IS_KEPT} limit 1"


def built_deletions_sql(read: str, ordered: Ordered, model: str) -> str:
    """The deletions that are remembered of a table that is built as a whole; fails as ``built_sql`` does."""
    columns = sql_names(ordered.identifying)
    return f"select {columns} from ({_first(read, ordered)}) where not {IS_KEPT} and {_raised(ordered, model)}"


def deletions_sql(newest: str, ordered: Ordered) -> str:
    """The deletions that a run applies; ``newest``: the view of ``newest_sql``."""
    return f"select {sql_names(ordered.identifying)} from {newest} where not {IS_KEPT}"


def flaws_sql(compared: str) -> str:
    """The query for the flaws that there are."""
    return f"select distinct {FLAW} from {compared} where {FLAW} is not null"


def flawed_sql(compared: str, keys: Sequence[str], flaw: Flaw) -> str:
    """The query for keys with a flaw; gives what ``unique_keys.duplicates_sql`` does."""
    return first_keys_sql(
        f"select {shown(keys)} as key, count(*) as times from {compared}"
        f" where {FLAW} = {sql_string(flaw.value)} group by {sql_names(keys)}"
    )


def differing_sql(compared: str, ordered: Ordered, known: Known) -> str:
    """The query for keys of which the new row has the sequence of the table's row, and is another row.

    The table is read as a branch, which has the columns that were added since its last commit, and a name of its own
    next to the snapshot that ``compared`` reads.
    """
    names = ordered.names
    tied = f"(select * from {compared} where {FLAW} = {sql_string(Flaw.SAME_AS_ROW.value)})"
    same = same_key(TARGET, _CHANGED, ordered.identifying, ordered.types_of(ordered.identifying), nulls=True)
    hint = broadcast(_CHANGED, known.changed, ordered.types_of(ordered.identifying))
    table = (
        f"select {hint}{sql_names(names, TARGET)} from {known.target.sql}.{sql_name(f'branch_{MAIN}')} as {TARGET}"
        f" left semi join {tied} as {_CHANGED} on {same}"
    )
    rows = distinct_sql(f"(select {sql_names(names)} from {tied} union all {table})", ordered.columns)
    return duplicates_sql(f"({rows})", ordered.keys, nulls=True)


def _first(read: str, ordered: Ordered) -> str:
    """The newest rows and deletions of each key, with ``FLAW`` where it is not known which of them that is.

    An UPDATE_BEFORE is the deletion of its key, unless a row that is kept is as new. Where it has the sequence of the
    row as it was, an UPDATE_AFTER of its key is the new version of its row, even if the source gave that an older
    sequence. Rows that are the same are one row.
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
    """What is known of each changed key: the sequence of its row and of its last deletion."""
    keys, columns = sql_names(ordered.keys), sql_names(ordered.identifying)
    place = f"struct({sql_names(ordered.sequence)})"
    parts = []
    if known.snapshot_id is not None:
        bounds = [bound.sql for bound in known.bounds]
        parts.append(_changed(pinned_sql(known.target, known.snapshot_id), "true", bounds, read, ordered, known))
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
    """Rows of which those that are the same are one. ``more``: columns to compare them by besides.

    ``marks``: aggregates of those that are the same.
    """
    values, groups = [*more, *marks], [*more]
    for column in columns:
        name = sql_name(column.name)
        if is_comparable(str(column.dtype)):
            values.append(name)
            groups.append(name)
        else:
            values.append(f"any_value({name}) as {name}")
            groups.append(f"to_json(struct({name}), {JSON_OPTIONS})")
    return f"select {', '.join(values)} from {rows} group by {', '.join(groups)}"


def _raised(ordered: Ordered, model: str) -> str:
    """The condition that fails for a row whose place is not known."""
    cases = [f"when {FLAW} is null then true"]
    for flaw in (Flaw.MISSING, Flaw.TIED):
        before, after = ERRORS[flaw](model, ordered.keys, ordered.sequence, "\0").msg.split("\0")
        message = f"concat({sql_string(before)}, {shown(ordered.keys)}, {sql_string(after)})"
        cases.append(f"when {FLAW} = {sql_string(flaw.value)} then raise_error({message})")
    return f"case {' '.join(cases)} end"

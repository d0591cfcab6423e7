"""The strategy ``history`` from a log: the versions that the events of a log create, end or change, as SQL.

An event is a row of a key at its sequence, or its deletion. The versions of a key are computed from all of its events,
so the order of arrival does not matter. Some earlier events are visible as versions. The others are recorded in a
separate table: ``hidden_sql`` returns the events to record. ``events_sql``, ``line_sql``, ``placed_sql``,
``versions_sql``, ``changes_sql`` and ``merge_sql`` build on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ...explain import history_errors, sequence_errors
from ...expose.groups import broadcast
from ...expose.same_key import same_key
from ...expose.value_range import type_name
from ...plan.ranges import CHANGE_TYPE
from ...plan.versions_config import HardDeletes
from ...sql import sql_name, sql_names, sql_string
from ..columns.table_columns import Column, Typed, key_columns
from ..columns.unique_keys import raise_error_sql, shown
from ..order.ordered import cast_sql
from ..order.sequence import FLAW, Flaw, distinct_sql, sound_condition
from ..strategies.apply_changes import IS_KEPT_SQL
from ..strategies.changelog import IS_KEPT, IS_NEW, RUN, Bound
from ..strategies.merge import SOURCE, TARGET
from .versioned import VersionedRows, compared

_STORED, _IS_ROW, _TRACKED = "DBT_INTERNAL_STORED", "DBT_INTERNAL_IS_ROW", "DBT_INTERNAL_TRACKED"
_STARTS, _VERSION, _BEGIN, _END = (f"DBT_INTERNAL_{each}" for each in ("STARTS", "VERSION", "BEGIN", "END"))
_VALUES, _WAS_VALUES, _WAS_ROW = (f"DBT_INTERNAL_{each}" for each in ("VALUES", "WAS_VALUES", "WAS_ROW"))
_UPDATED, _IS_OLD, _OLD, _NEW = (f"DBT_INTERNAL_{each}" for each in ("UPDATED", "IS_OLD", "OLD", "NEW"))
_ALL, _FOUND, _GONE, _ID = (f"DBT_INTERNAL_{each}" for each in ("ALL", "FOUND", "GONE", "ID"))
_ROW, _BEFORE = "'INSERT'", "'UPDATE_BEFORE'"

FLAWS = {Flaw.MISSING: sequence_errors.null_in_sequence, Flaw.TIED: history_errors.tied_events}
"""The error for each flaw of an event. Its arguments are the model, the key, the sequence, and the keys found."""


@dataclass(frozen=True)
class EventRows(VersionedRows):
    """The rows of one run of a history table that are created from the events of a log."""

    @property
    def sequence(self) -> str:
        """The column whose values start and end versions."""
        assert self.config.sequence_by is not None
        (name,) = key_columns(self.columns, (self.config.sequence_by,), "sequence_by")
        return name

    @property
    def time_type(self) -> str:
        """The type of the sequence."""
        return next(type_name(str(each.dtype)) for each in self.columns if each.name == self.sequence)

    @property
    def tracked(self) -> tuple[Typed, ...]:
        """The columns whose changes create a version. The sequence alone creates none, unless it is listed."""
        found = super().tracked
        return found if self.config.check_cols else tuple(each for each in found if each.name != self.sequence)

    @property
    def remembered(self) -> tuple[Typed, ...]:
        """The columns that are recorded for an event."""
        return (*self.columns, Column(CHANGE_TYPE, "string"))

    @property
    def identifying(self) -> tuple[Typed, ...]:
        """The columns that must have been recorded for an event."""
        names = {*self.keys, self.sequence}
        return (*(each for each in self.columns if each.name in names), Column(CHANGE_TYPE, "string"))

    @property
    def meta_names(self) -> list[str]:
        """The names of the columns that the table has in addition to the model's columns."""
        return [name for name, _ in self.config.meta_columns()]

    @property
    def line(self) -> str:
        """The window over a key's events, in order."""
        return f"over (partition by {sql_names(self.keys)} order by {sql_name(self.sequence)})"


def events_sql(log: str, rows: EventRows, run: str) -> str:
    """The new events, with the table's columns. A deletion has only its key and sequence.

    ``run``: distinguishes the views of different runs.
    """
    needed = {*rows.keys, rows.sequence}

    def value(column: Typed) -> str:
        name = sql_name(column.name)
        value = cast_sql(name, str(column.dtype))
        return f"{value} as {name}" if column.name in needed else f"if({IS_KEPT}, {value}, null) as {name}"

    values = ", ".join(map(value, rows.columns))
    only_kept = f" where {IS_KEPT}" if rows.config.hard_deletes is HardDeletes.IGNORE else ""
    return (
        f"select {values}, if({IS_KEPT}, {_ROW}, {CHANGE_TYPE}) as {CHANGE_TYPE}, {IS_KEPT}, false as {IS_NEW},"
        f" {sql_string(run)} as {RUN} from (select *, {IS_KEPT_SQL} as {IS_KEPT} from {log}){only_kept}"
    )


def of_changed_sql(
    rows: EventRows,
    relation: str,
    names: Sequence[str],
    events: str,
    *,
    changed: int,
    nulls: bool,
    bounds: Sequence[Bound],
) -> str:
    """The rows of a relation whose keys have new events.

    ``events``: the view of ``events_sql``. ``changed``: its number of keys. ``nulls``: whether a key may be NULL.
    ``bounds``: satisfied by all rows of these keys.
    """
    same = same_key(TARGET, SOURCE, rows.keys, rows.key_types, nulls=nulls)
    keys = f"(select distinct {sql_names(rows.keys)} from {events})"
    hint = broadcast(SOURCE, changed, rows.key_types)
    where = " and ".join(
        [*(bound.sql for bound in bounds), f"exists (select {hint}1 from {keys} as {SOURCE} where {same})"]
    )
    return f"select {sql_names(names, TARGET)} from {relation} as {TARGET} where {where}"


def line_sql(events: str, rows: EventRows, known: str | None = None, hidden: str | None = None) -> str:
    """The distinct events of all keys with new events, with ``FLAW`` if their order cannot be determined.

    ``known``: the relation of the versions of these keys. ``hidden``: the relation of their recorded events. Either is
    None if there is none.
    """
    listed, keys = sql_names(rows.names), sql_names(rows.keys)
    parts = [f"select {listed}, {CHANGE_TYPE}, false as {_STORED} from {events}"]
    if known is not None:
        parts.append(f"select {listed}, {_ROW} as {CHANGE_TYPE}, false as {_STORED} from {known} where {rows.is_row}")
    if hidden is not None:
        values = ", ".join(
            f"{cast_sql(sql_name(each.name), str(each.dtype))} as {sql_name(each.name)}" for each in rows.columns
        )
        parts.append(f"select {values}, {CHANGE_TYPE}, true as {_STORED} from {hidden}")
    once = distinct_sql(
        f"({' union all '.join(parts)})", rows.columns, CHANGE_TYPE, marks=[f"bool_or({_STORED}) as {_STORED}"]
    )
    at_once = f"over (partition by {keys}, {sql_name(rows.sequence)})"
    # An UPDATE_BEFORE is the deletion of its key, unless the key has a row with the same sequence.
    return (
        f"select * except ({_IS_ROW}), case"
        f" when {sql_name(rows.sequence)} is null then {sql_string(Flaw.MISSING.value)}"
        f" when count_if({CHANGE_TYPE} <> {_BEFORE}) {at_once} > 1 then {sql_string(Flaw.TIED.value)} end as {FLAW}"
        f" from (select *, bool_or({CHANGE_TYPE} = {_ROW}) {at_once} as {_IS_ROW} from ({once}))"
        f" where {CHANGE_TYPE} <> {_BEFORE} or not {_IS_ROW}"
    )


def sound_sql(line: str, rows: EventRows, model: str) -> str:
    """The events of ``line_sql``. The query fails for an event whose order cannot be determined."""
    return f"select * from ({line}) where {sound_condition(FLAWS, model, rows.keys, [rows.sequence])}"


def placed_sql(line: str, rows: EventRows) -> str:
    """The events with the number of their version. ``line``: a relation, or a query in parentheses.

    Adjacent events without a tracked change form one version, and so do adjacent deletions.
    """
    in_order = rows.line
    judged = (
        f"select *, {CHANGE_TYPE} = {_ROW} as {_IS_ROW}, struct({compared(rows.tracked)}) as {_TRACKED} from {line}"
    )
    started = (
        f"select *, case when lag({_IS_ROW}) {in_order} is null or lag({_IS_ROW}) {in_order} <> {_IS_ROW} then true"
        f" when not {_IS_ROW} then false else not (lag({_TRACKED}) {in_order} <=> {_TRACKED}) end as {_STARTS}"
        f" from ({judged})"
    )
    return f"select *, count_if({_STARTS}) {in_order} as {_VERSION} from ({started})"


def hidden_sql(placed: str, rows: EventRows) -> str:
    """The events to record: events whose values no version has, and which are not recorded yet."""
    latest = f"max({sql_name(rows.sequence)}) over (partition by {sql_names(rows.keys)}, {_VERSION})"
    names = sql_names([each.name for each in rows.remembered])
    return (
        f"select {names} from (select *, {latest} as {_UPDATED} from ({placed}))"
        f" where not {_STORED} and not ({_IS_ROW} and {sql_name(rows.sequence)} = {_UPDATED})"
    )


def versions_sql(placed: str, rows: EventRows) -> str:
    """The versions of the events, with the columns of the table."""
    keys, sequence, meta = sql_names(rows.keys), sql_name(rows.sequence), rows.config.names
    grouped = (
        f"select {keys}, {_VERSION}, bool_or({_IS_ROW}) as {_IS_ROW}, min({sequence}) as {_BEGIN},"
        f" max({sequence}) as {_UPDATED}, max_by(struct({sql_names(rows.names)}), {sequence}) as {_VALUES}"
        f" from ({placed}) group by {keys}, {_VERSION}"
    )
    by_version = f"over (partition by {keys} order by {_VERSION})"
    versions = (
        f"select *, lead({_BEGIN}) {by_version} as {_END}, lag({_IS_ROW}) {by_version} as {_WAS_ROW},"
        f" lag({_VALUES}) {by_version} as {_WAS_VALUES} from ({grouped})"
    )
    values = f"if({_IS_ROW}, {_VALUES}, {_WAS_VALUES})" if rows.has_deleted else _VALUES
    found = [f"{values}.{sql_name(name)} as {sql_name(name)}" for name in rows.names]
    scd_id = rows.scd_id(f"'begin', {_BEGIN}", *([_BEGIN] if rows.time_type == "string" else []))
    found += [
        f"{scd_id} as {sql_name(meta.dbt_scd_id)}",
        f"if({_IS_ROW}, {_UPDATED}, {_BEGIN}) as {sql_name(meta.dbt_updated_at)}",
        f"{_BEGIN} as {sql_name(meta.dbt_valid_from)}",
        f"coalesce({_END}, {rows.current_end}) as {sql_name(meta.dbt_valid_to)}",
    ]
    if rows.has_deleted:
        found.append(f"if({_IS_ROW}, 'False', 'True') as {sql_name(meta.dbt_is_deleted)}")
    is_version = f"({_IS_ROW} or {_WAS_ROW})" if rows.has_deleted else _IS_ROW
    return f"select {', '.join(found)} from ({versions}) where {is_version}"


def changes_sql(versions: str, known: str, rows: EventRows) -> str:
    """The changes to the table's versions. ``known``: the relation of these versions.

    Versions of a key that begin at the same time are the same version. Unchanged versions are omitted.
    """
    meta, keys = rows.config.names, sql_names(rows.keys)
    begin, listed = sql_name(meta.dbt_valid_from), sql_names(rows.all_names)
    others = [name for name in rows.meta_names if name != meta.dbt_scd_id]
    values = f"struct({compared(rows.columns)}, {sql_names(others)})"
    both = (
        f"select {listed}, false as {_IS_OLD} from ({versions})"
        f" union all select {listed}, true as {_IS_OLD} from {known}"
    )
    paired = (
        f"select {keys}, {begin}, count_if({_IS_OLD}) as {_OLD}, count_if(not {_IS_OLD}) as {_NEW},"
        f" max_by({sql_name(meta.dbt_scd_id)}, if({_IS_OLD}, 1, null)) as {_ID},"
        f" max_by({_VALUES}, if({_IS_OLD}, null, 1)) as {_VALUES},"
        f" max_by({_ALL}, if({_IS_OLD}, 1, null)) <=> max_by({_ALL}, if({_IS_OLD}, null, 1)) as {_ALL}"
        f" from (select *, struct({listed}) as {_VALUES}, {values} as {_ALL} from ({both})) group by {keys}, {begin}"
    )

    def value(name: str) -> str:
        if name == meta.dbt_scd_id:
            return f"if({_OLD} > 0, {_ID}, {_VALUES}.{sql_name(name)})"
        return sql_name(name) if name in rows.keys else f"{_VALUES}.{sql_name(name)}"

    found = [f"{value(name)} as {sql_name(name)}" for name in rows.all_names]
    several = raise_error_sql(partial(history_errors.several_at_once, "the table", rows.keys), shown(rows.keys))
    return (
        f"select {', '.join(found)}, {_OLD} > 0 as {_FOUND}, {_NEW} = 0 as {_GONE} from ({paired})"
        f" where case when {_OLD} > 1 then {several} else not {_ALL} end"
    )


def merge_sql(table: str, changes: str, rows: EventRows, bounds: Sequence[Bound] = ()) -> str:
    """The MERGE of the versions of ``changes_sql``."""
    scd_id = sql_name(rows.config.names.dbt_scd_id)
    conditions = [rows.is_same_version, *(bound.sql for bound in bounds)]
    values = ", ".join(f"{sql_name(name)} = {SOURCE}.{sql_name(name)}" for name in rows.all_names)
    # A version that was read must be found again, and a new version must not exist.
    message = sql_string(f"{rows.config.names.dbt_scd_id} does not identify a version: it is ")
    lost = f"raise_error(concat({message}, coalesce({SOURCE}.{scd_id}, 'NULL')))"
    return "\n".join(
        [
            f"merge into {table} as {TARGET}",
            f"using (\n{changes}\n) as {SOURCE}",
            f"on {' and '.join(conditions)}",
            f"when matched and {SOURCE}.{_GONE} then delete",
            f"when matched and case when {SOURCE}.{_FOUND} then true else {lost} end then update set {values}",
            f"when not matched and case when {SOURCE}.{_FOUND} then {lost} else true end"
            f" then insert ({sql_names(rows.all_names)})\n    values ({sql_names(rows.all_names, SOURCE)})",
        ]
    )

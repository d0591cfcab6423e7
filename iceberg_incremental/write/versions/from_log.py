"""The strategy ``history`` from a log: the versions that the events of a log create, end or change, as SQL.

An event is a row of a key at its sequence, or its deletion. The versions of a key are computed from all of its events,
so the order of arrival does not matter. Some earlier events are visible as versions. The others are recorded in a
separate table: ``hidden_sql`` returns the events to record. ``events_sql``, ``line_sql``, ``placed_sql`` of
``versions_of_events``, ``versions_sql`` and ``changes_sql`` build on each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from ...explain import history_errors, sequence_errors
from ...expose.value_range import type_name
from ...plan.ranges import CHANGE_TYPE
from ...plan.versions_config import HardDeletes
from ...sql import sql_name, sql_names, sql_string
from ..columns.table_columns import Column, Typed, key_columns
from ..columns.unique_keys import raise_error_sql, shown
from ..order.ordered import cast_sql, casts_sql
from ..order.sequence import FLAW, Flaw, distinct_sql, sound_condition
from ..strategies.apply_changes import IS_KEPT_SQL
from ..strategies.changelog import IS_KEPT, IS_NEW, RUN
from . import versions_of_events
from .statements import IS_GONE, IS_OLD
from .versioned import VersionedRows, compared
from .versions_of_events import BEGIN, ID, IS_ROW, UPDATED, VERSION

_STORED, _HAS_ROW, _LATEST = "DBT_INTERNAL_STORED", "DBT_INTERNAL_HAS_ROW", "DBT_INTERNAL_LATEST"
_VALUES, _ALL, _OLD, _NEW = (f"DBT_INTERNAL_{each}" for each in ("VALUES", "ALL", "OLD", "NEW"))
_ROW, _BEFORE = "'INSERT'", "'UPDATE_BEFORE'"

FLAWS = {Flaw.MISSING: sequence_errors.null_in_sequence, Flaw.TIED: history_errors.tied_events}
"""The error for each flaw of an event. Its arguments are the model, the key, the sequence, and the keys found."""


@dataclass(frozen=True)
class EventRows(VersionedRows):
    """The rows of one run of a history table that are created from the events of a log."""

    reads_ended: ClassVar[bool] = True

    @property
    def sequence(self) -> str:
        """The column whose values start and end versions."""
        assert self.config.sequence_by is not None
        (name,) = key_columns(self.columns, (self.config.sequence_by,), "sequence_by")
        return name

    @property
    def order(self) -> str:
        """The sequence."""
        return sql_name(self.sequence)

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
        parts.append(f"select {casts_sql(rows.columns)}, {CHANGE_TYPE}, true as {_STORED} from {hidden}")
    once = distinct_sql(
        f"({' union all '.join(parts)})", rows.columns, CHANGE_TYPE, marks=[f"bool_or({_STORED}) as {_STORED}"]
    )
    at_once = f"over (partition by {keys}, {rows.order})"
    # An UPDATE_BEFORE is the deletion of its key, unless the key has a row with the same sequence.
    return (
        f"select * except ({_HAS_ROW}), {CHANGE_TYPE} = {_ROW} as {IS_ROW}, case"
        f" when {rows.order} is null then {sql_string(Flaw.MISSING.value)}"
        f" when count_if({CHANGE_TYPE} <> {_BEFORE}) {at_once} > 1 then {sql_string(Flaw.TIED.value)} end as {FLAW}"
        f" from (select *, bool_or({CHANGE_TYPE} = {_ROW}) {at_once} as {_HAS_ROW} from ({once}))"
        f" where {CHANGE_TYPE} <> {_BEFORE} or not {_HAS_ROW}"
    )


def sound_sql(events: str, rows: EventRows) -> str:
    """The events of ``line_sql``. The query fails for an event whose order cannot be determined."""
    return f"select * from ({events}) where {sound_condition(FLAWS, rows.model, rows.keys, [rows.sequence])}"


def hidden_sql(placed: str, rows: EventRows) -> str:
    """The events to record: events whose values no version has, and which are not recorded yet."""
    latest = f"max({rows.order}) over (partition by {sql_names(rows.keys)}, {VERSION})"
    names = sql_names([each.name for each in rows.remembered])
    return (
        f"select {names} from (select *, {latest} as {_LATEST} from ({placed}))"
        f" where not {_STORED} and not ({IS_ROW} and {rows.order} = {_LATEST})"
    )


def versions_sql(placed: str, rows: EventRows) -> str:
    """The versions of the events, with the columns of the table."""
    begin, latest = f"min({rows.order})", f"max({rows.order})"
    scd_id = rows.scd_id(f"'begin', {begin}", *([begin] if rows.time_type == "string" else []))
    updated = f"if(max({IS_ROW}), {latest}, {begin})"
    return versions_of_events.versions_sql(placed, rows, {ID: scd_id, UPDATED: updated, BEGIN: begin})


def changes_sql(versions: str, known: str, rows: EventRows) -> str:
    """The changes to the table's versions. ``known``: the relation of these versions.

    Versions of a key that begin at the same time are the same version. Unchanged versions are omitted.
    """
    meta, keys = rows.config.names, sql_names(rows.keys)
    begin, listed = sql_name(meta.dbt_valid_from), sql_names(rows.all_names)
    others = [name for name in rows.meta_names if name != meta.dbt_scd_id]
    values = f"struct({compared(rows.columns)}, {sql_names(others)})"
    both = (
        f"select {listed}, false as {IS_OLD} from ({versions}) union all select {listed}, true as {IS_OLD} from {known}"
    )
    paired = (
        f"select {keys}, {begin}, count_if({IS_OLD}) as {_OLD}, count_if(not {IS_OLD}) as {_NEW},"
        f" max_by({sql_name(meta.dbt_scd_id)}, if({IS_OLD}, 1, null)) as {ID},"
        f" max_by({_VALUES}, if({IS_OLD}, null, 1)) as {_VALUES},"
        f" max_by({_ALL}, if({IS_OLD}, 1, null)) <=> max_by({_ALL}, if({IS_OLD}, null, 1)) as {_ALL}"
        f" from (select *, struct({listed}) as {_VALUES}, {values} as {_ALL} from ({both})) group by {keys}, {begin}"
    )

    def value(name: str) -> str:
        if name == meta.dbt_scd_id:
            return f"if({_OLD} > 0, {ID}, {_VALUES}.{sql_name(name)})"
        return sql_name(name) if name in rows.keys else f"{_VALUES}.{sql_name(name)}"

    found = [f"{value(name)} as {sql_name(name)}" for name in rows.all_names]
    several = raise_error_sql(partial(history_errors.several_at_once, "the table", rows.keys), shown(rows.keys))
    return (
        f"select {', '.join(found)}, {_OLD} > 0 as {IS_OLD}, {_NEW} = 0 as {IS_GONE} from ({paired})"
        f" where case when {_OLD} > 1 then {several} else not {_ALL} end"
    )

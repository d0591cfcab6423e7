"""The strategy ``history``: the versions that the changes of a table create, end or change, as SQL.

An event is the row of each key after a commit, or its deletion (``events_sql``). The first event of a key's line is its
valid version. Only valid versions are read, because ended versions never change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ...capture.versions_run import CommitTime
from ...explain import history_errors
from ...expose.groups import broadcast
from ...expose.same_key import same_key
from ...plan.ranges import COMMIT_ORDER
from ...plan.versions_config import HardDeletes
from ...sql import sql_name, sql_names, sql_string
from ..columns.unique_keys import first_keys_sql, raise_error_sql, raise_taken_sql, shown
from ..order.ordered import casts_sql
from ..strategies.apply_changes import IS_KEPT_SQL
from ..strategies.changelog import IS_KEPT, IS_NEW, RUN, Bound, Summary
from ..strategies.merge import SOURCE, TARGET
from . import statements, versions_of_events
from .statements import IS_OLD
from .versioned import VersionedRows, compared
from .versions_of_events import BEGIN, END, ID, IS_ROW, STARTS, TRACKED, UPDATED

ORDER = "DBT_INTERNAL_ORDER"
"""The position of an event's commit. -1 for the valid version."""
COPIES = "DBT_INTERNAL_COPIES"
"""The number of rows of a key after a commit."""
_KEPT, _VALUES, _ALL = "DBT_INTERNAL_KEPT", "DBT_INTERNAL_VALUES", "DBT_INTERNAL_ALL"
_KNOWN, _FOLLOWS = "DBT_INTERNAL_KNOWN", "DBT_INTERNAL_FOLLOWS"
_VALID, _TAKEN = "DBT_INTERNAL_VALID", "DBT_INTERNAL_TAKEN"
_IS_VALID = f"{ORDER} = -1"


@dataclass(frozen=True)
class HistoryRows(VersionedRows):
    """The rows of one run of a history table that are created from changes.

    ``added``: the names of columns that the run adds to the table, or that no run has written yet. ``commits``: the
    commits of the changes, by their order. ``salt``: makes the ids of versions of the same commit unique.
    """

    commits: tuple[CommitTime, ...] = ()
    added: frozenset[str] = frozenset()
    salt: str = ""

    @property
    def order(self) -> str:
        """The position of an event's commit."""
        return ORDER

    def time(self, order: str) -> str:
        """The time of the commit with this position in the order."""
        times = ", ".join(f"{each.time_ms}L" for each in self.commits) or "0L"
        return f"timestamp_millis(array({times})[{order}])"

    def id_at(self, order: str) -> str:
        """The id of a key's version from the commit with this position in the order."""
        ids = ", ".join(f"{each.snapshot_id}L" for each in self.commits) or "0L"
        return self.scd_id(f"'commit', array({ids})[{order}], 'salt', {sql_string(self.salt)}")


def built_sql(log: str, rows: HistoryRows) -> str:
    """The versions of a table that is built as a whole, one for each row of the source."""
    order = f"cast({COMMIT_ORDER} as int)"
    columns = rows.listed("", rows.id_at(order), rows.time(order), rows.time(order), rows.current_end, "'False'")
    return f"select {columns} from {log} where {IS_KEPT_SQL}"


def events_sql(log: str, rows: HistoryRows, run: str) -> str:
    """The row of each key after each commit, or its deletion. ``run``: distinguishes the views of different runs.

    The key of a row must be new if the commit has no old version of it, as in ``changelog.view_sql``.
    """
    keys = set(rows.keys)
    missing = f"coalesce(cast({COMMIT_ORDER} as int), raise_error('{COMMIT_ORDER} is NULL'))"
    changes = f"select {casts_sql(rows.columns)}, {missing} as {ORDER}, {IS_KEPT_SQL} as {_KEPT} from {log}"
    listed = sql_names(rows.keys)
    grouped = (
        f"select {listed}, {ORDER}, max({_KEPT}) as {IS_KEPT}, min({_KEPT}) as {IS_NEW},"
        f" count_if({_KEPT}) as {COPIES}, max_by(struct({sql_names(rows.names)}), {_KEPT}) as {_VALUES}"
        f" from ({changes}) group by {listed}, {ORDER}"
    )
    shown_values = ", ".join(
        sql_name(name) if name in keys else f"if({IS_KEPT}, {_VALUES}.{sql_name(name)}, null) as {sql_name(name)}"
        for name in rows.names
    )
    only_kept = f" where {IS_KEPT}" if rows.config.hard_deletes is HardDeletes.IGNORE else ""
    return (
        f"select {shown_values}, {ORDER}, {IS_KEPT}, {COPIES}, {IS_NEW}, {sql_string(run)} as {RUN}"
        f" from ({grouped}){only_kept}"
    )


def repeated_sql(events: str, rows: HistoryRows) -> str:
    """The query for keys with more than one row after a commit, with the columns of ``unique_keys.duplicates_sql``."""
    return first_keys_sql(f"select {shown(rows.keys)} as key, {COPIES} as times from {events} where {COPIES} > 1")


def versions_sql(table: str, events: str, rows: HistoryRows, found: Summary, *, compares: bool) -> str:
    """The new and changed versions, with the columns of the table, and ``IS_OLD``.

    ``table``: the table with the versions. ``events``: the view of ``events_sql``. ``found``: its summary.
    ``compares``: whether the events are the whole source, so that a key without an event was deleted.

    The query fails for a key with several valid versions, and for a new row of a key that already has a row.
    """
    known = [each for each in rows.tracked if each.name not in rows.added]
    judged = f"struct({compared(rows.columns)}) as {_ALL}, struct({compared(known) or 'null'}) as {_KNOWN}"
    follows_row = f"{IS_ROW} and {rows.before(IS_ROW)}"
    placed = versions_of_events.placed_sql(
        f"(select *, {judged} from ({_line(table, events, rows, found, compares=compares)}))",
        rows,
        differs=f"if({rows.before(ORDER)} = -1, {rows.differs(_KNOWN)}, {rows.differs(TRACKED)})",
        marks={_FOLLOWS: f"{follows_row} and {rows.differs(_ALL)}", _TAKEN: f"{follows_row} and {IS_NEW}"},
    )
    several = raise_error_sql(partial(history_errors.several_valid, rows.model, rows.keys), shown(rows.keys))
    return versions_of_events.versions_sql(
        placed,
        rows,
        {
            ORDER: f"min({ORDER})",
            BEGIN: f"min_by({BEGIN}, {ORDER})",
            ID: f"min_by({ID}, {ORDER})",
            UPDATED: f"max(if({STARTS} or {_FOLLOWS}, {UPDATED}, null))",
            _FOLLOWS: f"coalesce(bool_or({_FOLLOWS} and not {STARTS}), false)",
            _VALID: f"count_if({_IS_VALID})",
            _TAKEN: f"bool_or({_TAKEN})",
        },
        is_known=_IS_VALID,
        more=[f"{_IS_VALID} as {IS_OLD}"],
        cases=[
            f"when {_VALID} > 1 then {several}",
            f"when {_TAKEN} then {raise_taken_sql(rows.model, rows.keys)}",
            f"when {_IS_VALID} and {END} is null and not {_FOLLOWS} then false",
        ],
    )


def counts_sql(versions: str) -> str:
    """The query for the number of versions in the view of ``versions_sql`` that are already in the table."""
    return f"select count_if({IS_OLD}) from {versions}"


def delete_sql(table: str, versions: str, rows: HistoryRows, known: int, bounds: Sequence[Bound]) -> str:
    """The DELETE of the existing versions that have changed or ended. ``known``: their number."""
    hint = broadcast(SOURCE, known, ("string", *rows.key_types))
    changed = f"select {hint}1 from {versions} as {SOURCE} where {SOURCE}.{IS_OLD} and {rows.is_same_version}"
    return statements.delete_sql(table, rows.is_valid(TARGET), bounds, changed)


def inserted_sql(versions: str, rows: HistoryRows) -> tuple[str, str]:
    """The queries for the versions to insert: those that have ended, and those that are valid."""
    names, valid = sql_names(rows.all_names), rows.is_valid()
    return f"select {names} from {versions} where not {valid}", f"select {names} from {versions} where {valid}"


def latest_sql(table: str, rows: HistoryRows) -> str:
    """The query for the latest time at which a version began or ended, in milliseconds since the epoch."""
    names = rows.config.names
    end = f"if({rows.is_valid()}, null, {sql_name(names.dbt_valid_to)})"
    latest = f"greatest(max({sql_name(names.dbt_valid_from)}), max({end}))"
    return f"select coalesce(ceil(unix_micros({latest}) / 1000), 0) from {table}"


def _line(table: str, events: str, rows: HistoryRows, found: Summary, *, compares: bool) -> str:
    """The valid versions and the events of the keys, with their order. As in ``versions_sql``."""
    meta, names = rows.config.names, sql_names(rows.names)
    of_keys = "true" if compares else rows.of_events(events, found)
    valid = (
        f"select {sql_names(rows.names, TARGET)}, -1 as {ORDER}, {rows.is_row} as {IS_ROW},"
        f" false as {IS_NEW}, {sql_name(meta.dbt_valid_from)} as {BEGIN}, {sql_name(meta.dbt_scd_id)} as {ID},"
        f" {sql_name(meta.dbt_updated_at)} as {UPDATED} from {table} as {TARGET}"
        f" where {rows.is_valid(TARGET)} and {of_keys}"
    )
    made = f"{rows.time(ORDER)} as {BEGIN}, {rows.id_at(ORDER)} as {ID}, {rows.time(ORDER)} as {UPDATED}"
    # If all rows are compared, or deletions are ignored, a new row may replace one that was not removed.
    is_new = "false" if compares or rows.config.hard_deletes is HardDeletes.IGNORE else IS_NEW
    parts = [valid, f"select {names}, {ORDER}, {IS_KEPT} as {IS_ROW}, {is_new} as {IS_NEW}, {made} from {events}"]
    if compares and rows.config.hard_deletes is not HardDeletes.IGNORE:
        nothing = ", ".join(
            f"{TARGET}.{sql_name(each)}" if each in rows.keys else f"null as {sql_name(each)}" for each in rows.names
        )
        same = same_key(TARGET, SOURCE, rows.keys, rows.key_types, nulls=True)
        gone = (
            f"select {nothing}, 0 as {ORDER}, false as {IS_ROW}, false as {IS_NEW} from ({valid}) as {TARGET}"
            f" where {TARGET}.{IS_ROW} and not exists (select 1 from {events} as {SOURCE} where {same})"
        )
        parts.append(f"select *, {made} from ({gone})")
    return " union all ".join(parts)

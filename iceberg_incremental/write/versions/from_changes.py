"""The strategy ``history``: the versions that a run's changes create, end or change, as SQL.

Three queries build on each other. ``events_sql``: the row of each key after each commit, or its deletion.
``versions_sql``: the versions that these events form after the valid version of the key. Adjacent events without a
tracked change belong to one version. ``merge_sql``: the MERGE that writes the new and changed versions.

Only valid versions are read, because ended versions never change.
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
from ..order.ordered import cast_sql
from ..strategies.apply_changes import IS_KEPT_SQL
from ..strategies.changelog import IS_KEPT, IS_NEW, RUN, Bound
from ..strategies.merge import SOURCE, TARGET
from .versioned import VersionedRows, compared

_KEPT = "DBT_INTERNAL_KEPT"
ORDER = "DBT_INTERNAL_ORDER"
"""The position of an event's commit. -1 for the valid version."""
COPIES = "DBT_INTERNAL_COPIES"
"""The number of rows of a key after a commit."""
_IS_ROW, _BEGIN, _ID, _UPDATED = (f"DBT_INTERNAL_{each}" for each in ("IS_ROW", "BEGIN", "ID", "UPDATED"))
_VALUES, _VERSION, _STARTS, _FOLLOWS = (f"DBT_INTERNAL_{each}" for each in ("VALUES", "VERSION", "STARTS", "FOLLOWS"))
_TRACKED, _KNOWN, _ALL, _END = (f"DBT_INTERNAL_{each}" for each in ("TRACKED", "KNOWN", "ALL", "END"))
_WAS_ORDER, _WAS_ROW, _WAS_VALUES = (f"DBT_INTERNAL_WAS_{each}" for each in ("ORDER", "ROW", "VALUES"))
_VALID, _OPEN, _TAKEN = "DBT_INTERNAL_VALID", "DBT_INTERNAL_OPEN", "DBT_INTERNAL_TAKEN"


@dataclass(frozen=True)
class HistoryRows(VersionedRows):
    """The rows of one run of a history table that are created from changes.

    ``added``: the names of columns that the run adds to the table, or that no run has written yet. ``commits``: the
    commits of the changes, by their order. ``salt``: makes the ids of versions of the same commit unique. ``model``:
    the unique id, for errors.
    """

    commits: tuple[CommitTime, ...] = ()
    added: frozenset[str] = frozenset()
    salt: str = ""
    model: str = ""

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
    time, names = rows.time(order), rows.config.names
    meta = {
        names.dbt_scd_id: rows.id_at(order),
        names.dbt_updated_at: time,
        names.dbt_valid_from: time,
        names.dbt_valid_to: rows.current_end,
    }
    if rows.has_deleted:
        meta[names.dbt_is_deleted] = "'False'"
    listed = [sql_name(name) for name in rows.names] + [f"{value} as {sql_name(name)}" for name, value in meta.items()]
    return f"select {', '.join(listed)} from {log} where {IS_KEPT_SQL}"


def events_sql(log: str, rows: HistoryRows, run: str) -> str:
    """The row of each key after each commit, or its deletion. ``run``: distinguishes the views of different runs.

    The key of a row must be new if the commit has no old version of it, as in ``changelog.view_sql``.
    """
    keys = set(rows.keys)
    values = ", ".join(
        f"{cast_sql(sql_name(each.name), str(each.dtype))} as {sql_name(each.name)}" for each in rows.columns
    )
    missing = f"coalesce(cast({COMMIT_ORDER} as int), raise_error('{COMMIT_ORDER} is NULL'))"
    changes = f"select {values}, {missing} as {ORDER}, {IS_KEPT_SQL} as {_KEPT} from {log}"
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


def versions_sql(
    table: str, events: str, rows: HistoryRows, *, changed: int, nulls: bool, bounds: Sequence[Bound], compares: bool
) -> str:
    """The new and changed versions, with the columns of the table, and ``_OPEN`` for changed ones.

    ``table``: the table with the versions. ``events``: the view of ``events_sql``. ``changed``: its number of keys.
    ``nulls``: whether a key may be NULL. ``bounds``: satisfied by all rows of these keys. ``compares``: whether the
    events are the whole source, so that a key without an event was deleted.

    The query fails for a key with several valid versions, and for a new row of a key that already has a row.
    """
    keys = sql_names(rows.keys)
    by_order = f"over (partition by {keys} order by {ORDER})"
    judged_by = f"select *, struct({compared(rows.columns)}) as {_ALL}, struct({compared(rows.tracked)}) as {_TRACKED}"
    known = [each for each in rows.tracked if each.name not in rows.added]
    judged_by += f", struct({compared(known) or 'null'}) as {_KNOWN}"
    lines = f"{judged_by} from ({_line(table, events, rows, changed, nulls, bounds, compares=compares)})"
    judged = (
        f"select *, case when lag({ORDER}) {by_order} is null or lag({_IS_ROW}) {by_order} <> {_IS_ROW} then true"
        f" when not {_IS_ROW} then false"
        f" when lag({ORDER}) {by_order} = -1 then not (lag({_KNOWN}) {by_order} <=> {_KNOWN})"
        f" else not (lag({_TRACKED}) {by_order} <=> {_TRACKED}) end as {_STARTS},"
        f" {_IS_ROW} and lag({_IS_ROW}) {by_order} and not (lag({_ALL}) {by_order} <=> {_ALL}) as {_FOLLOWS},"
        f" {_IS_ROW} and lag({_IS_ROW}) {by_order} and {IS_NEW} as {_TAKEN}"
        f" from ({lines})"
    )
    numbered = f"select *, count_if({_STARTS}) {by_order} as {_VERSION} from ({judged})"
    grouped = (
        f"select {keys}, {_VERSION}, min({ORDER}) as {ORDER}, max({_IS_ROW}) as {_IS_ROW},"
        f" min_by({_BEGIN}, {ORDER}) as {_BEGIN}, min_by({_ID}, {ORDER}) as {_ID},"
        f" max(if({_STARTS} or {_FOLLOWS}, {_UPDATED}, null)) as {_UPDATED},"
        f" max_by(struct({sql_names(rows.names)}), {ORDER}) as {_VALUES},"
        f" coalesce(bool_or({_FOLLOWS} and not {_STARTS}), false) as {_FOLLOWS}, count_if({ORDER} = -1) as {_VALID},"
        f" bool_or({_TAKEN}) as {_TAKEN}"
        f" from ({numbered}) group by {keys}, {_VERSION}"
    )
    by_version = f"over (partition by {keys} order by {_VERSION})"
    versions = (
        f"select *, lead({_BEGIN}) {by_version} as {_END}, lag({_IS_ROW}) {by_version} as {_WAS_ROW},"
        f" lag({_VALUES}) {by_version} as {_WAS_VALUES} from ({grouped})"
    )
    is_version = _IS_ROW
    if rows.has_deleted:
        is_version = f"({_IS_ROW} or {ORDER} = -1 or {_WAS_ROW})"
    return (
        f"select {_version_columns(rows)}, {ORDER} = -1 as {_OPEN} from ({versions})"
        f" where case when {_VALID} > 1 then {_raise_several(rows)}"
        f" when {_TAKEN} then {raise_taken_sql(rows.model, rows.keys)}"
        f" else {is_version} and not ({ORDER} = -1 and {_END} is null and not {_FOLLOWS}) end"
    )


def merge_sql(table: str, versions: str, rows: HistoryRows, bounds: Sequence[Bound]) -> str:
    """The MERGE of the versions of ``versions_sql``."""
    names = rows.all_names
    scd_id = sql_name(rows.config.names.dbt_scd_id)
    conditions = [rows.is_same_version, rows.is_valid(TARGET), *(bound.sql for bound in bounds)]
    values = ", ".join(f"{sql_name(name)} = {SOURCE}.{sql_name(name)}" for name in names)
    # A version that was read but is not found again would be inserted a second time.
    message = sql_string(f"{rows.config.names.dbt_scd_id} does not identify a valid version: it is ")
    lost = f"raise_error(concat({message}, coalesce({SOURCE}.{scd_id}, 'NULL')))"
    return "\n".join(
        [
            f"merge into {table} as {TARGET}",
            f"using (\n{versions}\n) as {SOURCE}",
            f"on {' and '.join(conditions)}",
            f"when matched and {SOURCE}.{_OPEN} then update set {values}",
            f"when not matched and case when {SOURCE}.{_OPEN} then {lost} else true end"
            f" then insert ({sql_names(names)})\n    values ({sql_names(names, SOURCE)})",
        ]
    )


def counts_sql(versions: str) -> str:
    """The query for the number of versions in the view of ``versions_sql`` that are already in the table."""
    return f"select count_if({_OPEN}) from {versions}"


def delete_sql(table: str, versions: str, rows: HistoryRows, known: int, bounds: Sequence[Bound]) -> str:
    """The DELETE of the existing versions that have changed or ended. ``known``: their number."""
    hint = broadcast(SOURCE, known, ("string", *rows.key_types))
    changed = f"select {hint}1 from {versions} as {SOURCE} where {SOURCE}.{_OPEN}"
    found = f"exists ({changed} and {rows.is_same_version})"
    conditions = [rows.is_valid(TARGET), *(bound.sql for bound in bounds), found]
    return f"delete from {table} as {TARGET} where {' and '.join(conditions)}"


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


def _line(
    table: str, events: str, rows: HistoryRows, changed: int, nulls: bool, bounds: Sequence[Bound], *, compares: bool
) -> str:
    """The valid versions and the events of the keys, with their order. ``compares``: as in ``versions_sql``."""
    meta, names = rows.config.names, sql_names(rows.names)
    same = same_key(TARGET, SOURCE, rows.keys, rows.key_types, nulls=nulls)
    conditions = [rows.is_valid(TARGET), *(bound.sql for bound in bounds)]
    if not compares:
        hint = broadcast(SOURCE, changed, rows.key_types)
        of_keys = f"(select distinct {sql_names(rows.keys)} from {events})"
        conditions.append(f"exists (select {hint}1 from {of_keys} as {SOURCE} where {same})")
    valid = (
        f"select {sql_names(rows.names, TARGET)}, -1 as {ORDER}, {rows.is_row} as {_IS_ROW},"
        f" false as {IS_NEW}, {sql_name(meta.dbt_valid_from)} as {_BEGIN}, {sql_name(meta.dbt_scd_id)} as {_ID},"
        f" {sql_name(meta.dbt_updated_at)} as {_UPDATED} from {table} as {TARGET} where {' and '.join(conditions)}"
    )
    made = f"{rows.time(ORDER)} as {_BEGIN}, {rows.id_at(ORDER)} as {_ID}, {rows.time(ORDER)} as {_UPDATED}"
    # If all rows are compared, or deletions are ignored, a new row may replace one that was not removed.
    is_new = "false" if compares or rows.config.hard_deletes is HardDeletes.IGNORE else IS_NEW
    parts = [valid, f"select {names}, {ORDER}, {IS_KEPT} as {_IS_ROW}, {is_new} as {IS_NEW}, {made} from {events}"]
    if compares and rows.config.hard_deletes is not HardDeletes.IGNORE:
        nothing = ", ".join(
            f"{TARGET}.{sql_name(each)}" if each in rows.keys else f"null as {sql_name(each)}" for each in rows.names
        )
        same = same_key(TARGET, SOURCE, rows.keys, rows.key_types, nulls=True)
        gone = (
            f"select {nothing}, 0 as {ORDER}, false as {_IS_ROW}, false as {IS_NEW} from ({valid}) as {TARGET}"
            f" where {TARGET}.{_IS_ROW} and not exists (select 1 from {events} as {SOURCE} where {same})"
        )
        parts.append(f"select *, {made} from ({gone})")
    return " union all ".join(parts)


def _version_columns(rows: HistoryRows) -> str:
    """The values of the table's columns. A version that marks a deletion has the values of the deleted row."""
    values = f"if({_IS_ROW} or {ORDER} = -1, {_VALUES}, {_WAS_VALUES})" if rows.has_deleted else _VALUES
    meta = rows.config.names
    found = [f"{values}.{sql_name(name)} as {sql_name(name)}" for name in rows.names]
    found += [
        f"{_ID} as {sql_name(meta.dbt_scd_id)}",
        f"{_UPDATED} as {sql_name(meta.dbt_updated_at)}",
        f"{_BEGIN} as {sql_name(meta.dbt_valid_from)}",
        f"coalesce({_END}, {rows.current_end}) as {sql_name(meta.dbt_valid_to)}",
    ]
    if rows.has_deleted:
        found.append(f"if({_IS_ROW}, 'False', 'True') as {sql_name(meta.dbt_is_deleted)}")
    return ", ".join(found)


def _raise_several(rows: HistoryRows) -> str:
    """The expression that fails for a key with several valid versions."""
    return raise_error_sql(partial(history_errors.several_valid, rows.model, rows.keys), shown(rows.keys))

"""The statements of a dbt snapshot that reads only the changed keys.

dbt compares the rows of its query with the open versions in its table. Here, both are restricted to the keys of added
and removed rows, and dbt's own statement compares them. After the last run, each key had one row in the query, so the
current row of a changed key is an added row. The exception is a new row whose key also has an unchanged row. To detect
this, a run reads the keys of the whole query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...expose.groups import broadcast
from ...expose.same_key import same_key
from ...expose.value_range import ends_sql, has_ends, type_name
from ...plan.versions_config import HardDeletes, HistoryConfig
from ...sql import sql_name, sql_names
from ..order.ordered import has_null
from ..strategies.changelog import Bound, all_ends_sql, bound_of, bounded, bounds_of
from ..strategies.merge import TARGET
from . import statements
from .versioned import valid_sql

CHANGE_TYPE = "dbt_change_type"
_IS_NEW = f"{CHANGE_TYPE} = 'insert'"
_ADDED, _REMOVED, _ROWS = "DBT_INTERNAL_ADDED", "DBT_INTERNAL_REMOVED", "DBT_INTERNAL_ROWS"
_KEYS = "ip_keys"


def is_open(config: HistoryConfig) -> str:
    """The condition for the newest version of a key (``TARGET``)."""
    return valid_sql(config, f"({config.valid_to_current})", TARGET)


@dataclass(frozen=True)
class ChangedKeys:
    """The keys of added and deleted rows.

    ``view``: the view of the distinct keys. ``keys``: their number. ``most_added``: the maximum number of added rows of
    one key. ``nulls``: the number of keys with a NULL. ``divided``: the number of keys that contain the separator of
    dbt's version ids. ``keys_only_added``: the number of keys that have only added rows. ``now``: Spark's time, in
    microseconds since the epoch. ``types``: the types of the key columns. ``bounds``: satisfied by all keys;
    ``added_bounds``: by all keys that have only added rows.
    """

    view: str
    keys: int
    most_added: int
    nulls: int
    divided: int
    keys_only_added: int
    now: int
    types: tuple[str, ...]
    bounds: tuple[Bound, ...]
    added_bounds: tuple[Bound, ...]

    def exist_sql(self, alias: str, key: Sequence[str], condition: str = "true") -> str:
        """The condition that a row has one of the keys that satisfy ``condition``. ``alias``: the row's relation."""
        hint = broadcast(_KEYS, self.keys, self.types)
        same = same_key(alias, _KEYS, key, self.types, nulls=False)
        return f"exists (select {hint}1 from {self.view} as {_KEYS} where {condition} and {same})"


def internal_columns(key: Sequence[str]) -> tuple[str, ...]:
    """The internal columns in the result of dbt's statements. A source may have columns with these names."""
    return (CHANGE_TYPE, "dbt_unique_key", *(f"dbt_unique_key_{place}" for place in range(1, len(key) + 1)))


def keys_sql(key: Sequence[str], added: str, removed: str) -> str:
    """The query for the keys of added and removed rows. ``added``: a relation. ``removed``: a query."""
    listed = sql_names(key)
    return (
        f"select {listed}, sum({_ADDED}) as {_ADDED}, sum({_REMOVED}) as {_REMOVED} from ("
        f"select {listed}, 1 as {_ADDED}, 0 as {_REMOVED} from {added}"
        f" union all select {listed}, 0, 1 from (\n{removed}\n)) group by {listed}"
    )


def summary_sql(view: str, key: Sequence[str], types: Sequence[str]) -> str:
    """The query whose row ``changed_keys`` parses."""
    found = [
        "count(*)",
        f"coalesce(max({_ADDED}), 0)",
        f"count_if({has_null(key)})",
        f"count_if({_is_divided(key)})",
        f"count_if({_REMOVED} = 0)",
        "unix_micros(current_timestamp())",
    ]
    found += [*all_ends_sql(bounded(key, types)), *all_ends_sql(bounded(key, types), f"{_REMOVED} = 0")]
    return f"select {', '.join(found)} from {view}"


def changed_keys(view: str, key: Sequence[str], types: Sequence[str], row: Sequence[object]) -> ChangedKeys:
    """Parse a row of ``summary_sql``."""
    keys, most_added, nulls, divided, keys_only_added, now = (int(str(value)) for value in row[:6])
    ends, columns = row[6:], bounded(key, types)
    half = len(ends) // 2
    bounds = bounds_of(columns, ends[:half], {}) if keys and not nulls else ()
    added = bounds_of(columns, ends[half:], {}) if keys_only_added and not nulls else ()
    return ChangedKeys(view, keys, most_added, nulls, divided, keys_only_added, now, tuple(types), bounds, added)


def repeated_sql(query: str, key: Sequence[str], keys: ChangedKeys | None = None) -> str:
    """The query for the maximum number of rows per key, and the numbers of NULL keys and of divided keys.

    ``keys``: restricts it to keys that have only added rows.
    """
    listed, condition = sql_names(key), "true"
    if keys is not None:
        bounds = [bound.of_column(bound.column) for bound in keys.added_bounds]
        condition = " and ".join([*bounds, keys.exist_sql("ip_rows", key, f"{_REMOVED} = 0")])
    return (
        f"select coalesce(max({_ROWS}), 0), count_if({has_null(key)}), count_if({_is_divided(key)})"
        f" from (select {listed}, count(*) as {_ROWS}"
        f" from (\n{query}\n) as ip_rows where {condition} group by {listed})"
    )


def open_versions_sql(table: str, config: HistoryConfig, keys: ChangedKeys, bounds: Sequence[Bound]) -> str:
    """The query for the newest versions of the changed keys in a table."""
    listed = [is_open(config), *(bound.sql for bound in bounds), keys.exist_sql(TARGET, config.unique_key)]
    return f"select * from {table} as {TARGET} where {' and '.join(listed)}"


@dataclass(frozen=True)
class Versions:
    """The numbers of staged changes.

    ``total``: all changes. ``distinct``: the versions that they affect. ``new``: the versions that they insert.
    ``known``: the keys that have only added rows, although they have an open version.
    """

    total: int
    distinct: int
    new: int
    known: int

    @property
    def ended(self) -> int:
        """The number of versions that end."""
        return self.total - self.new


def staged_sql(staging: str, given: Sequence[tuple[str, str]], stored: Mapping[str, str]) -> str:
    """The query for staged changes whose values have the types of the table's columns.

    ``staging``: dbt's query for the changes, with the columns ``given`` and their types. ``stored``: the types of the
    table's columns. dbt writes the current time and the values of ``updated_at`` to the same columns, so these columns
    can have a wider type than the table's.
    """
    if all(stored.get(name, type_) == type_ for name, type_ in given):
        return staging
    listed = ", ".join(_as_stored(sql_name(name), type_, stored.get(name, type_)) for name, type_ in given)
    return f"select {listed} from (\n{staging}\n)"


def _as_stored(column: str, given: str, stored: str) -> str:
    return column if given == stored else f"cast({column} as {type_name(stored)}) as {column}"


def versions_sql(staged: str, config: HistoryConfig, open_versions: str, keys: ChangedKeys) -> str:
    """The query for the fields of ``Versions``. ``open_versions``: the relation of the changed keys' open versions."""
    known = "0"
    if keys.keys_only_added:
        is_known = keys.exist_sql(TARGET, config.unique_key, f"{_REMOVED} = 0")
        known = f"(select count(*) from {open_versions} as {TARGET} where {is_known})"
    counts = f"count(*), count(distinct {sql_name(config.names.dbt_scd_id)}), count_if({_IS_NEW}), {known}"
    return f"select {counts} from {staged}"


def places_sql(staged: str, config: HistoryConfig, type_: str, keys: ChangedKeys) -> str:
    """The query for the value ranges in which versions can have the ids of new versions, for ``places``.

    ``type_``: the Spark type of ``dbt_updated_at``. Keys with only added rows have a separate row in the result,
    because their values and times often differ from those of other keys.
    """
    is_added = f"coalesce({_KEYS}.{_REMOVED} = 0, false)"
    same = same_key("ip_staged", _KEYS, config.unique_key, keys.types, nulls=False)
    values = [
        f"ip_staged.{sql_name(name)}" for name in dict.fromkeys((config.names.dbt_updated_at, *config.unique_key))
    ]
    rows = (
        f"select {', '.join(values)}, {is_added} as {_ADDED} from {staged} as ip_staged"
        f" left join {keys.view} as {_KEYS} on {same} where {_IS_NEW}"
    )
    time = sql_name(config.names.dbt_updated_at)
    low, high = (_shifted(f"{end}({time})", type_, days) for end, days in (("min", -1), ("max", 1)))
    ends = ends_sql(type_, low, high) if has_ends(type_) else ("null", "null")
    found = [f"count_if({has_null(config.unique_key)})", f"count(*) - count({time})", *ends]
    found += all_ends_sql(_with_one_text(config.unique_key, keys.types))
    return f"select {', '.join(found)} from ({rows}) group by {_ADDED}"


def places(
    config: HistoryConfig, type_: str, keys: ChangedKeys, rows: Sequence[Sequence[object]]
) -> tuple[tuple[Bound, ...], ...]:
    """Parse the rows of ``places_sql``. A version with the id of a new version satisfies all bounds of one result."""
    found = []
    for keyless, timeless, low, high, *ends in rows:
        time = bound_of(config.names.dbt_updated_at, type_, low, high, int(str(timeless))) if has_ends(type_) else None
        bounds = () if int(str(keyless)) else bounds_of(_with_one_text(config.unique_key, keys.types), ends, {})
        found.append(bounds if time is None else (time, *bounds))
    return tuple(found)


def _with_one_text(key: Sequence[str], types: Sequence[str]) -> list[tuple[str, str]]:
    """The columns of a key whose distinct values have distinct texts. dbt's ids are built from these texts."""
    return [(name, type_) for name, type_ in bounded(key, types) if type_ != "timestamp"]


def _shifted(time: str, type_: str, days: int) -> str:
    """A time shifted by some days.

    Version ids contain local times, which may be ambiguous. A local time that the time zone skips is stored as a later
    one.
    """
    return f"timestampadd(day, {days}, {time})" if type_.startswith("timestamp") else time


def other_ids_sql(table: str, config: HistoryConfig, ids: str) -> str:
    """The query that returns 1 if the id of a version does not match its key and time, and 0 otherwise.

    It ignores versions that mark deletions. ``ids``: dbt's expression for ids, over the columns of the table.
    """
    marks_deletions = config.hard_deletes is HardDeletes.NEW_RECORD
    counts = f" and not {sql_name(config.names.dbt_is_deleted)} <=> 'True'" if marks_deletions else ""
    condition = f"not {sql_name(config.names.dbt_scd_id)} <=> ({ids}){counts}"
    return f"select count(*) from (select 1 from {table} where {condition} limit 1)"


def new_sql(
    staged: str,
    config: HistoryConfig,
    listed: Sequence[str],
    existing: str | None,
    places: Sequence[Sequence[Bound]] = (),
) -> str:
    """The query for the new versions whose ids the table does not contain.

    ``listed``: the values of the table's columns; NULL for columns that are not staged. ``existing``: the table; None
    if it is known to contain none of the versions. ``places``: the result of the function ``places``, which restricts
    the search. If it is empty or has an element without bounds, the whole table is searched.
    """
    scd_id = sql_name(config.names.dbt_scd_id)
    new = f"select * from {staged} where {_IS_NEW}"
    sql = f"select {', '.join(listed)} from ({new}) as ip_new"
    if existing is None:
        return sql
    within = ""
    if places and all(places):
        each = (" and ".join(bound.of_column(bound.column) for bound in bounds) for bounds in places)
        within = f" where ({') or ('.join(each)})"
    known = (
        f"select /*+ broadcast(ip_ids) */ ip_there.{scd_id} from {existing} as ip_there"
        f" join (select {scd_id} from ({new})) as ip_ids on ip_there.{scd_id} = ip_ids.{scd_id}{within}"
    )
    return f"{sql}\nleft anti join ({known}) as ip_known on ip_new.{scd_id} = ip_known.{scd_id}"


def ended_sql(staged: str, config: HistoryConfig, names: Sequence[str], open_versions: str) -> str:
    """The query for the versions that end, with their new end. ``names``: the columns of the table."""
    scd_id, valid_to = sql_name(config.names.dbt_scd_id), sql_name(config.names.dbt_valid_to)
    listed = [
        f"ip_ended.{valid_to}" if name == config.names.dbt_valid_to else f"{TARGET}.{sql_name(name)}" for name in names
    ]
    return (
        f"select /*+ broadcast(ip_ended) */ {', '.join(listed)} from {open_versions} as {TARGET}"
        f" join ({_ended(staged, f'{scd_id}, {valid_to}')}) as ip_ended on {TARGET}.{scd_id} = ip_ended.{scd_id}"
    )


def delete_sql(branch: str, staged: str, config: HistoryConfig, bounds: Sequence[Bound]) -> str:
    """The DELETE of the open versions that end."""
    scd_id = sql_name(config.names.dbt_scd_id)
    ended = f"({_ended(staged, scd_id)}) as ip_ended where ip_ended.{scd_id} = {TARGET}.{scd_id}"
    return statements.delete_sql(branch, is_open(config), bounds, f"select /*+ broadcast(ip_ended) */ 1 from {ended}")


def close_sql(branch: str, staged: str, config: HistoryConfig, bounds: Sequence[Bound]) -> str:
    """The MERGE that ends the open versions of changed and deleted rows."""
    scd_id, valid_to = sql_name(config.names.dbt_scd_id), sql_name(config.names.dbt_valid_to)
    ended = _ended(f"{staged} as ip_staged", f"/*+ broadcast(ip_staged) */ {scd_id}, {valid_to}")
    conditions = [f"ip_ended.{scd_id} = {TARGET}.{scd_id}", is_open(config), *(bound.sql for bound in bounds)]
    return (
        f"merge into {branch} as {TARGET}\n"
        f"using ({ended}) as ip_ended\n"
        f"on {' and '.join(conditions)}\n"
        f"when matched then update set {valid_to} = ip_ended.{valid_to}"
    )


def _ended(staged: str, listed: str) -> str:
    return f"select {listed} from {staged} where {CHANGE_TYPE} in ('update', 'delete')"


def not_current_sql(current: str, type_: str) -> str:
    """The query for whether ``dbt_valid_to_current`` changes when it is stored as a type."""
    return f"select not coalesce(cast(({current}) as {type_}) = ({current}), ({current}) is null)"


def _is_divided(key: Sequence[str]) -> str:
    """The condition for a key whose text in dbt's ids may be that of another key, because ``|`` separates columns.

    Versions that end are found by their ids.
    """
    return " or ".join(f"contains(string({sql_name(name)}), '|')" for name in key) if len(key) > 1 else "false"

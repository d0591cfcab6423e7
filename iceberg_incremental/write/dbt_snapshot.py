"""The statements of a dbt snapshot that reads only the changed keys.

dbt compares the rows of its query with the open versions in its table. Here, both are restricted to the keys of added
and removed rows, and dbt's own statement compares them. After the last run, each key had one row in the query, so the
current row of a changed key is an added row. The exception is a new row whose key also has an unchanged row. To detect
this, a run reads the keys of the whole query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..expose.groups import broadcast
from ..expose.same_key import same_key
from ..expose.value_range import ends_sql, has_ends
from ..sql import sql_name, sql_names
from .changelog import Bound, all_ends_sql, bound_of, bounded, bounds_of
from .ordered import has_null
from .replacement import TARGET

CHANGE_TYPE = "dbt_change_type"
_IS_NEW = f"{CHANGE_TYPE} = 'insert'"
_CAME, _GONE, _ROWS = "DBT_INTERNAL_CAME", "DBT_INTERNAL_GONE", "DBT_INTERNAL_ROWS"
_KEYS = "ip_keys"
KEY_TYPES = ("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz", "boolean")
"""The types of keys whose values are compared exactly, in addition to decimals."""


@dataclass(frozen=True)
class Columns:
    """The columns of a snapshot's table by which rows are found.

    ``key``: the columns of unique_key. ``current``: the config ``dbt_valid_to_current`` as SQL; None if not set.
    ``is_deleted``: the column that marks deleted rows; None without one.
    """

    key: tuple[str, ...]
    valid_to: str
    scd_id: str
    updated_at: str
    current: str | None = None
    is_deleted: str | None = None

    @property
    def is_open(self) -> str:
        """The condition for the newest version of a key."""
        column = f"{TARGET}.{sql_name(self.valid_to)}"
        return f"{column} is null" if self.current is None else f"({column} = ({self.current}) or {column} is null)"


@dataclass(frozen=True)
class ChangedKeys:
    """The keys of added and deleted rows.

    ``view``: the view of the distinct keys. ``keys``: their number. ``most_came``: the maximum number of added rows of
    one key. ``nulls``: the number of keys with a NULL. ``divided``: the number of keys that contain the separator of
    dbt's version ids. ``keys_only_added``: the number of keys that have only added rows. ``now``: Spark's time, in
    microseconds since the epoch. ``types``: the types of the key columns. ``bounds``: satisfied by all keys;
    ``added_bounds``: by all keys that have only added rows.
    """

    view: str
    keys: int
    most_came: int
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


def keys_sql(key: Sequence[str], came: str, gone: str) -> str:
    """The query for the keys of added and removed rows. ``came``, ``gone``: the query's added and removed rows."""
    listed = sql_names(key)
    return (
        f"select {listed}, sum({_CAME}) as {_CAME}, sum({_GONE}) as {_GONE} from ("
        f"select {listed}, 1 as {_CAME}, 0 as {_GONE} from {came}"
        f" union all select {listed}, 0, 1 from (\n{gone}\n)) group by {listed}"
    )


def summary_sql(view: str, key: Sequence[str], types: Sequence[str]) -> str:
    """The query whose row ``changed_keys`` parses."""
    found = [
        "count(*)",
        f"coalesce(max({_CAME}), 0)",
        f"count_if({has_null(key)})",
        f"count_if({_is_divided(key)})",
        f"count_if({_GONE} = 0)",
        "unix_micros(current_timestamp())",
    ]
    found += [*all_ends_sql(bounded(key, types)), *all_ends_sql(bounded(key, types), f"{_GONE} = 0")]
    return f"select {', '.join(found)} from {view}"


def changed_keys(view: str, key: Sequence[str], types: Sequence[str], row: Sequence[object]) -> ChangedKeys:
    """Parse a row of ``summary_sql``."""
    keys, most_came, nulls, divided, keys_only_added, now = (int(str(value)) for value in row[:6])
    ends, columns = row[6:], bounded(key, types)
    half = len(ends) // 2
    bounds = bounds_of(columns, ends[:half], {}) if keys and not nulls else ()
    added = bounds_of(columns, ends[half:], {}) if keys_only_added and not nulls else ()
    return ChangedKeys(view, keys, most_came, nulls, divided, keys_only_added, now, tuple(types), bounds, added)


def repeated_sql(query: str, key: Sequence[str], keys: ChangedKeys | None = None) -> str:
    """The query for the maximum number of rows per key, and the numbers of NULL keys and of divided keys.

    ``keys``: restricts it to keys that have only added rows.
    """
    listed, condition = sql_names(key), "true"
    if keys is not None:
        bounds = [bound.of_column(bound.column) for bound in keys.added_bounds]
        condition = " and ".join([*bounds, keys.exist_sql("ip_rows", key, f"{_GONE} = 0")])
    return (
        f"select coalesce(max({_ROWS}), 0), count_if({has_null(key)}), count_if({_is_divided(key)})"
        f" from (select {listed}, count(*) as {_ROWS}"
        f" from (\n{query}\n) as ip_rows where {condition} group by {listed})"
    )


def open_versions_sql(table: str, columns: Columns, keys: ChangedKeys, bounds: Sequence[Bound]) -> str:
    """The query for the newest versions of the changed keys in a table."""
    listed = [columns.is_open, *(bound.sql for bound in bounds), keys.exist_sql(TARGET, columns.key)]
    return f"select * from {table} as {TARGET} where {' and '.join(listed)}"


@dataclass(frozen=True)
class Versions:
    """The staged changes: ``total`` changes of ``distinct`` versions, of which ``new`` are inserted.

    ``known``: how many keys have only added rows, and an open version.
    """

    total: int
    distinct: int
    new: int
    known: int

    @property
    def ended(self) -> int:
        """How many versions end."""
        return self.total - self.new


def versions_sql(staged: str, columns: Columns, open_versions: str, keys: ChangedKeys) -> str:
    """The query whose row is ``Versions``. ``open_versions``: those of the changed keys."""
    known = "0"
    if keys.keys_only_added:
        is_known = keys.exist_sql(TARGET, columns.key, f"{_GONE} = 0")
        known = f"(select count(*) from {open_versions} as {TARGET} where {is_known})"
    counts = f"count(*), count(distinct {sql_name(columns.scd_id)}), count_if({_IS_NEW}), {known}"
    return f"select {counts} from {staged}"


def places_sql(staged: str, columns: Columns, type_: str, keys: ChangedKeys) -> str:
    """The query for where versions can be that have the ids of new ones, for ``places``.

    ``type_``: of the column that says when a version was updated. New keys often have values of their own, and times of
    any kind, so their row is separate.
    """
    is_added = f"coalesce({_KEYS}.{_GONE} = 0, false)"
    same = same_key("ip_staged", _KEYS, columns.key, keys.types, nulls=False)
    values = [f"ip_staged.{sql_name(name)}" for name in dict.fromkeys((columns.updated_at, *columns.key))]
    rows = (
        f"select {', '.join(values)}, {is_added} as {_CAME} from {staged} as ip_staged"
        f" left join {keys.view} as {_KEYS} on {same} where {_IS_NEW}"
    )
    time = sql_name(columns.updated_at)
    low, high = (_shifted(f"{end}({time})", type_, days) for end, days in (("min", -1), ("max", 1)))
    ends = ends_sql(type_, low, high) if has_ends(type_) else ("null", "null")
    found = [f"count_if({has_null(columns.key)})", f"count(*) - count({time})", *ends]
    found += all_ends_sql(_with_one_text(columns.key, keys.types))
    return f"select {', '.join(found)} from ({rows}) group by {_CAME}"


def places(
    columns: Columns, type_: str, keys: ChangedKeys, rows: Sequence[Sequence[object]]
) -> tuple[tuple[Bound, ...], ...]:
    """Parse the rows of ``places_sql``. Each version with the id of a new one satisfies all bounds of one of them."""
    found = []
    for keyless, timeless, low, high, *ends in rows:
        time = bound_of(columns.updated_at, type_, low, high, int(str(timeless))) if has_ends(type_) else None
        bounds = () if int(str(keyless)) else bounds_of(_with_one_text(columns.key, keys.types), ends, {})
        found.append(bounds if time is None else (time, *bounds))
    return tuple(found)


def _with_one_text(key: Sequence[str], types: Sequence[str]) -> list[tuple[str, str]]:
    """The columns of a key of which two values never have the same text, which is what dbt's ids contain."""
    return [(name, type_) for name, type_ in bounded(key, types) if type_ != "timestamp"]


def _shifted(time: str, type_: str, days: int) -> str:
    """A time shifted by some days. Version ids contain local times, and one local time can stand for several times."""
    return f"timestampadd(day, {days}, {time})" if type_ == "timestamp" else time


def other_ids_sql(table: str, columns: Columns, ids: str) -> str:
    """The query for versions whose id does not match their key and time. Versions that mark deletions do not count.

    ``ids``: dbt's expression for ids, over the columns of the table.
    """
    counts = "" if columns.is_deleted is None else f" and not {sql_name(columns.is_deleted)} <=> 'True'"
    condition = f"not {sql_name(columns.scd_id)} <=> ({ids}){counts}"
    return f"select count(*) from (select 1 from {table} where {condition} limit 1)"


def new_sql(
    staged: str,
    columns: Columns,
    listed: Sequence[str],
    there: str | None,
    places: Sequence[Sequence[Bound]] = (),
) -> str:
    """The query of the new versions that the table does not have, by their ids.

    ``listed``: the columns of the table; those that are not staged are NULL. ``there``: the table; None where it is
    known to have none of the versions. ``places``: where versions with their ids can be; anywhere if there are none.
    """
    scd_id = sql_name(columns.scd_id)
    new = f"select * from {staged} where {_IS_NEW}"
    sql = f"select {', '.join(listed)} from ({new}) as ip_new"
    if there is None:
        return sql
    within = ""
    if places and all(places):
        each = (" and ".join(bound.of_column(bound.column) for bound in bounds) for bounds in places)
        within = f" where ({') or ('.join(each)})"
    known = (
        f"select /*+ broadcast(ip_ids) */ ip_there.{scd_id} from {there} as ip_there"
        f" join (select {scd_id} from ({new})) as ip_ids on ip_there.{scd_id} = ip_ids.{scd_id}{within}"
    )
    return f"{sql}\nleft anti join ({known}) as ip_known on ip_new.{scd_id} = ip_known.{scd_id}"


def ended_sql(staged: str, columns: Columns, names: Sequence[str], open_versions: str) -> str:
    """The query of the versions that end, as they are then. ``names``: the columns of the table."""
    scd_id, valid_to = sql_name(columns.scd_id), sql_name(columns.valid_to)
    listed = [f"ip_ended.{valid_to}" if name == columns.valid_to else f"{TARGET}.{sql_name(name)}" for name in names]
    return (
        f"select /*+ broadcast(ip_ended) */ {', '.join(listed)} from {open_versions} as {TARGET}"
        f" join ({_ended(staged, f'{scd_id}, {valid_to}')}) as ip_ended on {TARGET}.{scd_id} = ip_ended.{scd_id}"
    )


def delete_sql(branch: str, staged: str, columns: Columns, bounds: Sequence[Bound]) -> str:
    """The DELETE of the open versions that end."""
    scd_id = sql_name(columns.scd_id)
    ended = f"({_ended(staged, scd_id)}) as ip_ended where ip_ended.{scd_id} = {TARGET}.{scd_id}"
    found = f"exists (select /*+ broadcast(ip_ended) */ 1 from {ended})"
    conditions = [columns.is_open, *(bound.sql for bound in bounds), found]
    return f"delete from {branch} as {TARGET} where {' and '.join(conditions)}"


def close_sql(branch: str, staged: str, columns: Columns, bounds: Sequence[Bound]) -> str:
    """The MERGE that ends the versions that were changed or deleted."""
    scd_id, valid_to = sql_name(columns.scd_id), sql_name(columns.valid_to)
    ended = _ended(f"{staged} as ip_staged", f"/*+ broadcast(ip_staged) */ {scd_id}, {valid_to}")
    conditions = [f"ip_ended.{scd_id} = {TARGET}.{scd_id}", columns.is_open, *(bound.sql for bound in bounds)]
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
    """Whether two keys may have the same text in dbt's ids, which join the columns with ``|``.

    A version that ends is found by its id.
    """
    return " or ".join(f"contains(string({sql_name(name)}), '|')" for name in key) if len(key) > 1 else "false"

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
    microseconds since the epoch. ``types``: the types of the key columns. ``bounds``: satisfied by all keys.
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
    found += all_ends_sql(bounded(key, types))
    return f"select {', '.join(found)} from {view}"


def changed_keys(view: str, key: Sequence[str], types: Sequence[str], row: Sequence[object]) -> ChangedKeys:
    """Parse a row of ``summary_sql``."""
    keys, most_came, nulls, divided, keys_only_added, now = (int(str(value)) for value in row[:6])
    bounds = bounds_of(bounded(key, types), row[6:], {}) if keys and not nulls else ()
    return ChangedKeys(view, keys, most_came, nulls, divided, keys_only_added, now, tuple(types), bounds)


def repeated_sql(query: str, key: Sequence[str], keys: ChangedKeys | None = None) -> str:
    """The query for the maximum number of rows per key, and the numbers of NULL keys and of divided keys.

    ``keys``: restricts it to keys that have only added rows.
    """
    listed, condition = sql_names(key), "true"
    if keys is not None:
        bounds = [bound.of_column(bound.column) for bound in keys.bounds]
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

    ``bound``: of the times of the updated versions; None if literals cannot express it.
    """

    total: int
    distinct: int
    new: int
    bound: Bound | None


def versions_sql(staged: str, columns: Columns, type_: str) -> str:
    """The query whose row ``versions`` parses. ``type_``: the type of the column with the update time."""
    is_new = f"{CHANGE_TYPE} = 'insert'"
    time = f"if({is_new}, {sql_name(columns.updated_at)}, null)"
    low, high = (f"{end}({time})" for end in ("min", "max"))
    ends = ends_sql(type_, _shifted(low, type_, -1), _shifted(high, type_, 1)) if has_ends(type_) else ("null", "null")
    counts = f"count(*), count(distinct {sql_name(columns.scd_id)}), count_if({is_new}), count({time})"
    return f"select {counts}, {', '.join(ends)} from {staged}"


def versions(columns: Columns, type_: str, row: Sequence[object]) -> Versions:
    """Parse a row of ``versions_sql``."""
    total, distinct, new, timed = (int(str(value)) for value in row[:4])
    bound = bound_of(columns.updated_at, type_, row[4], row[5], new - timed) if has_ends(type_) else None
    return Versions(total, distinct, new, bound)


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


def insert_sql(
    branch: str, staged: str, columns: Columns, listed: Sequence[str], there: str | None, bound: Bound | None = None
) -> str:
    """The INSERT of the new versions whose ids the table does not have.

    ``listed``: the columns of the table that are written. ``there``: the table; None if it is known to have none of
    these versions. ``bound``: satisfied by the times of versions that may have these ids.
    """
    names, scd_id = sql_names(listed), sql_name(columns.scd_id)
    new = f"select * from {staged} where {CHANGE_TYPE} = 'insert'"
    sql = f"insert into {branch} ({names})\nselect {names} from ({new}) as ip_new"
    if there is None:
        return sql
    within = "" if bound is None else f" where {bound.of_column(columns.updated_at)}"
    known = (
        f"select /*+ broadcast(ip_ids) */ ip_there.{scd_id} from {there} as ip_there"
        f" join (select {scd_id} from ({new})) as ip_ids on ip_there.{scd_id} = ip_ids.{scd_id}{within}"
    )
    return f"{sql}\nleft anti join ({known}) as ip_known on ip_new.{scd_id} = ip_known.{scd_id}"


def close_sql(branch: str, staged: str, columns: Columns, bounds: Sequence[Bound]) -> str:
    """The MERGE that ends the versions that were changed or deleted."""
    scd_id, valid_to = sql_name(columns.scd_id), sql_name(columns.valid_to)
    ended = f"select /*+ broadcast(ip_staged) */ {scd_id}, {valid_to} from {staged} as ip_staged"
    conditions = [f"ip_ended.{scd_id} = {TARGET}.{scd_id}", columns.is_open, *(bound.sql for bound in bounds)]
    return (
        f"merge into {branch} as {TARGET}\n"
        f"using ({ended} where {CHANGE_TYPE} in ('update', 'delete')) as ip_ended\n"
        f"on {' and '.join(conditions)}\n"
        f"when matched then update set {valid_to} = ip_ended.{valid_to}"
    )


def not_current_sql(current: str, type_: str) -> str:
    """The query for whether ``dbt_valid_to_current`` changes when it is stored as a type."""
    return f"select not coalesce(cast(({current}) as {type_}) = ({current}), ({current}) is null)"


def _is_divided(key: Sequence[str]) -> str:
    """Whether two keys may have the same text in dbt's ids, which join the columns with ``|``.

    A version that ends is found by its id.
    """
    return " or ".join(f"contains(string({sql_name(name)}), '|')" for name in key) if len(key) > 1 else "false"

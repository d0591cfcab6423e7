"""Rows that share a key: as expressions that fail within a statement, and as a query that finds new ones."""

from __future__ import annotations

from collections.abc import Sequence

from ..explain import model_errors
from ..sql import sql_name, sql_names, sql_string

MOST_NAMED = 5
_LONGEST_KEY = 200
_FOUND = "\0"


def raise_sql(model: str, keys: Sequence[str], count: str) -> str:
    """The expression that fails for a row whose key comes ``count`` times, which is SQL; the error names both."""
    before, after = model_errors.duplicate_keys(model, keys, _FOUND).msg.split(_FOUND)
    return f"raise_error(concat({sql_string(before)}, {shown(keys)}, ' (', {count}, ' times)', {sql_string(after)}))"


def raise_taken_sql(model: str, keys: Sequence[str], alias: str) -> str:
    """The expression that fails for an inserted row, under ``alias``, whose key the table has already."""
    before, after = model_errors.key_taken(model, keys, _FOUND).msg.split(_FOUND)
    return f"raise_error(concat({sql_string(before)}, {shown(keys, alias)}, {sql_string(after)}))"


def duplicates_sql(rows: str, keys: Sequence[str], *, nulls: bool = False) -> str:
    """The query that gives the first keys which come more than once: key, how often, and how many such keys there are.

    ``rows``: a relation, or a parenthesised query. ``nulls``: whether a key with a NULL in it is one: a merge matches
    it with nothing.
    """
    present = "" if nulls else f"where {' and '.join(f'{sql_name(key)} is not null' for key in keys)} "
    return first_keys_sql(
        f"select {shown(keys)} as key, count(*) as times from {rows} {present}"
        f"group by {sql_names(keys)} having count(*) > 1"
    )


def unique_rows_sql(rows: str, keys: Sequence[str], model: str, *, nulls: bool = False) -> str:
    """The rows of a relation, or of a parenthesised query; the query fails where two of them have the same key.

    ``nulls``: as in ``duplicates_sql``.
    """
    names = [sql_name(key) for key in keys]
    without = "" if nulls else f" when {' is null or '.join(names)} is null then true"
    return f"""select * except (DBT_INTERNAL_COUNT)
from (
    select *, count(*) over (partition by {", ".join(names)}) as DBT_INTERNAL_COUNT
    from {rows}
)
where case when DBT_INTERNAL_COUNT = 1 then true{without} else {raise_sql(model, keys, "DBT_INTERNAL_COUNT")} end"""


def in_key_order_sql(rows: str, keys: Sequence[str]) -> str:
    """The rows as a parenthesised query, those of neighbouring keys beside each other.

    A table that is built of them has them in the same files, where what replaces rows by key finds them. Spark groups
    rows by key in the order that they have then, without another shuffle, unless a key is a float.
    """
    return f"(select /*+ repartition_by_range({sql_names(keys)}) */ * from {rows})"


def first_keys_sql(grouped: str) -> str:
    """The query that gives the first keys of a SELECT of ``key`` and ``times``, and how many it has."""
    return f"select key, times, count(*) over () as keys from ({grouped}) order by times desc, key limit {MOST_NAMED}"


def shown(keys: Sequence[str], alias: str | None = None) -> str:
    """A row's key as people read it."""
    return f"left(to_json(struct({sql_names(keys, alias)}), map('ignoreNullFields', 'false')), {_LONGEST_KEY})"

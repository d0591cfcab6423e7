"""Rows with the same key: expressions that fail within a statement, and queries for duplicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...errors import IncrementalError
from ...explain import model_errors
from ...sql import sql_name, sql_names, sql_string

MOST_NAMED = 5
_LONGEST_KEY = 200
_FOUND = "\0"


def raise_sql(model: str, keys: Sequence[str], count: str) -> str:
    """The expression that fails for a row whose key occurs several times. ``count``: the number, as SQL."""
    return raise_error_sql(partial(model_errors.duplicate_keys, model, keys), shown(keys), "' ('", count, "' times)'")


def raise_taken_sql(model: str, keys: Sequence[str], alias: str | None = None) -> str:
    """The expression that fails for an inserted row, under ``alias``, whose key already exists in the table."""
    return raise_error_sql(partial(model_errors.key_taken, model, keys), shown(keys, alias))


def raise_error_sql(error: Callable[[str], IncrementalError], *found: str) -> str:
    """The expression that fails with an error. ``found``: the expressions whose texts become the error's argument."""
    before, after = error(_FOUND).msg.split(_FOUND)
    return f"raise_error(concat({sql_string(before)}, {', '.join(found)}, {sql_string(after)}))"


def duplicates_sql(rows: str, keys: Sequence[str], *, nulls: bool = False) -> str:
    """The query for the first duplicate keys: key, number of rows, and number of duplicate keys.

    ``rows``: a relation, or a parenthesized query. ``nulls``: whether to include keys with a NULL, which a merge
    never matches.
    """
    present = "" if nulls else f"where {' and '.join(f'{sql_name(key)} is not null' for key in keys)} "
    return first_keys_sql(
        f"select {shown(keys)} as key, count(*) as times from {rows} {present}"
        f"group by {sql_names(keys)} having count(*) > 1"
    )


def unique_rows_sql(rows: str, keys: Sequence[str], model: str, *, nulls: bool = False) -> str:
    """The rows of a relation or of a parenthesized query. The query fails if two of them have the same key.

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
    """The rows as a parenthesized query, ordered so that rows with adjacent keys are next to each other.

    A table that is built from them has these rows in the same files, which helps statements that replace rows by key.
    Spark groups rows by key in this order without another shuffle, unless a key is a float.
    """
    return f"(select /*+ repartition_by_range({sql_names(keys)}) */ * from {rows})"


def first_keys_sql(grouped: str) -> str:
    """The query for the first keys of a SELECT of ``key`` and ``times``, and for their number."""
    return f"select key, times, count(*) over () as keys from ({grouped}) order by times desc, key limit {MOST_NAMED}"


def shown(keys: Sequence[str], alias: str | None = None) -> str:
    """A row's key as readable text."""
    return f"left(to_json(struct({sql_names(keys, alias)}), map('ignoreNullFields', 'false')), {_LONGEST_KEY})"

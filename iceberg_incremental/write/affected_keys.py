"""The summary of a view of affected keys, and the errors of the SQL that finds them."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import StatementError
from ..spark.port import Spark
from ..sql import sql_name
from .changelog import all_ends_sql, bounded, bounds_of
from .update_plan import Summary

_KEY = "DBT_INTERNAL_KEY"


def summarized(spark: Spark, view: str, key: Sequence[str], types: Sequence[str]) -> Summary:
    """Count and bound the keys of a view. ``types``: the Spark types of the key's columns."""
    columns = [f"count(*) as {_KEY}"]
    columns += [f"count({sql_name(name)})" for name in key]
    with_ends = bounded(key, types)
    columns += all_ends_sql(with_ends)
    ((count, *rest),) = spark.rows(f"select {', '.join(columns)} from {view}")
    keys = int(str(count))
    nulls = {name: keys - int(str(each)) for name, each in zip(key, rest[: len(key)], strict=True)}
    return Summary(view, keys, any(nulls.values()), tuple(types), bounds_of(with_ends, rest[len(key) :], nulls))


def is_of_own_sql(error: StatementError) -> bool:
    """Whether a statement failed with an error that the model's SQL itself may not raise.

    Such an error is caused by a value under ``spark.sql.ansi.enabled``, for example by text that is not a number or by
    an overflow, or is internal to Spark's optimizer.
    """
    return any(sign in str(error) for sign in ("SQLSTATE: 22", "SQLSTATE: XX", "key not found: "))

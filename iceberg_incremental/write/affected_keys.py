"""What is known of a view of affected keys."""

from __future__ import annotations

from collections.abc import Sequence

from ..spark.port import Spark
from ..sql import sql_name
from .changelog import all_ends_sql, bounded, bounds_of
from .kept_plan import Summary

_KEY = "DBT_INTERNAL_KEY"


def summarized(spark: Spark, view: str, key: Sequence[str], types: Sequence[str], alone: Sequence[str]) -> Summary:
    """Count and bound the keys of a view.

    ``types``: of the key's columns, by Spark's names. ``alone``: those of them whose distinct values are counted.
    """
    columns = [f"count(*) as {_KEY}"]
    columns += [f"count({sql_name(name)})" for name in key]
    with_ends = bounded(key, types)
    columns += all_ends_sql(with_ends)
    columns += [f"approx_count_distinct({sql_name(name)})" for name in alone]
    ((count, *rest),) = spark.rows(f"select {', '.join(columns)} from {view}")
    keys = int(str(count))
    nulls = {name: keys - int(str(each)) for name, each in zip(key, rest[: len(key)], strict=True)}
    ends, distinct = rest[len(key) : len(rest) - len(alone)], rest[len(rest) - len(alone) :]
    return Summary(
        view,
        keys,
        any(nulls.values()),
        tuple(types),
        bounds_of(with_ends, ends, nulls),
        dict(zip(alone, (int(str(each)) for each in distinct), strict=True)),
    )

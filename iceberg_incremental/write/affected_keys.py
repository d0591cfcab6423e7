"""What is known of a view of affected keys."""

from __future__ import annotations

from collections.abc import Sequence

from ..expose.value_range import ends_sql, has_ends
from ..spark.port import Spark
from ..sql import sql_name
from .changelog import bound_of
from .kept_plan import Summary

_KEY = "DBT_INTERNAL_KEY"


def summarized(spark: Spark, view: str, key: Sequence[str], types: Sequence[str], alone: Sequence[str]) -> Summary:
    """Count and bound the keys of a view.

    ``types``: of the key's columns, by Spark's names. ``alone``: those of them whose distinct values are counted.
    """
    columns = [f"count(*) as {_KEY}"]
    columns += [f"count({sql_name(name)})" for name in key]
    bounded = [(name, type_) for name, type_ in zip(key, types, strict=True) if has_ends(type_)]
    for name, type_ in bounded:
        columns += ends_sql(type_, f"min({sql_name(name)})", f"max({sql_name(name)})")
    columns += [f"approx_count_distinct({sql_name(name)})" for name in alone]
    ((count, *rest),) = spark.rows(f"select {', '.join(columns)} from {view}")
    keys = int(str(count))
    present = dict(zip(key, (int(str(each)) for each in rest[: len(key)]), strict=True))
    ends = rest[len(key) :]
    found = []
    for place, (name, type_) in enumerate(bounded):
        low, high = ends[2 * place : 2 * place + 2]
        found.append(bound_of(name, type_, low, high, keys - present[name]))
    return Summary(
        view,
        keys,
        any(each < keys for each in present.values()),
        tuple(types),
        tuple(bound for bound in found if bound is not None),
        dict(zip(alone, (int(str(each)) for each in ends[2 * len(bounded) :]), strict=True)),
    )

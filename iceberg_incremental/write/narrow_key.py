"""A key of fewer columns, by which about the same rows are replaced at a lower price.

Rows may be replaced by any columns of the result: all rows that share their values with an affected row are computed
again. One column that tells the affected rows apart is cheaper to compare than all of them, in each row of the table
and of the sources.
"""

from __future__ import annotations

from dataclasses import replace

from ..query.incremental_query import IncrementalQuery
from ..spark.port import Spark
from ..sql import sql_name
from ..table.spark_types import INTEGERS
from .update_plan import Summary

_FEWEST = 1_000
_REPEATED = 0.01
"""Of ``n`` affected keys, at most this share repeat a value that another one has.

With ``n`` draws from ``d`` values, about ``n / 2d`` of them do so. So there are at least ``50 n`` values, and the rows
that share one with an affected row are about a fiftieth of the table at most.
"""
_ERROR = 0.15
"""By how much Spark's approx_count_distinct may be wrong: three times its standard error."""


def narrowed(kept: IncrementalQuery, found: Summary, spark: Spark) -> tuple[IncrementalQuery, Summary]:
    """The query and its affected keys by one column, if one tells enough of them apart; else as they are."""
    chosen = most_selective(kept, found)
    if chosen is None or found.keys < _FEWEST:
        return kept, found
    ((count,),) = spark.rows(f"select count(distinct {sql_name(chosen)}) from {found.view}")
    if int(str(count)) < found.keys * (1 - _REPEATED):
        return kept, found
    types = (dict(zip(kept.key, found.types, strict=True))[chosen],)
    bounds = tuple(bound for bound in found.bounds if bound.column == chosen)
    return replace(kept, key=(chosen,), alone=()), replace(found, types=types, bounds=bounds)


def most_selective(kept: IncrementalQuery, found: Summary) -> str | None:
    """The column that may tell the affected keys apart, a whole number if one does; None where none does."""
    types = dict(zip(kept.key, found.types, strict=True))
    telling = [name for name, count in found.distinct.items() if count >= found.keys * (1 - _ERROR)]
    return min(telling, key=lambda name: (types[name] not in INTEGERS, -found.distinct[name]), default=None)

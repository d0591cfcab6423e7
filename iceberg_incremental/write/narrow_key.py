"""A key of fewer columns, by which about the same rows are replaced at a lower price.

Rows may be replaced by any columns of the result: all rows that share their values with an affected row are computed
again. One column that tells the affected rows apart is cheaper to compare than all of them, in each row of the table
and of the sources.
"""

from __future__ import annotations

from dataclasses import replace

from ..query.kept import KeptQuery
from ..spark.port import Spark
from ..sql import sql_name
from ..table.spark_types import INTEGERS
from .kept_plan import Summary

_FEWEST = 1_000
_REPEATED = 0.01
"""Of ``n`` affected keys, at most this share repeat a value that another one has.

With ``n`` draws from ``d`` values, about ``n / 2d`` of them do so. So there are at least ``50 n`` values, and the rows
that share one with an affected row are about a fiftieth of the table at most.
"""


def narrowed(kept: KeptQuery, found: Summary, spark: Spark) -> tuple[KeptQuery, Summary]:
    """The query and its affected keys by one column, where one tells enough of them apart; else as they are."""
    if len(kept.key) < 2 or not kept.alone or found.keys < _FEWEST:
        return kept, found
    listed = ", ".join(f"count(distinct {sql_name(name)})" for name in kept.alone)
    (counts,) = spark.rows(f"select {listed} from {found.view}")
    chosen = column_of(kept, found, [int(str(count)) for count in counts])
    if chosen is None:
        return kept, found
    types = (dict(zip(kept.key, found.types, strict=True))[chosen],)
    bounds = tuple(bound for bound in found.bounds if bound.column == chosen)
    return replace(kept, key=(chosen,), alone=()), replace(found, types=types, bounds=bounds)


def column_of(kept: KeptQuery, found: Summary, counts: list[int]) -> str | None:
    """The column to replace rows by; None to replace them by the whole key.

    ``counts``: how many values each column of ``kept.alone`` has among the affected keys, NULL not counted.
    """
    types = dict(zip(kept.key, found.types, strict=True))
    telling = [name for name, count in zip(kept.alone, counts, strict=True) if count >= found.keys * (1 - _REPEATED)]
    return min(telling, key=lambda name: types[name] not in INTEGERS, default=None)

"""A key of fewer columns, by which about the same rows are replaced at a lower price.

Rows may be replaced by any columns of the result: all rows that share their values with an affected row are computed
again. Columns of one source that tell the rows of the table apart are cheaper: to find the affected ones, the other
sources need not be joined, and fewer values are compared in each row of the table and of the sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..query.incremental_query import IncrementalQuery
from ..spark.port import Spark
from ..sql import sql_names
from ..table.spark_types import INTEGERS

SAMPLED_ROWS = 2_000
_FEWEST_ROWS = 1_000
_REPEATED = 0.001
"""Of ``n`` rows of the table, at most this share repeat a value that another one has.

With ``n`` draws from ``d`` values, about ``n / 2d`` of them do so. So there are at least ``500 n`` values.
"""


def selective(kept: IncrementalQuery, types: Mapping[str, str], table: str, spark: Spark) -> IncrementalQuery:
    """The query with the cheapest key that tells some rows of its table apart; as it is if none does.

    ``types``: of the table's columns, by their names in lower case.
    """
    narrower = kept.narrower()
    if not narrower:
        return kept
    names = list(dict.fromkeys(name for each in narrower for name in each.key))
    rows = spark.rows(f"select {sql_names(names)} from {table} limit {SAMPLED_ROWS}")
    telling = [each for each in narrower if tells_apart([names.index(name) for name in each.key], rows)]

    def price(each: IncrementalQuery) -> tuple[int, bool]:
        return len(each.key), any(types[name.lower()] not in INTEGERS for name in each.key)

    return min(telling, key=price, default=kept)


def tells_apart(places: Sequence[int], rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the values in some places tell nearly all rows apart. NULL tells none."""
    if len(rows) < _FEWEST_ROWS:
        return False
    values = {tuple(row[place] for place in places) for row in rows}
    return sum(None not in each for each in values) >= len(rows) * (1 - _REPEATED)

"""A key of fewer columns, by which about the same rows are replaced at a lower cost.

Any columns of the result can be the key: a run then replaces all rows that share their values with an affected row. If
columns of one source distinguish the rows of the table, they are a cheaper key. To find the affected keys, a run need
not join the other sources, and it compares fewer values in each row of the table and of the sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..query.plan import IncrementalQuery
from ..spark.port import Spark
from ..sql import sql_names
from ..table.spark_types import INTEGERS

SAMPLED_ROWS = 2_000
_FEWEST_ROWS = 1_000
_REPEATED = 0.001
"""The maximum share of ``n`` sampled rows that repeat the value of another row.

Of ``n`` draws from ``d`` values, a share of about ``n / 2d`` are repetitions. A smaller share therefore indicates at
least ``500 n`` values.
"""


def selective(kept: IncrementalQuery, types: Mapping[str, str], table: str, spark: Spark) -> IncrementalQuery:
    """The query with its cheapest narrower key that distinguishes a sample of its table's rows, or the query itself.

    ``table``: its name in SQL. ``types``: the Spark types of the table's columns, by lower-case name.
    """
    narrower = kept.narrower()
    if not narrower:
        return kept
    names = list(dict.fromkeys(name for each in narrower for name in each.key))
    rows = spark.rows(f"select {sql_names(names)} from {table} limit {SAMPLED_ROWS}")
    distinguishing = [each for each in narrower if tells_apart([names.index(name) for name in each.key], rows)]

    def cost(each: IncrementalQuery) -> tuple[int, bool]:
        return len(each.key), any(types[name.lower()] not in INTEGERS for name in each.key)

    return min(distinguishing, key=cost, default=kept)


def tells_apart(places: Sequence[int], rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the values at some positions distinguish nearly all rows. A row with a NULL is not distinguished."""
    if len(rows) < _FEWEST_ROWS:
        return False
    values = {tuple(row[place] for place in places) for row in rows}
    return sum(None not in each for each in values) >= len(rows) * (1 - _REPEATED)

"""Hints that let one task process a small number of rows.

Spark then plans no shuffle for the operations that follow, and therefore no further stages. If there are few rows,
planning and starting these stages is most of a statement's cost.
"""

from __future__ import annotations

from ..plan.ranges import NetRange

_FEW_ROWS = 50_000
"""One task processes up to this many rows, regardless of what a model's SQL does with each of them."""

_FEW_READ = 100_000
"""If at most this many rows are read to find them, one task also reads these rows."""


def in_one_task(rows: int, read: int) -> str:
    """The hint for a SELECT whose result one task processes. Empty if there are too many rows.

    ``rows``: the maximum number of rows in the result. ``read``: the number of rows that are read to find them.
    """
    if rows > _FEW_ROWS:
        return ""
    return "/*+ coalesce(1) */ " if read <= _FEW_READ else "/*+ repartition(1) */ "


def net_in_one_task(net: NetRange) -> str:
    """The hint for a SELECT of the added and removed rows of a range, including rows that were only moved."""
    files = net.read.files
    if files is None or net.rows is None:
        return ""
    moved = net.may_have_moved_rows or any(each.has_log for each in net.segments or (net,))
    return in_one_task(files.records if moved else net.rows, files.records)

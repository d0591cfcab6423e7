"""Having one task process few rows.

Spark then plans no shuffle for what follows, and so no further stages, each of which it would plan and start by itself.
For few rows that is most of what a statement costs.
"""

from __future__ import annotations

from ..plan.ranges import NetRange

_FEW_ROWS = 50_000
"""Up to this many rows are left to one task, whatever a model's SQL does with each of them."""

_FEW_READ = 100_000
"""Out of up to this many rows, one task also reads them."""


def in_one_task(rows: int, read: int) -> str:
    """The hint of a SELECT that has one task process its result; nothing where that is too much.

    ``rows``: how many it has at most. ``read``: how many rows are read to find them.
    """
    if rows > _FEW_ROWS:
        return ""
    return "/*+ coalesce(1) */ " if read <= _FEW_READ else "/*+ repartition(1) */ "


def net_in_one_task(net: NetRange) -> str:
    """The same of a SELECT of the rows that came and went in a range, those included that were only moved."""
    files = net.read.files
    if files is None or net.rows is None:
        return ""
    moved = not net.tells_rows_apart or any(each.has_log for each in net.segments or (net,))
    return in_one_task(files.records if moved else net.rows, files.records)

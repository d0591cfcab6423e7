"""A model with ``sequence_by`` that keeps the newest row of each ``k``. A late row replaces nothing.

Rows arrive in any order, because ``v`` is random.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from .kinds import Delta, Kind, Row, Rows


def _shaped(row: Row) -> Row:
    return (row[0], row[1], -1 if row[3] is None else row[3], row[2])


def _place(row: Row) -> tuple[Any, ...]:
    return row[2], row[3], row[0]


def _newest(before: Rows, seen: Delta) -> Rows:
    """Rows with NULL in the key replace no rows, and no rows replace them."""
    new = Counter(_shaped(row) for row in seen.new.elements())
    held: dict[Any, Row] = {}
    for row in (*before, *new):
        if row[1] is not None and (row[1] not in held or _place(row) > _place(held[row[1]])):
            held[row[1]] = row
    return Counter(held.values()) + Counter({row: n for row, n in (before + new).items() if row[1] is None})


NEWEST = Kind(
    "newest", "select id, k, coalesce(v, -1) as at, day from {{ ip_changes(SOURCE) }} as c", _newest,
    {"incremental_strategy": "merge", "unique_key": "k", "sequence_by": ["at", "day", "id"]},
    source=("changes",), policies=("fail", "upserts", "ignore", "full_refresh"), needs_key=True, is_exact=False,
)  # fmt: skip

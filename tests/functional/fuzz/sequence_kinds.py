"""A model that keeps the newest row of each key, by ``sequence_by``: a row that comes late replaces nothing."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

from .kinds import Delta, Kind, Row, Rows

_TIED = Counter([("rows of which none is the newest",)])
"""No model's table is this: it must have failed."""


def _shaped(row: Row) -> Row:
    return (row[0], row[1], -1 if row[3] is None else row[3], row[2])


def _place(row: Row) -> tuple[int, date]:
    return row[2], row[3]


def _newest(before: Rows, seen: Delta) -> Rows:
    held: dict[Any, Row] = {row[0]: row for row in before.elements()}
    new = {_shaped(row) for row in seen.new}
    for id_ in {row[0] for row in new}:
        rows = {row for row in new if row[0] == id_} | ({held[id_]} if id_ in held else set())
        last = max(map(_place, rows))
        newest = {row for row in rows if _place(row) == last}
        if len(newest) > 1:
            return _TIED
        (held[id_],) = newest
    return Counter(held.values())


NEWEST = Kind(
    "newest", "select id, k, coalesce(v, -1) as at, day from {{ ip_changes(SOURCE) }} as c", _newest,
    {"incremental_strategy": "merge", "unique_key": "id", "sequence_by": ["at", "day"]},
    source=("changes",), policies=("fail", "upserts", "ignore", "full_refresh"), needs_key=True, is_exact=False,
    excuse="the same sequence_by",
)  # fmt: skip

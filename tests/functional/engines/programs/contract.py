"""How a test talks to an engine: one JSON object per line in each direction, over the standard streams of a process.

This file and the programs run in the environment of the engines, which has neither pytest nor this package.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

SOURCE_COLUMNS = ("id", "part", "v", "amount")
"""The columns of a table that an engine writes: bigint, string, string, decimal(10, 2)."""
MODEL_COLUMNS = ("id", "v", "amount", "day", "seen_at")
"""The columns of a table that an engine reads: int, string, decimal(10, 2), date, timestamp."""
LOWEST, HIGHEST = 3, 8
"""The bounds of ``id`` in the filter with which an engine reads. Both are included."""

Row = tuple[int, str, str, str]

BASE: tuple[Row, ...] = (
    (1, "a", "x", "10.00"),
    (2, "a", "y", "20.00"),
    (3, "b", "x", "30.00"),
    (4, "b", "y", "40.50"),
    (5, "c", "z", "-5.25"),
    (6, "c", "z", "60.00"),
)
"""The rows with which an engine creates a table, in the order of SOURCE_COLUMNS."""
APPENDED: tuple[Row, ...] = ((7, "a", "x", "70.00"), (8, "d", "y", "80.00"))
DELETED = 2
"""The id of the row that an engine deletes. Another row of its data file remains."""
UPDATED = 3
"""The id of the row whose ``v`` an engine sets to NEW_VALUE."""
NEW_VALUE = "updated"
UPSERTED: tuple[Row, ...] = ((3, "b", "changed", "31.00"), (9, "d", "new", "90.00"))
"""One row replaces the row of its id, and one is new."""
REPLACEMENT: tuple[Row, ...] = ((1, "a", "x", "10.00"), (10, "e", "z", "100.00"))
"""The rows that replace the whole table. One of them is in BASE."""
PARTITION = "a"
OF_PARTITION: tuple[Row, ...] = ((1, "a", "x", "10.00"), (11, "a", "p", "110.00"))
"""The rows that replace PARTITION."""
CHANGES: tuple[tuple[str, Row], ...] = (
    ("INSERT", (12, "e", "first", "1.00")),
    ("UPDATE_BEFORE", (12, "e", "first", "1.00")),
    ("UPDATE_AFTER", (12, "e", "second", "2.00")),
    ("DELETE", (2, "a", "y", "20.00")),
    ("INSERT", (2, "a", "again", "20.00")),
    ("UPDATE_BEFORE", (3, "b", "x", "30.00")),
    ("UPDATE_AFTER", (3, "b", "changed", "31.00")),
    ("DELETE", (4, "b", "y", "40.50")),
)
"""A changelog that an engine commits at once. Two of its rows change twice."""
LAST: tuple[Row, ...] = ((20, "a", "last", "200.00"),)
"""The rows that an engine appends after each of its other operations."""


def dictionaries(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows as dictionaries by column, with amounts as decimals."""
    return [dict(zip(SOURCE_COLUMNS, (*row[:3], Decimal(row[3])), strict=True)) for row in rows]


def values(rows: Iterable[Row]) -> str:
    """Rows as in VALUES of SQL."""
    return ", ".join(f"({id_}, '{part}', '{v}', {amount})" for id_, part, v, amount in rows)


def local_path(uri: str) -> str:
    """The path of a local file, from a path or a URI such as ``file:/folder/file``."""
    return f"/{uri.removeprefix('file:').lstrip('/')}"


def plain(value: Any) -> Any:
    """A value as JSON represents it, the same for all engines. Times without a zone are in UTC."""
    if isinstance(value, Decimal):
        return f"{value:.2f}"
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return aware.astimezone(timezone.utc).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def serve(operations: Mapping[str, Callable[..., Any]]) -> None:
    """Answer requests until the standard input ends.

    A request names an ``operation``, and its other keys are the arguments. An answer has the ``result`` or the
    ``error``. Whatever an engine prints goes to the standard error.
    """
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = {"result": operations[request.pop("operation")](**request)}
            # The engines' own errors are results. Some engines' errors derive from BaseException (Rust panics).
            except BaseException as error:  # noqa: BLE001
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer, default=plain) + "\n")
            answers.flush()


def listed(rows: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    """The rows of a model's table in the form of an answer, ordered by ``id``."""
    found = [[plain(row[column]) for column in MODEL_COLUMNS] for row in rows]
    return sorted(found, key=lambda row: (row[0] is None, row[0]))

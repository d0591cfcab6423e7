"""The rows and types of a relation as they are compared: as GROUP BY compares values, and maps without an order."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

Rows = Counter[tuple[Any, ...]]


def rows_of(session: Any, sql: str) -> tuple[list[tuple[str, str]], Rows]:
    """The columns of a query, with the types that an Iceberg table has for them, and its rows."""
    frame = session.sql(sql)
    types = [(name.lower(), stored(type_)) for name, type_ in frame.dtypes]
    columns = [f"c{at}" for at in range(len(types))]
    # instants as numbers: Python's local times of two instants may be equal
    shown = [
        f"unix_micros({column}) as {column}" if type_ == "timestamp" else column
        for column, (_, type_) in zip(columns, types, strict=True)
    ]
    return types, Counter(tuple(map(plain, row)) for row in frame.toDF(*columns).selectExpr(*shown).collect())


def stored(type_: str) -> str:
    """The type of an Iceberg column for a type of Spark."""
    return re.sub(r"\b(tinyint|smallint)\b", "int", type_)


def plain(value: Any) -> Any:
    """A value that can be hashed: -0.0 is 0.0, NaN equals itself."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return frozenset((plain(key), plain(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return value


def differences(expected: Rows, found: Rows) -> list[str]:
    """Some of the rows that are not in both."""
    lines = []
    for title, rows in (("missing", expected - found), ("too many", found - expected)):
        lines += [f"  {title}: {row}" + (f" x{n}" if n > 1 else "") for row, n in sorted(rows.items(), key=str)[:10]]
    return lines

"""The rows and types of a relation for comparisons. Values compare as in GROUP BY, and maps have no order."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

Rows = Counter[tuple[Any, ...]]


def rows_of(session: Any, sql: str) -> tuple[list[tuple[str, str]], Rows]:
    """The columns of a query, with their types in an Iceberg table, and its rows."""
    frame = session.sql(sql)
    types = [(name.lower(), stored(type_)) for name, type_ in frame.dtypes]
    columns = [f"c{at}" for at in range(len(types))]
    # instants as numbers, because Python's local times of two instants may be equal
    shown = [
        f"unix_micros({column}) as {column}" if type_ == "timestamp" else column
        for column, (_, type_) in zip(columns, types, strict=True)
    ]
    return types, Counter(tuple(map(plain, row)) for row in frame.toDF(*columns).selectExpr(*shown).collect())


def stored(type_: str) -> str:
    """The type of an Iceberg column for a type of Spark."""
    return re.sub(r"\b(tinyint|smallint)\b", "int", type_)


def plain(value: Any) -> Any:
    """A value that can be hashed. -0.0 becomes 0.0, and NaN equals itself."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return frozenset((plain(key), plain(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return value


def differences(expected: Rows, found: Rows) -> list[str]:
    """Some of the rows that only one side has."""
    lines = []
    for title, rows in (("missing", expected - found), ("too many", found - expected)):
        lines += [f"  {title}: {row}" + (f" x{n}" if n > 1 else "") for row, n in sorted(rows.items(), key=str)[:10]]
    return lines

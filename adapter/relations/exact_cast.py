"""Casts that raise an error instead of returning NULL."""

from __future__ import annotations

from iceberg_incremental.sql import sql_string


def exact_cast(value: str, kind: str, before: str, after: str) -> str:
    """An expression cast to a type. A value that the type cannot hold raises an error: the value between two texts."""
    error = f"raise_error(concat({sql_string(before)}, {value}, {sql_string(after)}))"
    return f"coalesce(try_cast({value} as {kind}), if({value} is null, null, {error}))"

"""Casts that raise an error instead of returning NULL."""

from __future__ import annotations

from iceberg_incremental.errors import message
from iceberg_incremental.sql import sql_string


def exact_cast(value: str, kind: str, column: str, what: str, fix: str) -> str:
    """An expression cast to the type of a column. A value that the type cannot hold raises an error, which shows it."""
    text = message(what, expected=f"{kind}, in the column {column}.", found="'\0'.", fix=fix)
    before, after = text.split("\0")
    error = f"raise_error(concat({sql_string(before)}, {value}, {sql_string(after)}))"
    return f"coalesce(try_cast({value} as {kind}), if({value} is null, null, {error}))"

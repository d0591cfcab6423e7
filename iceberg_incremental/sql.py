"""Writing values and names as Spark SQL."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from .names import plain_name, sql_name, sql_names

__all__ = ["plain_name", "property_value", "sql_name", "sql_names", "sql_string", "sql_value", "statements", "unused"]

_ESCAPES = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\0": "\\0",
    # Spark replaces ${name} in the text of every statement, inside of literals too.
    "$": "\\u0024",
}

_DIGITS = 38


def sql_string(value: object) -> str:
    """A value's text as a Spark SQL string literal, quotes included."""
    return "'" + "".join(_ESCAPES.get(c, c) for c in str(value)) + "'"


def sql_properties(properties: Mapping[str, object]) -> str:
    """The list of table properties in a Spark SQL statement, in brackets."""
    return "(" + ", ".join(f"{sql_string(key)} = {sql_string(value)}" for key, value in properties.items()) + ")"


def sql_value(value: Any) -> str:
    """A Python value as a Spark SQL literal.

    Raises TypeError for a type that has none.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        text = format(value, "f")
        # Spark's decimals have 38 digits; a cast from text takes what is longer.
        return text if len(text.strip("-.")) < _DIGITS else sql_string(text)
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, datetime.datetime):
        return f"timestamp {sql_string(value.isoformat(sep=' '))}"
    if isinstance(value, datetime.date):
        return f"date {sql_string(value.isoformat())}"
    if isinstance(value, str):
        return sql_string(value)
    raise TypeError(f"A value of type {type(value).__name__} cannot be written in Spark SQL: {value!r}.")


def property_value(value: Any) -> str:
    """A table property's value as a literal: a boolean as Iceberg reads it, anything else as its text."""
    return sql_string(str(value).lower() if isinstance(value, bool) else value)


def statements(text: str) -> list[str]:
    """The statements of a text, which semicolons part; one in a literal, a name or a comment does not part."""
    found, start, i, length = [], 0, 0, len(text)
    while i < length:
        if text.startswith("--", i):
            i = _after(text, "\n", i)
        elif text.startswith("/*", i):
            i = _after(text, "*/", i + 2)
        elif text[i] in "'\"`":
            i = _end_of_quoted(text, i)
        elif text[i] == ";":
            found.append(text[start:i])
            start = i = i + 1
        else:
            i += 1
    found.append(text[start:])
    return [statement.strip() for statement in found if statement.strip()]


def _after(text: str, mark: str, start: int) -> int:
    at = text.find(mark, start)
    return len(text) if at < 0 else at + len(mark)


def _end_of_quoted(text: str, start: int) -> int:
    quote, i = text[start], start + 1
    while i < len(text) and text[i] != quote:
        i += 2 if text[i] == "\\" and quote != "`" else 1
    return i + 1


def unused(name: str, taken: Sequence[str]) -> str:
    """A name for a column of ours that no column of a relation has."""
    while name in (each.lower() for each in taken):
        name += "_"
    return name

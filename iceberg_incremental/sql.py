"""Values and names as Spark SQL."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from .names import namespace_levels, namespace_sql, namespaces_around, plain_name, sql_name, sql_names

__all__ = [
    "namespace_levels",
    "namespace_sql",
    "namespaces_around",
    "plain_name",
    "property_value",
    "sql_name",
    "sql_names",
    "sql_string",
    "sql_value",
    "statements",
    "unused",
]

_ESCAPES = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\0": "\\0",
    # Spark substitutes ${name} in the text of every statement, including in literals.
    "$": "\\u0024",
}

_DIGITS = 38

_STATEMENT = re.compile(
    r"""(?: --[^\n]*                             # a comment, up to the end of its line
        | /\*.*?(?:\*/|\Z)                       # a comment
        | (['"])(?:\\.?|(?!\1)[^\\])*(?:\1|\Z)   # a literal
        | `[^`]*(?:`|\Z)                         # a name
        | [^;] )+""",
    re.DOTALL | re.VERBOSE,
)


def sql_string(value: object) -> str:
    """A value's text as a Spark SQL string literal, including quotes."""
    return "'" + "".join(_ESCAPES.get(c, c) for c in str(value)) + "'"


def sql_properties(properties: Mapping[str, object]) -> str:
    """A parenthesized list of table properties for a Spark SQL statement."""
    return "(" + ", ".join(f"{sql_string(key)} = {sql_string(value)}" for key, value in properties.items()) + ")"


def sql_value(value: Any) -> str:
    """A Python value as a Spark SQL literal.

    Raises TypeError for a type without literals.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        text = format(value, "f")
        whole, _, fraction = text.partition(".")
        # Spark's decimal literals have up to 38 digits. Longer values are written as text.
        return text if len(whole.lstrip("-0") + fraction) <= _DIGITS else sql_string(text)
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
    """A table property's value as a literal: booleans as Iceberg reads them, other values as text."""
    return sql_string(str(value).lower() if isinstance(value, bool) else value)


def statements(text: str) -> list[str]:
    """The statements of a text, separated by semicolons outside of literals, names and comments."""
    return [found for each in _STATEMENT.finditer(text) if (found := each[0].strip())]


def unused(name: str, taken: Sequence[str]) -> str:
    """A name for an internal column that differs from a relation's columns."""
    while name in (each.lower() for each in taken):
        name += "_"
    return name

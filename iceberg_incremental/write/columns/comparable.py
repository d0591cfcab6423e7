"""Forms of values that can be compared and grouped: values of all types, including maps and variants."""

from __future__ import annotations

from collections.abc import Mapping

from ...sql import sql_name, sql_string
from ...table.types import SparkType


def comparable_sql(value: str, type_: SparkType, depth: int = 0) -> str:
    """A value in a form that groups equal values: a map as its sorted entries, a variant as its text.

    Spark can also group by maps, but its ``map_sort`` does not support NULL values (Spark 4.1).
    """
    if type_.name == "variant":
        return f"to_json({value})"
    if not _needs_form(type_):
        return value
    parts = dict(type_.parts)
    if type_.name == "struct":
        return struct_sql(
            value, {name: comparable_sql(f"{value}.{sql_name(name)}", part, depth) for name, part in type_.parts}
        )
    item = f"`_ip_{depth}`"
    if type_.name == "array":
        return f"transform({value}, {item} -> {comparable_sql(item, parts['0'], depth + 1)})"
    key, entry = (comparable_sql(f"{item}.{name}", parts[place], depth + 1) for name, place in _ENTRY)
    return f"array_sort(transform(map_entries({value}), {item} -> named_struct('key', {key}, 'value', {entry})))"


_ENTRY = (("key", "0"), ("value", "1"))


def _needs_form(type_: SparkType) -> bool:
    return type_.name in ("map", "variant") or any(_needs_form(part) for _, part in type_.parts)


def struct_sql(value: str, fields: Mapping[str, str]) -> str:
    """A struct with these fields, by name. NULL if ``value`` is NULL."""
    listed = ", ".join(f"{sql_string(name)}, {field}" for name, field in fields.items())
    return f"if({value} is null, null, named_struct({listed}))"

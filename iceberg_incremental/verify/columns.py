"""The columns by which a table and its rebuild are compared, and comparable forms of their values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..plan.policy import Policy, Strategy
from ..sql import plain_name, sql_name
from ..table.types import SparkType, as_written, has_floats, parsed
from ..write.columns.comparable import comparable_sql, struct_sql
from ..write.columns.table_columns import Typed

_UNCOMPARED = ("geometry", "geography")
_ROUNDED = {"double": "1e-9D", "float": "1e-6D"}
"""The relative differences of floating-point numbers that can result from another order of summation."""


@dataclass(frozen=True)
class ComparedColumn:
    """A column of both sides. ``rebuilt``, ``table``: SQL of its values, with the same type, which can be grouped."""

    name: str
    dtype: str
    rebuilt: str
    table: str

    @property
    def has_floats(self) -> bool:
        """Whether the type is or contains a floating-point type."""
        return has_floats(self.dtype)

    @property
    def rounding(self) -> str | None:
        """The relative difference up to which two values differ only by rounding. None if they must be equal."""
        return _ROUNDED.get(self.dtype.lower())


@dataclass(frozen=True)
class ComparedColumns:
    """The compared columns, and the columns that are not compared, by reason."""

    compared: Sequence[ComparedColumn]
    left_out: Mapping[str, Sequence[str]]


def compared_columns(rebuilt: Sequence[Typed], table: Sequence[Typed], kept: Collection[str] = ()) -> ComparedColumns:
    """The common columns of a rebuild and a table, with the table's names and types, and the other columns.

    ``kept``: the names of columns whose old values a run keeps, because of a merge config.
    """
    given = {column.name.lower(): column for column in rebuilt}
    known = {column.name.lower() for column in table}
    old = {plain_name(name).lower() for name in kept}
    compared: list[ComparedColumn] = []
    keeps: list[str] = []
    types: list[str] = []
    for column in table:
        name = column.name.lower()
        if name not in given:
            continue
        if name in old:
            keeps.append(column.name)
        elif any(each in str(column.dtype).lower() for each in _UNCOMPARED):
            types.append(column.name)
        else:
            compared.append(_compared(column, str(given[name].dtype)))
    left_out = {
        "only the table has them": [each.name for each in table if each.name.lower() not in given],
        "only the SQL has them": [each.name for each in rebuilt if each.name.lower() not in known],
        "a merge keeps their old values": keeps,
        "their types cannot be compared": types,
    }
    return ComparedColumns(compared, {reason: names for reason, names in left_out.items() if names})


def kept_columns(policy: Policy, config: Mapping[str, Any], table: Sequence[Typed]) -> list[str]:
    """The columns of a table whose old values a model's merges keep. ``config``: the model's config."""
    if policy.strategy not in (Strategy.MERGE, Strategy.APPLY_CHANGES):
        return []
    updated, excluded = (_names(config.get(f"merge_{each}_columns")) for each in ("update", "exclude"))
    if not updated:
        return [column.name for column in table if column.name.lower() in excluded]
    return [column.name for column in table if column.name.lower() not in updated | _names(policy.unique_key)]


def _names(value: str | Sequence[str] | None) -> set[str]:
    return {plain_name(name).lower() for name in ([value] if isinstance(value, str) else value or ())}


def _compared(column: Typed, given: str) -> ComparedColumn:
    name, dtype = sql_name(column.name), str(column.dtype)
    type_ = as_written(dtype)
    reordered = _reordered(name, parsed(given), parsed(dtype))
    value = name if given.lower() == dtype.lower() else f"cast({reordered} as {dtype})"
    return ComparedColumn(column.name, dtype, comparable_sql(value, type_), comparable_sql(name, type_))


def _reordered(value: str, given: SparkType, wanted: SparkType, depth: int = 0) -> str:
    """A value whose struct fields are in the order of another type, if both have the same fields.

    A cast assigns fields by position, not by name.
    """
    parts = dict(given.parts)
    if given.name != wanted.name or parts.keys() != dict(wanted.parts).keys():
        return value
    if given.name == "struct":
        fields = {
            name: _reordered(f"{value}.{sql_name(name)}", parts[name], part, depth) for name, part in wanted.parts
        }
        return struct_sql(value, fields)
    if given.name not in ("array", "map"):
        return value
    place, item = wanted.parts[-1][0], f"`_ip_{depth}`"
    changed = _reordered(item, parts[place], wanted.parts[-1][1], depth + 1)
    if given.name == "array":
        return f"transform({value}, {item} -> {changed})"
    return f"transform_values({value}, (`_ip_key_{depth}`, {item}) -> {changed})"

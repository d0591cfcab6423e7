"""Reading the rows of an older snapshot with the columns of a newer one. Fields are matched by id."""

from __future__ import annotations

from collections.abc import Sequence

from ..sql import sql_name, sql_string
from ..table.files import TableColumn
from ..table.types import IcebergType, has_maps, parts_of
from .literals import sql_type


def projected(older: Sequence[TableColumn], newer: Sequence[TableColumn]) -> list[str]:
    """Expressions over the older columns for the newer columns, in the order of the newer columns.

    A column that was added later is NULL or its initial default. A promoted type is not converted, because the UNION
    with rows of the newer type widens it.
    """
    known = {column.field_id: column for column in older}
    return [
        _default(column)
        if column.field_id not in known
        else _converted(sql_name(known[column.field_id].name), known[column.field_id].type, column.type, 0)
        for column in newer
    ]


def sortable(expression: str, type_: IcebergType, depth: int = 0) -> str:
    """A value in a form in which equal values group together: each map as an array of its entries, sorted by key.

    Spark can also group by maps, but its ``map_sort`` does not accept NULL values (tested with Spark 4.1).
    """
    if isinstance(type_, str) or not has_maps(type_):
        return expression
    if type_["type"] == "struct":
        fields = []
        for field in type_["fields"]:
            inner = sortable(f"{expression}.{sql_name(field['name'])}", field["type"], depth)
            fields.append(f"{sql_string(field['name'])}, {inner}")
        return f"if({expression} is null, null, named_struct({', '.join(fields)}))"
    item = f"`_ip_{depth}`"
    if type_["type"] == "list":
        return f"transform({expression}, {item} -> {sortable(item, type_['element'], depth + 1)})"
    key, value = (sortable(f"{item}.{part}", type_[part], depth + 1) for part in ("key", "value"))
    return f"array_sort(transform(map_entries({expression}), {item} -> named_struct('key', {key}, 'value', {value})))"


def _converted(expression: str, older: IcebergType, newer: IcebergType, depth: int) -> str:
    """An expression of the older type in the shape of the newer type. ``depth`` makes lambda variables unique."""
    if isinstance(older, str) or isinstance(newer, str) or _shape(older) == _shape(newer):
        return expression
    if newer["type"] == "struct":
        known = {field["id"]: field for field in older["fields"]}
        fields = []
        for field in newer["fields"]:
            was = known.get(field["id"])
            column = TableColumn(field["id"], field["name"], field["type"], field.get("initial-default"))
            value = (
                _default(column)
                if was is None
                else _converted(f"{expression}.{sql_name(was['name'])}", was["type"], field["type"], depth)
            )
            fields.append(f"{sql_string(field['name'])}, {value}")
        return f"if({expression} is null, null, named_struct({', '.join(fields)}))"
    item = f"`_ip_{depth}`"
    if newer["type"] == "list":
        element = _converted(item, older["element"], newer["element"], depth + 1)
        return f"transform({expression}, {item} -> {element})"
    key, value = f"`_ip_key_{depth}`", f"`_ip_value_{depth}`"
    keys = _converted(key, older["key"], newer["key"], depth + 1)
    values = _converted(value, older["value"], newer["value"], depth + 1)
    return f"transform_keys(transform_values({expression}, ({key}, {value}) -> {values}), ({key}, {value}) -> {keys})"


def _shape(type_: IcebergType) -> object:
    """A type without details that do not affect how a value is read: docs, defaults, and whether it is required."""
    if isinstance(type_, str):
        return type_
    if type_["type"] == "struct":
        return [(field["id"], field["name"], _shape(field["type"])) for field in type_["fields"]]
    return [type_["type"], *(_shape(part) for part in parts_of(type_))]


def _default(column: TableColumn) -> str:
    """The initial default of a column as SQL. Iceberg's single-value serialization defines its JSON."""
    if column.default is None or not isinstance(column.type, str):
        return "null"
    if column.type == "binary" or column.type.startswith("fixed"):
        return f"unhex({sql_string(column.default)})"
    text = str(column.default).lower() if isinstance(column.default, bool) else str(column.default)
    return f"cast({sql_string(text)} as {sql_type(column.type)})"

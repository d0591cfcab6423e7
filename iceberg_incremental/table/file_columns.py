"""Whether the columns of a table's data files can be read by name, as engines without table metadata read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .changed_files import TableColumn

NAME_MAPPING = "schema.name-mapping.default"
"""The property with names by field id, as JSON, for files without field ids, such as those of add_files."""
_BASIC_PLANE = 0xFFFF


def readable_by_name(
    schemas: Mapping[int, Sequence[TableColumn]], columns: Sequence[TableColumn], name_mapping: str | None = None
) -> bool:
    """Whether each name in a file of any of a table's schemas refers to the same column as in ``columns``.

    ``schemas``: all schemas that the table has had, by id. Ids start at 0, so a gap means that a schema is unknown. A
    column that a file lacks is NULL in its rows, unless the column has a default. The case of names is ignored, as in
    engines that ignore it. ``name_mapping``: the table property ``NAME_MAPPING``.
    """
    by_id = {column.field_id: column for column in columns}
    by_name = {column.name.lower(): column for column in columns}
    if len(by_name) < len(columns) or schemas.keys() != set(range(len(schemas))):
        return False
    if any(column.default is not None for column in columns):
        return False
    names = dict(_names(columns))
    if not all(map(_is_written_as_it_is, names.values())) or not _maps_to_themselves(name_mapping, names):
        return False
    return all(
        _is_same(column, by_id.get(column.field_id)) and _is_same(column, by_name.get(column.name.lower()))
        for schema in schemas.values()
        for column in schema
    )


def _is_same(column: TableColumn, other: TableColumn | None) -> bool:
    """Whether the other column does not exist or is the same column."""
    return other is None or (column.field_id, column.name, column.type) == (other.field_id, other.name, other.type)


def _names(columns: Sequence[TableColumn]) -> Iterator[tuple[int, str]]:
    """The field ids and names of columns, including the fields of nested structs."""
    for column in columns:
        yield column.field_id, column.name
        yield from _nested(column.type)


def _nested(type_: Any) -> Iterator[tuple[int, str]]:
    if not isinstance(type_, Mapping):
        return
    for field in type_.get("fields", ()):
        yield field["id"], field["name"]
        yield from _nested(field["type"])
    for part in ("element", "key", "value"):
        yield from _nested(type_.get(part))


def _is_written_as_it_is(name: str) -> bool:
    """Whether Iceberg's writers keep a name in Parquet files. For example, "flight id" becomes "flight_x20id".

    They keep names that are valid in Avro, by Java's 16-bit letters and digits (AvroSchemaUtil.makeCompatibleName).
    """
    kept = all(ord(each) <= _BASIC_PLANE and (each.isalpha() or each.isdecimal() or each == "_") for each in name)
    return kept and not name[:1].isdecimal()


def _maps_to_themselves(name_mapping: str | None, names: Mapping[int, str]) -> bool:
    """Whether the mapping assigns each column exactly its own name."""
    if name_mapping is None:
        return True
    try:
        mapped = dict(_mapped(json.loads(name_mapping)))
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return all(mapped.get(field_id, [name]) == [name] for field_id, name in names.items())


def _mapped(fields: Any) -> Iterator[tuple[int, Any]]:
    for field in fields:
        if "field-id" in field:
            yield field["field-id"], field["names"]
        yield from _mapped(field.get("fields") or ())

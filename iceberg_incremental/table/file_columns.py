"""Whether the columns of a table's data files can be read by their names, as engines do that know only the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .changed_files import TableColumn


def readable_by_name(schemas: Mapping[int, Sequence[TableColumn]], columns: Sequence[TableColumn]) -> bool:
    """Whether each name in a file of any of a table's schemas means the same column as in ``columns``.

    ``schemas``: all that the table has had, by their ids, which count from 0: with a gap, one of them is not known. A
    column that a file lacks is NULL in its rows, unless the column has a default. Names are compared as engines do that
    ignore their case.
    """
    by_id = {column.field_id: column for column in columns}
    by_name = {column.name.lower(): column for column in columns}
    if len(by_name) < len(columns) or schemas.keys() != set(range(len(schemas))):
        return False
    if any(column.default is not None for column in columns):
        return False
    return all(
        _is_same(column, by_id.get(column.field_id)) and _is_same(column, by_name.get(column.name.lower()))
        for schema in schemas.values()
        for column in schema
    )


def _is_same(column: TableColumn, other: TableColumn | None) -> bool:
    """Whether there is no other column, or it is the same one."""
    return other is None or (column.field_id, column.name, column.type) == (other.field_id, other.name, other.type)

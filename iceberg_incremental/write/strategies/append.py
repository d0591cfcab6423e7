"""The strategy ``append``: inserts the new rows."""

from __future__ import annotations

from collections.abc import Sequence

from ...sql import sql_name
from ..columns.table_columns import Named


def append_sql(target: str, rows: str, columns: Sequence[Named]) -> str:
    """The INSERT of the rows of a relation."""
    listed = ", ".join(sql_name(column.name) for column in columns)
    return f"insert into {target} ({listed})\nselect {listed}\nfrom {rows}"


def insert_overwrite_sql(target: str, rows: str, columns: Sequence[Named], values: Sequence[str]) -> str:
    """The INSERT OVERWRITE of the rows of a relation. ``values``: the values of the columns, as expressions."""
    listed = ", ".join(sql_name(column.name) for column in columns)
    return f"insert overwrite {target} ({listed})\nselect {', '.join(values)}\nfrom {rows}"

"""The strategy ``insert_overwrite``: the new rows replace their partitions."""

from __future__ import annotations

from collections.abc import Sequence

from ..sql import sql_name
from .columns import Named


def insert_overwrite_sql(target: str, rows: str, columns: Sequence[Named], values: Sequence[str]) -> str:
    """The INSERT OVERWRITE of the rows of a relation. ``values``: the values of the columns, as expressions."""
    listed = ", ".join(sql_name(column.name) for column in columns)
    return f"insert overwrite {target} ({listed})\nselect {', '.join(values)}\nfrom {rows}"

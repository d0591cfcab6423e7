"""The strategy ``insert_overwrite``: the new rows take the place of the partitions that they fall into."""

from __future__ import annotations

from collections.abc import Sequence

from ..sql import sql_name
from .columns import Named


def insert_overwrite_sql(target: str, rows: str, columns: Sequence[Named], values: Sequence[str]) -> str:
    """The INSERT OVERWRITE of the rows of a relation. ``values``: what goes into the columns, as expressions."""
    listed = ", ".join(sql_name(column.name) for column in columns)
    return f"insert overwrite {target} ({listed})\nselect {', '.join(values)}\nfrom {rows}"

"""Comments on tables, views and columns, from the model's descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base.relation import BaseRelation

from iceberg_incremental.metadata.describe import Description
from iceberg_incremental.sql import sql_name, sql_string

from .lookup import RelationLookup

ModelColumns = Mapping[str, Mapping[str, Any]]
"""The columns in a model's properties, by name."""


def view_columns(names: Sequence[str], columns: ModelColumns) -> list[str]:
    """A view's column list, with comments from the model."""
    comments = {str(name).lower(): column.get("description") for name, column in columns.items()}
    return [
        sql_name(name) + (f" comment {sql_string(comment)}" if (comment := comments.get(name.lower())) else "")
        for name in names
    ]


def statements(table: str, now: Description, description: str | None, columns: ModelColumns) -> list[str]:
    """The statements that change a table's comments to those of the model. Empty if they are the same.

    ``table``: its name in Spark SQL. ``now``: Spark's description of the table.
    """
    found = []
    if description and description != now.details.get("Comment"):
        found.append(f"comment on table {table} is {sql_string(description)}")
    known = {column.name.lower(): column for column in now.columns}
    for name, comment in ((name, column.get("description")) for name, column in columns.items()):
        if comment and comment != (same := known[name.lower()]).comment:
            found.append(f"alter table {table} alter column {sql_name(same.name)} comment {sql_string(comment)}")
    return found


class Comments:
    """SQL for comments, from the project's descriptions."""

    def __init__(self, lookup: RelationLookup) -> None:
        self._lookup = lookup

    def statements(self, relation: BaseRelation, description: str | None, columns: ModelColumns) -> list[str]:
        """The statements that change a table's comments to those of the model.

        Empty if they are the same, and for views.
        """
        if relation.is_view or not (description or columns):
            return []
        return statements(relation.render(), self._lookup.description(relation), description, columns)

    view_columns = staticmethod(view_columns)

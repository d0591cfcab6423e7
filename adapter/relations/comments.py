"""Comments on tables, views and their columns, as the model's descriptions have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base.relation import BaseRelation

from iceberg_incremental.metadata.describe import Description
from iceberg_incremental.sql import sql_name, sql_string

from .lookup import RelationLookup

ModelColumns = Mapping[str, Mapping[str, Any]]
"""The columns that a model describes, by name."""


def view_columns(names: Sequence[str], columns: ModelColumns) -> list[str]:
    """A view's column list, with the comments that the model gives."""
    comments = {str(name).lower(): column.get("description") for name, column in columns.items()}
    return [
        sql_name(name) + (f" comment {sql_string(comment)}" if (comment := comments.get(name.lower())) else "")
        for name in names
    ]


def statements(table: str, now: Description, description: str | None, columns: ModelColumns) -> list[str]:
    """The statements that bring a table's comments up to the model's; none where they are.

    ``table``: its name in Spark SQL. ``now``: how Spark describes it.
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
    """The comments of the project's descriptions, as SQL."""

    def __init__(self, lookup: RelationLookup) -> None:
        self._lookup = lookup

    def statements(self, relation: BaseRelation, description: str | None, columns: ModelColumns) -> list[str]:
        """The statements that bring a table's comments up to the model's; none where they are, and none for a view."""
        if relation.is_view or not (description or columns):
            return []
        return statements(relation.render(), self._lookup.description(relation), description, columns)

    view_columns = staticmethod(view_columns)

"""Altering a target's columns before rows are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ...sql import sql_name
from .table_columns import SchemaChanges, Typed

_Column = TypeVar("_Column", bound=Typed)


def alter_statements(table: str, changes: SchemaChanges[_Column]) -> Iterator[str]:
    """The ALTER statements for a table. ``table``: its name in SQL."""
    if changes.added:
        added = ", ".join(f"{sql_name(column.name)} {column.dtype}" for column in changes.added)
        yield f"alter table {table} add columns ({added})"
    if changes.removed:
        yield f"alter table {table} drop columns ({', '.join(sql_name(column.name) for column in changes.removed)})"
    for column in changes.retyped:
        yield f"alter table {table} alter column {sql_name(column.name)} type {column.dtype}"


def altered_columns(changes: SchemaChanges[_Column], columns: Sequence[_Column]) -> list[_Column]:
    """The columns of a target after it is altered. The columns must be dataclasses."""
    types = {column.name.lower(): column.dtype for column in changes.retyped}
    removed = {column.name for column in changes.removed}
    kept: list[Any] = [column for column in columns if column.name not in removed]
    altered = [replace(column, dtype=types.get(column.name.lower(), column.dtype)) for column in kept]
    return [*altered, *changes.added]

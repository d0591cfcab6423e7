"""Model contracts: Iceberg makes no NOT NULL column in CREATE TABLE AS, so the query itself stops the NULLs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from iceberg_incremental.sql import sql_name, sql_string


def not_null_columns(columns: Mapping[str, Mapping[str, Any]], constraints: Iterable[Mapping[str, Any]]) -> set[str]:
    """The columns that a model's own or its columns' constraints declare not_null, in lower case."""
    of_columns = {
        name.lower()
        for name, column in columns.items()
        for c in column.get("constraints") or ()
        if _kind(c) == "not_null"
    }
    of_model = {str(name).lower() for c in constraints if _kind(c) == "not_null" for name in c.get("columns") or ()}
    return of_columns | of_model


def select_list(model: Mapping[str, Any]) -> list[str]:
    """The contract's columns as select expressions, in its order; a NULL where there must be none raises an error."""
    columns = model.get("columns") or {}
    stopped = not_null_columns(columns, model.get("constraints") or ())
    return [_expression(name, name.lower() in stopped) for name in columns]


def _expression(name: str, not_null: bool) -> str:
    column = sql_name(name)
    if not not_null:
        return column
    message = sql_string(f"NULL in column {name}, which the model's contract declares not_null")
    return f"coalesce({column}, raise_error({message})) as {column}"


def _kind(constraint: Mapping[str, Any]) -> str:
    kind = constraint.get("type")
    return str(getattr(kind, "value", kind))

"""Model contracts. Spark's CREATE TABLE AS makes all columns nullable, so the query itself rejects NULLs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.sql import sql_name, sql_string

from ..spark.connections import SparkIcebergConnectionManager
from .lookup import ICEBERG, RelationLookup

logger = AdapterLogger("Spark")


def not_null_columns(columns: Mapping[str, Mapping[str, Any]], constraints: Iterable[Mapping[str, Any]]) -> set[str]:
    """The columns for which the model or the column has a not_null constraint, in lower case."""
    of_columns = {
        name.lower()
        for name, column in columns.items()
        for c in column.get("constraints") or ()
        if _kind(c) == "not_null"
    }
    of_model = {str(name).lower() for c in constraints if _kind(c) == "not_null" for name in c.get("columns") or ()}
    return of_columns | of_model


def select_list(model: Mapping[str, Any]) -> list[str]:
    """The columns of a model's contract as select expressions, in order. A NULL in a not_null column is an error."""
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


class Contracts:
    """The requirements of a model's contract for its query and its table."""

    def __init__(self, connections: SparkIcebergConnectionManager, lookup: RelationLookup) -> None:
        self._connections = connections
        self._lookup = lookup

    select_list = staticmethod(select_list)

    def require_not_null(self, model: Mapping[str, Any], relation: BaseRelation) -> None:
        """Make the not_null columns of a model's contract NOT NULL in its new table.

        On a connection to a server, the table is not changed. Only the query rejects NULLs, in every run.
        """
        columns = not_null_columns(model["columns"], model["constraints"])
        handle = self._connections.get_thread_connection().handle
        if not columns or not hasattr(handle, "require_columns") or self._lookup.provider(relation) != ICEBERG:
            return
        try:
            handle.require_columns(self._lookup.table_name(relation), columns)
        except DbtDatabaseError as error:
            logger.warning(
                f"{model['unique_id']} is built, but its columns {', '.join(sorted(columns))} could not be set to "
                f"NOT NULL: {error.msg}\nRuns of the model still reject NULL in these columns. Rebuild it to try again."
            )

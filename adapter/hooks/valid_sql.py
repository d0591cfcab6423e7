"""Whether Spark accepts the SQL of a model with the strategy ``auto``."""

from __future__ import annotations

from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.sql import sql_name

from ..project.graph import Node
from .adapter import Adapter

_VIEW = "ip_analyzed"
_UNKNOWN_NAMES = ("TABLE_OR_VIEW_NOT_FOUND", "UNRESOLVED_ROUTINE")
"""Spark's errors for the name of a relation or function that does not exist."""


def require_valid_sql(adapter: Adapter, sql: str, node: Node) -> None:
    """Raise Spark's error for SQL that Spark does not accept as a query. The query is only analyzed.

    A name that Spark does not know is no error if the model has a hook or a header, which may define it later.
    """
    config = node["config"]
    defines_names = bool(config.get("pre-hook") or config.get("sql_header"))
    try:
        adapter.execute(f"create or replace temporary view {sql_name(_VIEW)} as\n{sql}")
    except DbtDatabaseError as error:
        if not (defines_names and any(name in str(error) for name in _UNKNOWN_NAMES)):
            raise

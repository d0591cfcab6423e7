"""Whether a model reads the table that it writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iceberg_incremental.table.history import TableName


def reads_itself(node: Mapping[str, Any], table: TableName) -> bool:
    """Whether a model's code names its own table.

    In a Python model, only the raw code counts. The code that dbt adds when it compiles the model names every table.
    """
    if node.get("language") == "python":
        return "dbt.this" in node["raw_code"] or _names_table(node["raw_code"], table)
    return _names_table(str(node.get("compiled_code") or ""), table)


def _names_table(sql: str, table: TableName) -> bool:
    """Whether code names a table, with or without quotes and catalog."""
    return f"{table.namespace}.{table.name}".lower() in sql.replace("`", "").lower()

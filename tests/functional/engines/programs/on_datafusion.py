"""DataFusion with iceberg-rust, through the table provider of PyIceberg. It reads a table from its metadata file."""

from __future__ import annotations

from typing import Any

from datafusion import SessionContext
from pyiceberg.table import StaticTable
from pyiceberg_core.datafusion import IcebergDataFusionTable

from .contract import APPENDED, HIGHEST, LOWEST, MODEL_COLUMNS, listed, local_path, serve, values
from .on_pyiceberg import created, loaded


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    context = SessionContext()
    metadata = loaded(catalog, name).metadata_location
    context.register_table("written", StaticTable.from_metadata(f"file://{local_path(metadata)}"))
    context.sql({"append": f"insert into written values {values(APPENDED)}"}[step]).collect()


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    table = StaticTable.from_metadata(metadata)
    context = SessionContext()
    if snapshot is None:
        context.register_table("built", table)
    else:
        at_snapshot = {"snapshot_id": snapshot}
        context.register_table(
            "built", IcebergDataFusionTable(table.name(), metadata, table.io.properties, **at_snapshot)
        )
    if question == "count":
        return context.sql("select count(*) as n from built").to_pydict()["n"][0]
    condition = f"id between {LOWEST} and {HIGHEST}" if question == "filter" else "true"
    return listed(context.sql(f"select {', '.join(MODEL_COLUMNS)} from built where {condition}").to_pylist())


if __name__ == "__main__":
    serve({"create": created, "write": write, "read": read})

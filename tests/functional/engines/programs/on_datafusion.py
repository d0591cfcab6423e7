"""DataFusion with iceberg-rust, through the table provider of PyIceberg. It reads a table from its metadata file."""

from __future__ import annotations

from typing import Any

from datafusion import SessionContext
from pyiceberg.table import StaticTable

from .contract import APPENDED, HIGHEST, LOWEST, MODEL_COLUMNS, listed, serve, values
from .on_pyiceberg import created, loaded


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    context = SessionContext()
    context.register_table("written", loaded(catalog, name))
    context.sql({"append": f"insert into written values {values(APPENDED)}"}[step]).collect()


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    table = StaticTable.from_metadata(metadata)
    if snapshot is not None:
        raise NotImplementedError("the table provider of PyIceberg has no snapshot")
    context = SessionContext()
    context.register_table("built", table)
    if question == "count":
        return context.sql("select count(*) as n from built").to_pydict()["n"][0]
    condition = f"id between {LOWEST} and {HIGHEST}" if question == "filter" else "true"
    return listed(context.sql(f"select {', '.join(MODEL_COLUMNS)} from built where {condition}").to_pylist())


if __name__ == "__main__":
    serve({"create": created, "write": write, "read": read})

"""Daft, which writes to the catalog of the embedded lakehouse, and reads a table from its metadata file."""

from __future__ import annotations

from typing import Any

import daft
from pyiceberg.table import StaticTable

from .contract import (
    APPENDED,
    HIGHEST,
    LAST,
    LOWEST,
    MODEL_COLUMNS,
    OF_PARTITION,
    PARTITION,
    REPLACEMENT,
    listed,
    serve,
)
from .on_pyiceberg import arrow, created, loaded


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    table = loaded(catalog, name)
    if step in ("append", "last"):
        daft.from_arrow(arrow(APPENDED if step == "append" else LAST)).write_iceberg(table, mode="append")
    elif step == "overwrite":
        daft.from_arrow(arrow(REPLACEMENT)).write_iceberg(table, mode="overwrite")
    elif step == "overwrite_partitions":
        within = daft.col("part") == PARTITION
        daft.from_arrow(arrow(OF_PARTITION)).write_iceberg(table, mode="overwrite", overwrite_filter=within)
    else:
        raise KeyError(step)


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    frame = daft.read_iceberg(StaticTable.from_metadata(metadata), snapshot_id=snapshot)
    if question == "count":
        return frame.count_rows()
    if question == "filter":
        frame = frame.where((daft.col("id") >= LOWEST) & (daft.col("id") <= HIGHEST))
    return listed(frame.select(*MODEL_COLUMNS).to_pylist())


if __name__ == "__main__":
    serve({"create": created, "write": write, "read": read})

"""Polars, which writes to the catalog of the embedded lakehouse, and reads a table from its metadata file."""

from __future__ import annotations

from typing import Any

import polars as pl

from .contract import APPENDED, HIGHEST, LAST, LOWEST, OF_PARTITION, REPLACEMENT, Row, listed, serve
from .on_pyiceberg import arrow, created, loaded


def frame(rows: tuple[Row, ...]) -> pl.LazyFrame:
    return pl.DataFrame(arrow(rows)).lazy()


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    table = loaded(catalog, name)
    if step in ("append", "last"):
        frame(APPENDED if step == "append" else LAST).sink_iceberg(table, mode="append")
    elif step == "overwrite":
        frame(REPLACEMENT).sink_iceberg(table, mode="overwrite")
    elif step == "overwrite_partitions":
        frame(OF_PARTITION).sink_iceberg(table, mode="overwrite", partition_overwrite="dynamic")
    else:
        raise KeyError(step)


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    scan = pl.scan_iceberg(metadata, snapshot_id=snapshot)
    if question == "count":
        return scan.select(pl.len()).collect().item()
    if question == "filter":
        scan = scan.filter(pl.col("id").is_between(LOWEST, HIGHEST))
    return listed(scan.collect().to_dicts())


if __name__ == "__main__":
    serve({"create": created, "write": write, "read": read})

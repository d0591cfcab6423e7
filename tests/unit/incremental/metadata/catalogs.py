"""Helpers that create metadata files of tables, and readers of catalogs."""

from __future__ import annotations

import json

from iceberg_incremental.metadata.pyiceberg_reader import PyIcebergReader
from iceberg_incremental.table.history import TableName

TABLE = TableName("lake", "ops", "flights")


def metadata(*, snapshots: int, log: tuple[str, ...] = ()) -> str:
    chain = [
        {"snapshot-id": each, "parent-snapshot-id": each - 1, "sequence-number": each, "timestamp-ms": each}
        for each in range(1, snapshots + 1)
    ]
    return json.dumps(
        {
            "format-version": 2,
            "table-uuid": "u",
            "current-snapshot-id": snapshots,
            "snapshots": chain,
            "metadata-log": [{"metadata-file": each, "timestamp-ms": 1} for each in log],
        }
    )


def reader_of(**properties: str) -> PyIcebergReader:
    return PyIcebergReader(lambda name: properties)

"""dlt, which loads into the catalog of the embedded lakehouse through PyIceberg."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "DLT_DATA_DIR": str(Path.cwd() / "dlt")}
import dlt

from .contract import APPENDED, BASE, LAST, REPLACEMENT, UPSERTED, Row, serve
from .on_pyiceberg import arrow

STEPS: dict[str, tuple[tuple[Row, ...], Any]] = {
    "append": (APPENDED, "append"),
    "last": (LAST, "append"),
    "upsert": (UPSERTED, {"disposition": "merge", "strategy": "upsert"}),
    "overwrite": (REPLACEMENT, "replace"),
}
"""The rows and the write disposition of each operation."""


def load(catalog: dict[str, str], name: str, rows: tuple[Row, ...], disposition: Any) -> None:
    """Run a pipeline that loads rows into a table, which it creates if needed."""
    dataset, _, table = name.partition(".")
    os.environ["ICEBERG_CATALOG__ICEBERG_CATALOG_NAME"] = "lakehouse"
    os.environ["ICEBERG_CATALOG__ICEBERG_CATALOG_CONFIG"] = json.dumps(catalog)
    folder = catalog["warehouse"]
    pipeline = dlt.pipeline(
        pipeline_name=f"load_{table}",
        destination=dlt.destinations.filesystem(bucket_url=f"file://{folder}/loaded"),
        dataset_name=dataset,
    )
    form: Literal["iceberg"] = "iceberg"
    pipeline.run(
        arrow(rows), table_name=table, write_disposition=disposition, primary_key="id", table_format=form
    ).raise_on_failed_jobs()


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool) -> None:
    """Create a table with the rows of BASE. It has format version 2 and no partitions."""
    load(catalog, name, BASE, "append")


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    load(catalog, name, *STEPS[step])


if __name__ == "__main__":
    serve({"create": create, "write": write})

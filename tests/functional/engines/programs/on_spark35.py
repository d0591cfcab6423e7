"""Spark 3.5, which writes to a REST catalog, and reads a table from its metadata file."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from pyspark.sql import SparkSession

from . import spark_sql
from .contract import serve

SETTINGS = {
    "spark.jars": ",".join(os.environ["ENGINE_JARS"].split(os.pathsep)),
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@cache
def session() -> SparkSession:
    """A session in UTC."""
    builder = SparkSession.builder.master("local[2]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def served(catalog: dict[str, str]) -> SparkSession:
    """The session with a REST catalog, which is named ``served``."""
    prefix = "spark.sql.catalog.served"
    session().conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    for key, value in catalog.items():
        session().conf.set(f"{prefix}.{key}", value)
    return session()


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool, mode: str = "") -> None:
    """Create a table with the rows of BASE."""
    spark_sql.create(served(catalog), f"served.{name}", format_version, partitioned, mode, "")


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    spark_sql.write(served(catalog), f"served.{name}", step)


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    reader = session().read.format("iceberg")
    if snapshot is not None:
        reader = reader.option("snapshot-id", snapshot)
    return spark_sql.answer(reader.load(metadata), question)


if __name__ == "__main__":
    serve({"create": create, "write": write, "read": read})

"""``ip_clone_source``: clones a source's table, so that a model can be tested on rows that do not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.publish.clones import CloneMaker
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.sql import sql_name
from iceberg_incremental.table.clone import RETENTION, clone_of
from iceberg_incremental.table.history import TableName

from ..project import graph as project
from . import operation_errors
from .arguments import flag, time_span


def clone_source(
    spark: Spark, reader: MetadataReader, names: project.ProjectTables, arguments: Mapping[str, Any]
) -> str:
    """Clone a source's table to a schema, which is created if it does not exist. Returns a report.

    ``arguments``: ``source``, the name of the table or the end of its name; ``schema``; ``retention``, how long the
    source keeps the files; ``full_refresh``, whether to replace an existing clone. Raises ConfigError for an invalid
    argument, and if it would replace a table that is not a clone; and the errors of ``CloneMaker.make``.
    """
    schema = arguments.get("schema")
    if not isinstance(schema, str) or not schema:
        raise operation_errors.no_schema(schema)
    kept: timedelta = time_span(arguments.get("retention"), "retention") or RETENTION
    tables = sorted({names.of(node) for node in names.graph["sources"].values()})
    origin = project.table_named(str(arguments.get("source") or ""), tables)
    clone = replace(origin, namespace=schema)
    if clone == origin:
        raise operation_errors.clone_onto_itself(origin)
    spark.send(f"CREATE NAMESPACE IF NOT EXISTS {sql_name(clone.catalog)}.{sql_name(clone.namespace)}")
    replaces = _exists(spark, clone)
    if replaces:
        if not flag(arguments.get("full_refresh"), "full_refresh"):
            return f"{clone} already exists"
        existing = reader.load(clone)
        if existing is not None and clone_of(existing) is None:
            raise operation_errors.not_a_clone(clone)

    def make_way() -> None:
        if replaces:
            spark.send(f"DROP TABLE {clone.sql}")

    CloneMaker(spark, reader).make(origin, clone, kept, make_way=make_way)
    return f"{clone} is a clone of {origin}"


def _exists(spark: Spark, table: TableName) -> bool:
    listed = spark.rows(f"SHOW TABLES IN {sql_name(table.catalog)}.{sql_name(table.namespace)}")
    return any(str(row[1]) == table.name for row in listed)

"""The methods for ``dbt run-operation``, and the clone of a source: ``adapter.ip.operations``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.publish.clones import CloneMaker
from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.spark.port import Spark, require_settings
from iceberg_incremental.table.clone import RETENTION, clone_of
from iceberg_incremental.table.history import TableName

from ..hooks.invocation import Namespace
from ..project import graph as project
from . import maintain, operation_errors, set_checkpoint, show_ledger, show_status
from .arguments import flag, time_span
from .maintain_report import Report

logger = AdapterLogger("SparkIceberg")


def clone_source(
    spark: Spark,
    reader: MetadataReader,
    names: project.ProjectTables,
    create_schema: Callable[[TableName], object],
    arguments: Mapping[str, Any],
) -> str:
    """Clone a source's table to a schema. Returns a report.

    ``create_schema``: creates the schema of a table if it does not exist. ``arguments``: ``source``, the name of the
    table or the end of its name; ``schema``; ``retention``, how long the source keeps the files; ``full_refresh``,
    whether to replace an existing clone. Raises ConfigError for an invalid argument, and if it would replace a table
    that is not a clone; and the errors of ``CloneMaker.make``.
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
    create_schema(clone)
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
    listed = spark.rows(f"SHOW TABLES IN {table.namespace_sql}")
    return any(str(row[1]) == table.name for row in listed)


_ORPHANS = "orphan_file_location"
"""The result column of ``remove_orphan_files``, which lists the removed files."""


class OperationHooks(Namespace):
    """The methods that the macros of operations call: ``adapter.ip.operations``."""

    def set_checkpoint(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """Set a model's checkpoint manually: ``set_checkpoint.set_checkpoint``."""
        require_settings(self._adapter.spark, "ip_set_checkpoint")
        reader = self._adapter.metadata_reader()
        publisher = Publisher(self._adapter.spark, reader)
        names, scope = self._tables.named(graph), self._invocations.jinja_scope()
        return set_checkpoint.set_checkpoint(reader, publisher, names, scope, get_invocation_id(), arguments)

    def status(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """The status of the project's incremental models: ``show_status.status``."""
        names, project = self._tables.named(graph), str(self._adapter.config.project_name)
        reader, scope = self._adapter.metadata_reader(), self._invocations.jinja_scope()
        folder = Path(self._adapter.config.project_root) / self._adapter.config.target_path
        return show_status.status(reader, names, scope, project, arguments, folder)

    def ledger(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """The ledgers of models: ``show_ledger.show``."""
        return show_ledger.show(self._adapter.metadata_reader(), self._tables.named(graph), arguments)

    def clone_source(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """Clone the table of a source: ``clone_source``."""
        spark, reader = self._adapter.spark, self._adapter.metadata_reader()

        def create_schema(table: TableName) -> None:
            self._adapter.create_schema(self._tables.relation(table))

        return clone_source(spark, reader, self._tables.named(graph), create_schema, arguments)

    def maintain(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> Report:
        """Maintain the tables of the project's models: ``maintain.maintain``."""
        if not arguments.get("dry_run"):
            require_settings(self._adapter.spark, "ip_maintain")
        return maintain.maintain(
            self._adapter.metadata_reader(), self._call, logger.info, self._tables.named(graph), arguments
        )

    def require_maintained(self, report: Report) -> None:
        """Raise MaintenanceError if the maintenance of a table failed."""
        if report.failed:
            raise operation_errors.maintenance_failed(report.failed)

    def _call(self, sql: str) -> Mapping[str, Any]:
        """Execute a statement. Returns its result by column name, with the number of files instead of a list of files.

        Empty for a statement without a result.
        """
        _, table = self._adapter.execute(sql, auto_begin=False, fetch=True)
        if _ORPHANS in table.column_names:
            return {_ORPHANS.removesuffix("_location") + "s": len(table.rows)}
        return dict(zip(table.column_names, table.rows[0], strict=True)) if len(table.rows) else {}

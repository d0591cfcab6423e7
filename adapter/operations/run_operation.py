"""The methods for ``dbt run-operation``: ``adapter.ip.operations``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.spark.port import require_settings

from ..hooks.invocation import Namespace
from . import clone_source, maintain, operation_errors, set_checkpoint, show_ledger, show_status
from .maintain_report import Report

logger = AdapterLogger("SparkIceberg")

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
        """Clone the table of a source: ``clone_source.clone_source``."""
        spark, reader = self._adapter.spark, self._adapter.metadata_reader()
        return clone_source.clone_source(spark, reader, self._tables.named(graph), arguments)

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

"""``dbt run-operation``, and the stats of ``dbt docs generate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt_common.invocation import get_invocation_id

from iceberg_incremental.capture.standing import standing_of
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.metadata.describe import DescribedColumn, Description, Stats
from iceberg_incremental.table.checkpoint import KEY
from iceberg_incremental.table.history import History
from iceberg_incremental.table.layout import Layout

from ..operations import maintain, set_checkpoint, show_ledger, show_status
from ..operations import maintenance_errors as upkeep_errors
from ..operations.maintain_report import Report
from ..operations.table_stats import table_stats
from ..spark.as_dbt import hook
from . import report
from .base import BaseHooks, logger

_ORPHANS = "orphan_file_location"
"""The column of ``remove_orphan_files``, which lists the files that it has removed."""


class OperationHooks(BaseHooks):
    """What the operations' macros and dbt's catalog call."""

    @hook.parse_none
    def ip_set_checkpoint(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """Set a model's checkpoint by hand: ``set_checkpoint.set_checkpoint``."""
        self.refuse_settings("ip_set_checkpoint")
        reader, publisher = self.metadata_reader(), self.publisher()
        return set_checkpoint.set_checkpoint(
            reader, publisher, graph, self.default_catalog, self.jinja_scope(), get_invocation_id(), arguments
        )

    @hook.parse_none
    def ip_status(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """The status of the project's incremental models: ``show_status.status``."""
        reader, catalog, project = self.metadata_reader(), self.default_catalog, str(self.config.project_name)
        return show_status.status(reader, graph, catalog, self.jinja_scope(), project, arguments)

    @hook.parse_none
    def ip_ledger(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """What each commit of a model consumed: ``show_ledger.show``."""
        return show_ledger.show(self.metadata_reader(), graph, self.default_catalog, arguments)

    @hook.parse_none
    def ip_maintain(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> Report:
        """Keep up the tables of the project's models: ``maintain.maintain``."""
        if not arguments.get("dry_run"):
            self.refuse_settings("ip_maintain")
        return maintain.maintain(
            self.metadata_reader(), self._call, logger.info, graph, self.default_catalog, arguments
        )

    @hook.parse_none
    def ip_require_maintained(self, report: Report) -> None:
        """Raise UpkeepError where the upkeep of a table failed."""
        if report.failed:
            raise upkeep_errors.upkeep_failed(report.failed)

    def _call(self, sql: str) -> Mapping[str, Any]:
        """Run a procedure; its result by the names of the columns. Of a list of files, it is how many there are."""
        _, table = self.execute(sql, auto_begin=False, fetch=True)
        if _ORPHANS in table.column_names:
            return {_ORPHANS.removesuffix("_location") + "s": len(table.rows)}
        return dict(zip(table.column_names, table.rows[0], strict=True)) if len(table.rows) else {}

    def ip_documentation(self, relation: BaseRelation) -> tuple[Description | None, Stats]:
        """A table's columns and comments, and its statistics with the checkpoint in force, from its metadata.

        No description where the metadata do not have it, or cannot be read.
        """
        try:
            found = self.metadata_reader().load_with_layout(self.table_name(relation))
        except IncrementalError as error:
            logger.debug(f"Spark describes {relation}: {error}")
            return None, {}
        if found is None:
            return None, {}
        history, layout = found
        stats = {**table_stats(history, layout), **self._checkpoint_stats(history)}
        return None if layout is None else _described(layout, history), stats

    def _checkpoint_stats(self, history: History) -> Stats:
        if KEY not in history.properties:
            return {}
        try:
            checkpoint = standing_of(history, self.metadata_reader()).checkpoint
        except IncrementalError as error:
            logger.debug(f"The checkpoint of {history.table} is not shown: {error}")
            return {}
        return {} if checkpoint is None else report.stats(checkpoint)


def _described(layout: Layout, history: History) -> Description:
    details = {"Comment": "comment", "Owner": "owner"}
    return Description(
        tuple(DescribedColumn(each.name, each.type, each.comment) for each in layout.columns),
        {name: history.properties[key] for name, key in details.items() if key in history.properties},
    )

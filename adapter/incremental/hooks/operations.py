"""``dbt run-operation``, and the stats of ``dbt docs generate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt_common.invocation import get_invocation_id

from ..capture.standing import standing_of
from ..errors import IncrementalError
from ..operations import set_checkpoint, show_ledger, show_status
from ..publish import report
from ..table.checkpoint import KEY
from .base import BaseHooks, logger


class OperationHooks(BaseHooks):
    """What the operations' macros and dbt's catalog call."""

    @available.parse_none
    def ip_set_checkpoint(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """Set a model's checkpoint by hand: ``set_checkpoint.set_checkpoint``."""
        self.refuse_settings("ip_set_checkpoint")
        reader, publisher = self.metadata_reader(), self.publisher()
        return set_checkpoint.set_checkpoint(
            reader, publisher, graph, self.default_catalog, get_invocation_id(), arguments
        )

    @available.parse_none
    def ip_status(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """The status of the project's incremental models: ``show_status.status``."""
        return show_status.status(self.metadata_reader(), graph, self.default_catalog, self.project_macros(), arguments)

    @available.parse_none
    def ip_ledger(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """What each commit of a model consumed: ``show_ledger.show``."""
        return show_ledger.show(self.metadata_reader(), graph, self.default_catalog, arguments)

    def ip_stats(self, relation: BaseRelation) -> Mapping[str, tuple[str, object, str]]:
        """The rows of a table, and its checkpoint in force, as stats for the docs: id → (label, value, description)."""
        rows: Mapping[str, tuple[str, object, str]] = {}
        try:
            history = self.metadata_reader().load(self.table_name(relation))
            if history is None:
                return {}
            rows = report.row_stats(history)
            if KEY not in history.properties:
                return rows
            checkpoint = standing_of(history, self.metadata_reader()).checkpoint
        except IncrementalError as error:
            logger.debug(f"Not all stats of {relation} are shown: {error}")
            return rows
        return rows if checkpoint is None else {**rows, **report.stats(checkpoint)}

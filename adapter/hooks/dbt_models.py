"""What dbt's own materializations share with this package: how they are run, and what they report."""

from __future__ import annotations

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse

from iceberg_incremental.errors import IncrementalError, NotIcebergError
from iceberg_incremental.explain import target_errors
from iceberg_incremental.plan import session_settings as settings
from iceberg_incremental.spark.port import under
from iceberg_incremental.sql import statements
from iceberg_incremental.table import partitions
from iceberg_incremental.table.history import History

from ..spark.as_dbt import hook
from . import report
from .base import BaseHooks, logger
from .context import Node


class DbtModelHooks(BaseHooks):
    """What the materializations ``incremental``, ``table`` and ``seed`` call."""

    @hook.parse_none
    def ip_require_one_spec(self, node: Node, target: BaseRelation) -> None:
        """Refuse an insert_overwrite into a table with data files that it would not replace. Raises ConfigError.

        For dbt's own incremental model, which writes where it is read; a run of ours looks at what it has staged.
        """
        name = self.table_name(target)
        try:
            history = self.metadata_reader().load(name)
        except NotIcebergError:
            return
        if history is not None and history.current_snapshot_id is not None:
            specs = self.metadata_reader().live_specs(history, history.current_snapshot_id)
            if partitions.has_older(specs):
                raise target_errors.other_specs(name, node["unique_id"], specs)

    @hook.parse_none
    def run_strategy(self, relation: BaseRelation, sql: str, strategy: str) -> AdapterResponse:
        """Run the statements of a strategy of dbt's ``incremental``; counts the rows that the last one wrote."""
        before = self._glance(relation)
        response = AdapterResponse("OK")
        sent = statements(sql)
        with under(self.spark, settings.needed_by(strategy)):
            for statement in sent:
                response, _ = self.execute(statement, auto_begin=False, fetch=False)
        deleted = strategy != "delete+insert"  # these are replaced by rows that count
        rows = report.rows_since(before, self._glance(relation), len(sent), deleted=deleted)
        return report.counted(response, rows)

    @hook.parse_none
    def build_response(self, relation: BaseRelation, response: AdapterResponse) -> AdapterResponse:
        """The response of a statement that made a table, with the number of its rows where metadata show it."""
        return report.counted(response, report.rows_built(self._glance(relation)))

    def _glance(self, relation: BaseRelation) -> History | None:
        try:
            return self.metadata_reader().glance(self.table_name(relation))
        except IncrementalError as error:
            logger.debug(f"The rows of {relation} are not counted: {error}")
            return None

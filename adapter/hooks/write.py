"""The methods for writing: ``adapter.ip.write``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.lateness import lateness
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.explain import history_errors, model_errors, target_errors
from iceberg_incremental.plan.configs import ModelConfigs
from iceberg_incremental.plan.policy import Strategy
from iceberg_incremental.plan.ranges import CHANGE_TYPE
from iceberg_incremental.publish.publisher import Published
from iceberg_incremental.spark.port import require_settings
from iceberg_incremental.table import layout
from iceberg_incremental.table.files import METADATA_COLUMNS
from iceberg_incremental.write.columns.alter import altered_columns
from iceberg_incremental.write.columns.table_columns import (
    SchemaChanges,
    key_columns,
    require_comparable,
    require_readable,
    require_recorded_types,
    schema_changes,
    types_of,
    updated_columns,
    written_columns,
)
from iceberg_incremental.write.order.held_changes import replacement_of
from iceberg_incremental.write.strategies.apply_changes import kept_rows_sql
from iceberg_incremental.write.strategies.statement import Statement, compared_columns, strategy_config
from iceberg_incremental.write.writer import Writer

from ..project import layout_config
from ..project.graph import Node
from ..project.own_table import reads_itself
from . import report
from .adapter import Adapter
from .audit import AuditHooks
from .invocation import Invocations, Namespace
from .report import IncrementalResponse

if TYPE_CHECKING:
    from .auto import AutoHooks

logger = AdapterLogger("SparkIceberg")
_METADATA_COLUMN = re.compile(rf"(?<!\w)({'|'.join(METADATA_COLUMNS)})(?!\w)")
_REPLACING = tuple(strategy.value for strategy in Strategy if strategy.replaces_rows)


class WriteHooks(Namespace):
    """The columns and the rows of a model."""

    def __init__(
        self, adapter: Adapter, invocations: Invocations, audits: AuditHooks, auto: Callable[[], AutoHooks]
    ) -> None:
        super().__init__(adapter, invocations)
        self._audits = audits
        self._auto = auto

    def create_view(self, relation: BaseRelation, sql: str) -> None:
        """Create a temporary view of a model's SQL. Raises the errors of Spark."""
        self._adapter.connections.create_view(str(relation.identifier), sql)

    def require_settings(self, node: Node, everywhere: bool = False) -> None:
        """Raise ConfigError if a session setting would change the meaning of this package's SQL.

        ``everywhere``: whether to check only the settings that also affect other materializations.
        """
        require_settings(self._adapter.spark, node["unique_id"], everywhere=everywhere)

    def kept_columns(self, columns: Sequence[Column], model: str) -> list[Column]:
        """The columns of the rows of a changelog. Raises ConfigError if it has no change type."""
        kept = [column for column in columns if column.name.lower() != CHANGE_TYPE]
        if len(kept) == len(columns):
            raise model_errors.no_change_type(model, [column.name for column in columns])
        return kept

    def kept_rows(self, changelog: BaseRelation) -> str:
        """The query of the rows of a changelog that are in the table afterwards."""
        return kept_rows_sql(changelog.render())

    def table_columns(self, relation: BaseRelation) -> Sequence[Column]:
        """The columns of an existing table, from its metadata if that needs no statement."""
        lookup, found = self._adapter.lookup, None
        with suppress(IncrementalError):  # then DESCRIBE shows the columns, or reports the error
            found = self._adapter.metadata_reader().layout_without_statement(lookup.table_name(relation))
        if found is None:
            return self._adapter.get_columns_in_relation(relation)
        return lookup.described(relation, found.columns)

    def schema_changes(
        self, node: Node, target: BaseRelation, given: Sequence[Column], columns: Sequence[Column]
    ) -> SchemaChanges[Column]:
        """The changes to a target's columns before a model's rows are written. Logs the columns that are not written.

        Nothing is altered yet. Raises ConfigError if this would silently change or lose a value, or if the new rows
        would not replace the same rows as before.
        """
        table, model = self._adapter.lookup.table_name(target), node["unique_id"]
        require_readable(columns, model, replaces_rows=_replaces_rows(node))
        found = self._invocations.if_opened(node)
        plan = None if found is None else found.run.plan
        if plan is not None and plan.policy.strategy.is_keyed:  # before on_schema_change drops missing columns
            key_columns(given, plan.policy.unique_key)
            key_columns(given, plan.policy.sequence_by, "sequence_by")
        fields = self._partition_fields(node, target)
        names = [column.name for column in columns]
        compared = compared_columns(node["config"], names, fields)
        require_comparable(given, columns, compared, table, model)
        if found is not None and plan is not None:
            found.run.state.types = types_of(given, compared)
            require_recorded_types(found.run.state.types, plan.recorded_types, table, model)
        keeps_history = plan is not None and plan.policy.history is not None
        policy = ModelConfigs(node["config"]).on_schema_change
        changes = schema_changes(policy, given, columns, table, model, keeps_history=keeps_history)
        require_readable(changes.added, model, replaces_rows=_replaces_rows(node))
        if keeps_history and changes.removed:
            raise history_errors.drops_columns(model, [column.name for column in changes.removed])
        if plan is not None and plan.groups is not None:
            altered: list[Column] = altered_columns(changes, columns)
            replacement_of(plan, altered)
        if changes.passed_over:
            logger.info(
                f"{model} returns {', '.join(changes.passed_over)}, which {table} does not have. These values are not "
                "written, since on_schema_change is 'ignore'. To add new columns, set it to append_new_columns."
            )
        return changes

    def _partition_fields(self, node: Node, target: BaseRelation) -> Sequence[str]:
        """The partition fields of the table of a model with insert_overwrite. Empty for other strategies.

        Raises ConfigError if the table is partitioned differently from the model's config.
        """
        if strategy_config(node["config"]).name != Strategy.INSERT_OVERWRITE.value:
            return ()
        name, model = self._adapter.lookup.table_name(target), node["unique_id"]
        fields = self._adapter.lookup.description(target, extended=False).partition_fields
        configured = layout.normal_fields(layout_config.partition_fields(node["config"].get("partition_by"), model))
        found = layout.normal_fields(fields)
        if configured and set(configured) != set(found):
            raise target_errors.other_partitioning(name, model, configured, found)
        return fields

    altered_columns = staticmethod(altered_columns)
    written_columns = staticmethod(written_columns)

    def may_be_unreadable(self, node: Node, query: str) -> bool:
        """Whether a query may return a column with the name of an Iceberg metadata column, as far as its text shows."""
        return node.get("language") == "python" or _METADATA_COLUMN.search(query) is not None

    def require_readable(self, node: Node, columns: Sequence[Column]) -> None:
        """Raise ConfigError if Iceberg could create, but not read, a table with the columns of a query."""
        require_readable(columns, node["unique_id"], replaces_rows=_replaces_rows(node))

    def built_rows(
        self, node: Node, rows: BaseRelation, columns: Sequence[Column], changelog: BaseRelation | None
    ) -> str:
        """The query of the rows of a keyed table that is built as a whole, as in ``Writer.built_rows``.

        Raises ConfigError if a config of a merge names a column that the model does not return. A first build does not
        merge, so it would succeed, and the second run would fail.
        """
        config = node["config"]
        require_readable(columns, node["unique_id"], replaces_rows=True)
        key_columns(columns, config.get("unique_key"))
        updated_columns(columns, config.get("merge_update_columns"), config.get("merge_exclude_columns"))
        key_columns(columns, config.get("merge_fixed_columns") or (), "merge_fixed_columns")
        return self._writer(node).built_rows(
            rows.render(),
            columns,
            compared_columns(config, (), ()),
            log=None if changelog is None else changelog.render(),
            sorts=not (config.get("sort_by") or config.get("partition_by")),
        )

    def rebuild(self, node: Node, sql: str) -> IncrementalResponse:
        """Build the table with a CREATE OR REPLACE TABLE AS statement, with the checkpoint in its commit."""
        try:
            properties = self._adapter.tables.properties(node["config"])
            return self._response(node, self._writer(node).rebuild(sql, properties))
        finally:
            self._audits.drop_audit_table(self._invocations.opened(node))

    def apply(
        self, node: Node, statement: Statement | str, new_rows: BaseRelation, changelog: BaseRelation | None
    ) -> IncrementalResponse:
        """Apply the captured rows with a statement, with the checkpoint in the commit that publishes them.

        ``statement``: the statement of a strategy of this package, or the text that a project's own macro returns. If
        that macro has called the macro of this package, the latter's second statement also follows. ``new_rows``,
        ``changelog``: the relations that it reads.
        """
        noted = self._invocations.opened(node).statement or Statement("")
        given = statement if isinstance(statement, Statement) else replace(noted, sql=str(statement))
        source = new_rows if changelog is None else changelog
        return self._response(node, self._writer(node).apply(given, source.render()))

    def update_incrementally(
        self, node: Node, query: str, given: Sequence[Column], synced: Mapping[str, Any]
    ) -> IncrementalResponse:
        """Update the table of a model with the strategy ``auto`` to the result of its SQL.

        ``query``: returns all rows. ``given``: its columns. ``synced``: the table's columns under on_schema_change.
        """
        return self._response(node, self._auto().apply(node, query, given, synced))

    def finish(self, node: Node) -> IncrementalResponse:
        """End a run that writes no rows. Moves the checkpoint if the sources have commits without rows."""
        if self._plan(node).action is Action.ADVANCE:
            self.require_settings(node)
        return self._response(node, self._writer(node).finish())

    def _writer(self, node: Node) -> Writer:
        found = self._invocations.opened(node)
        return Writer(
            found.run,
            self._adapter.spark,
            self._adapter.metadata_reader(),
            reads_own_table=reads_itself(node, found.run.plan.name),
            audit=lambda: self._audits.judge_staged(found),
        )

    def _response(self, node: Node, published: Published | None) -> IncrementalResponse:
        """The response of a completed run, with the lateness of the applied rows."""
        found = self._invocations.opened(node)
        plan = found.run.plan
        found.run.state.published = None if published is None else published.snapshot
        applied = published is not None and plan.action is Action.APPLY
        late = lateness(plan, self._invocations.current().cuts) if applied else {}
        return report.response(plan, published, found.audits, late, found.run.state.way)


def _replaces_rows(node: Node) -> bool:
    return strategy_config(node["config"]).name in _REPLACING

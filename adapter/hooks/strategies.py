"""The statements of the strategies, which their macros request: ``adapter.ip.strategies``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column

from iceberg_incremental.explain import group_errors, history_errors, model_errors, sequence_errors
from iceberg_incremental.plan.policy import MATERIALIZATION, Strategy
from iceberg_incremental.sql import sql_name
from iceberg_incremental.write.columns.table_columns import key_columns, overwriting_values, updated_columns
from iceberg_incremental.write.order.held_changes import HeldChanges, changes_view
from iceberg_incremental.write.strategies.append import append_sql, insert_overwrite_sql
from iceberg_incremental.write.strategies.apply_changes import insert_kept_sql, merge_changes_sql
from iceberg_incremental.write.strategies.dbt_strategies import delete_insert_sql, microbatch_sql
from iceberg_incremental.write.strategies.merge import merge_sql
from iceberg_incremental.write.strategies.statement import Statement, StrategyConfig, Then, strategy_config
from iceberg_incremental.write.writer import Writer

from ..project.graph import Node
from .invocation import Namespace

StrategyArguments = Mapping[str, Any]
"""The arguments of dbt's strategy macros: ``target_relation``, ``temp_relation``, ``unique_key``, ``dest_columns``,
``incremental_predicates``; for models of this package also ``target_columns`` and ``changelog_relation``."""

_ONLY_OURS = frozenset(each.value for each in (Strategy.APPLY_CHANGES, Strategy.AUTO, Strategy.HISTORY))
"""The strategies that dbt's incremental materialization does not have."""


class StrategyHooks(Namespace):
    """The statements of the strategies, for models of this package and for dbt's own incremental models."""

    def of(self, node: Node) -> StrategyConfig:
        """The strategy of a model and its predicates. Raises ConfigError if its materialization does not support it."""
        found = strategy_config(node["config"])
        is_ours = node["config"].get("materialized") == MATERIALIZATION
        if not is_ours and found.name in _ONLY_OURS and not self._is_overridden(found.name):
            raise model_errors.strategy_of_another_materialization(str(node["unique_id"]), found.name)
        return found

    def reads_rows(self, node: Node) -> bool:
        """Whether the statement of a model may read the view of its new rows.

        The statements of ``apply_changes`` and ``history`` read only the changelog. If the project has its own macro
        for ``apply_changes``, the view is always created.
        """
        strategy = self._invocations.opened(node).run.plan.policy.strategy
        return not strategy.takes_changelog or self._is_overridden(Strategy.APPLY_CHANGES.value)

    def _is_overridden(self, strategy: str) -> bool:
        """Whether the project has its own macro for a strategy."""
        return f"get_incremental_{strategy}_sql" in self._invocations.jinja_scope().macros

    def append(self, arguments: StrategyArguments) -> Statement:
        """The statement of ``append``."""
        return Statement(append_sql(*_common(arguments)))

    def merge(self, node: Node, arguments: StrategyArguments) -> Statement:
        """The statement of ``merge``: an INSERT and a DELETE if whole rows are replaced, otherwise a MERGE."""
        target, rows, columns = _common(arguments)
        if self._replaces(node, arguments):
            if self._plan(node).policy.sequence_by:
                rows = self._changes_view(node, arguments["temp_relation"])
            return self._followed(node, append_sql(target, rows, columns), Then.DELETE_REPLACED, columns)
        keys, updated = key_columns(columns, arguments["unique_key"]), _updated(columns, node["config"])
        predicates = arguments["incremental_predicates"]
        return Statement(merge_sql(target, rows, columns, keys, updated, predicates, node["unique_id"]))

    def apply_changes(self, node: Node, arguments: StrategyArguments) -> Statement:
        """The statement of ``apply_changes``, like that of ``merge``, for the changelog that the SQL returns."""
        plan, log = self._plan(node), arguments["changelog_relation"]
        target, _, columns = _common(arguments)
        if self._replaces(node, arguments) and self._can_hold(node, log):
            return self._followed(
                node, insert_kept_sql(target, changes_view(plan), columns), Then.DELETE_CHANGED, columns
            )
        keys, updated = key_columns(columns, arguments["unique_key"]), _updated(columns, node["config"])
        predicates = arguments["incremental_predicates"]
        return Statement(
            merge_changes_sql(
                target, log.render(), columns, keys, updated, predicates, plan.model, shows_old=plan.shows_old_rows
            )
        )

    def history(self, node: Node, arguments: StrategyArguments) -> Statement:
        """The statement of ``history``, for the changelog that the model's SQL returns.

        Raises ConfigError if the table is not a history, or if the SQL lacks a column that a history of events needs.
        """
        plan, columns = self._plan(node), tuple(arguments["dest_columns"])
        added = tuple(column.name for column in arguments["added_columns"])
        config = plan.policy.history
        assert config is not None
        known = {column.name.lower() for column in arguments["target_columns"]} - {name.lower() for name in added}
        missing = [name for name, _ in config.meta_columns() if name.lower() not in known]
        if missing:
            raise history_errors.not_a_history(plan.name, plan.model, missing)
        if config.is_from_log:
            written = {column.name.lower() for column in columns} | {name.lower() for name, _ in config.meta_columns()}
            absent = [each.name for each in arguments["target_columns"] if each.name.lower() not in written]
            if absent:
                raise sequence_errors.needs_all_columns(plan.model, absent)
        run = self._invocations.opened(node).run
        history = Writer(run, self._adapter.spark, self._adapter.metadata_reader()).history
        target, log = arguments["target_relation"].render(), arguments["changelog_relation"].render()
        statement = Statement(history.statement_sql(target, log, columns, added), Then.MERGE_VERSIONS, columns, added)
        self._invocations.opened(node).statement = statement
        return statement

    def insert_overwrite(self, node: Node, arguments: StrategyArguments) -> Statement:
        """The statement of ``insert_overwrite``.

        Raises ConfigError for an event-time window that does not consist of whole partitions.
        """
        target, rows, columns = _common(arguments)
        found, config = self._invocations.if_opened(node), node["config"]
        window = None if found is None else found.run.plan.window
        values = [sql_name(column.name) for column in columns]
        if found is not None and window is not None:
            values = overwriting_values(
                columns,
                window,
                event_time=str(config["event_time"]),
                event_times=found.run.plan.event_times.values(),
                partition_by=config.get("partition_by"),
                model=found.run.plan.model,
            )
        return Statement(insert_overwrite_sql(target, rows, columns, values))

    def delete_insert(self, arguments: StrategyArguments) -> Statement:
        """The statement of dbt's ``delete+insert``. Without a key, it is an append."""
        target, rows, columns = _common(arguments)
        if not arguments["unique_key"]:
            return self.append(arguments)
        keys = key_columns(columns, arguments["unique_key"])
        return Statement(delete_insert_sql(target, rows, columns, keys, arguments["incremental_predicates"]))

    def microbatch(self, node: Node, arguments: StrategyArguments) -> Statement:
        """The statements of dbt's ``microbatch``."""
        batch, event_time = node["batch"], node["config"]["event_time"]
        window = (batch["event_time_start"], batch["event_time_end"])
        predicates = arguments["incremental_predicates"]
        return Statement(microbatch_sql(*_common(arguments), str(event_time), window, predicates))

    def _replaces(self, node: Node, arguments: StrategyArguments) -> bool:
        """Whether the replaced rows may be deleted instead of updated, because the new rows have all columns.

        Raises ConfigError if they may not, and the model replaces whole groups or has ``sequence_by``.
        """
        found = self._invocations.if_opened(node)
        if found is None:  # dbt's own incremental model, which uses the same statement
            return False
        plan, names = found.run.plan, {column.name for column in arguments["dest_columns"]}
        missing = [column.name for column in arguments["target_columns"] if column.name not in names]
        if missing and plan.groups is not None:
            raise group_errors.groups_need_all_columns(plan.model, missing)
        if missing and plan.policy.sequence_by:
            raise sequence_errors.needs_all_columns(plan.model, missing)
        return plan.policy.replaces_rows and not missing and not arguments["incremental_predicates"]

    def _followed(self, node: Node, sql: str, then: Then, columns: Sequence[Column]) -> Statement:
        """A statement that is followed by another one.

        It is recorded, because a project's macro may pass on only its text.
        """
        statement = Statement(sql, then, tuple(columns))
        self._invocations.opened(node).statement = statement
        return statement

    def _changes_view(self, node: Node, new_rows: BaseRelation) -> str:
        """The view of the newest row of each key, which replaces the relation of the new rows."""
        view = changes_view(self._plan(node))
        found: str = new_rows.incorporate(path={"identifier": view}).render()
        return found

    def _can_hold(self, node: Node, relation: BaseRelation) -> bool:
        run = self._invocations.opened(node).run
        changes = HeldChanges(run, self._adapter.spark, self._adapter.metadata_reader())
        return changes.can_hold(relation.render())


def _common(arguments: StrategyArguments) -> tuple[str, str, Sequence[Column]]:
    """The common values of all statements: the target, the relation of the new rows, and their columns."""
    return arguments["target_relation"].render(), arguments["temp_relation"].render(), arguments["dest_columns"]


def _updated(columns: Sequence[Column], config: Mapping[str, Any]) -> list[Column]:
    """The columns that a MERGE updates in matched rows. Raises ConfigError for one that the model does not return."""
    return updated_columns(columns, config.get("merge_update_columns"), config.get("merge_exclude_columns"))

"""The columns, keys and expressions that the statements of the strategies are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column

from iceberg_incremental.explain import column_errors, model_errors, sequence_errors, target_errors
from iceberg_incremental.plan.policy import MATERIALIZATION, Strategy
from iceberg_incremental.plan.ranges import CHANGE_TYPE
from iceberg_incremental.sql import plain_name, sql_name
from iceberg_incremental.table import partitions
from iceberg_incremental.table.changed_files import METADATA_COLUMNS
from iceberg_incremental.write.columns import (
    SchemaChanges,
    key_columns,
    overwriting_values,
    require_comparable,
    require_recorded_types,
    require_uncollated,
    schema_changes,
    types_of,
    updated_columns,
    written_columns,
)
from iceberg_incremental.write.strategy_config import StrategyConfig, compared_columns, strategy_config
from iceberg_incremental.write.unique_keys import raise_sql, raise_taken_sql

from ..project import partition_config
from ..spark.as_dbt import hook
from .base import BaseHooks, logger
from .changes import replacement_of
from .context import Node

_REPLACING = tuple(strategy.value for strategy in Strategy if strategy.is_keyed)
"""Strategies that find rows of the target by Iceberg's metadata columns."""


class StrategyHooks(BaseHooks):
    """What the macros of the strategies call, for models of this package and for dbt's own incremental models."""

    @hook.parse_none
    def require_settings(self, node: Node, everywhere: bool = False) -> None:
        """Refuse to write for a node under settings of the session with which our SQL would mean something else.

        ``everywhere``: only those that also harm what is no incremental processing. Raises ConfigError.
        """
        self.refuse_settings(node["unique_id"], everywhere=everywhere)

    @hook
    def ip_strategy(self, node: Node) -> StrategyConfig:
        """The strategy of a model and its predicates. Raises ConfigError for one that its materialization lacks."""
        found = strategy_config(node["config"])
        is_ours = node["config"].get("materialized") == MATERIALIZATION
        if found.name == Strategy.APPLY_CHANGES.value and not is_ours:
            raise model_errors.strategy_of_another_materialization(str(node["unique_id"]), found.name)
        return found

    @hook.parse_none
    def ip_require_change_type(self, columns: Sequence[Column], model: str) -> None:
        """Raise ConfigError unless the rows for ``apply_changes`` say what to do with them."""
        names = [column.name for column in columns]
        if CHANGE_TYPE not in (name.lower() for name in names):
            raise model_errors.no_change_type(model, names)

    @hook.parse_none
    def ip_schema_changes(
        self,
        node: Node,
        target: BaseRelation,
        on_schema_change: str,
        given: Sequence[Column],
        columns: Sequence[Column],
    ) -> SchemaChanges[Column]:
        """How a target is altered before a model's rows go into it. Logs which of their columns are passed over.

        Nothing is altered yet. Raises ConfigError where that would change or lose a value unsaid, and where the new
        rows would not replace the same rows as before.
        """
        table, model = self.table_name(target), node["unique_id"]
        reserved = [column.name for column in columns if column.name.lower() in METADATA_COLUMNS]
        if reserved and node["config"].get("incremental_strategy") in _REPLACING:
            raise model_errors.reserved_columns(reserved, model)
        run = self.run_if_opened(node)
        if run is not None and run.policy.strategy.is_keyed:  # before these columns of the table are dropped
            key_columns(given, run.policy.unique_key)
            key_columns(given, run.policy.sequence_by, "sequence_by")
        fields = self._partition_fields(node, target)
        names = [column.name for column in columns]
        compared = compared_columns(node["config"], names, fields)
        require_comparable(given, columns, compared, table, model)
        if run is not None:
            run.types = types_of(given, compared)
            require_recorded_types(run.types, run.recorded_types, table, model)
        changes = schema_changes(on_schema_change, given, columns, table, model)
        if run is not None and run.groups is not None:
            replacement_of(run, self.ip_altered_columns(changes, columns))
        if changes.passed_over:
            logger.info(column_errors.passed_over(table, model, changes.passed_over))
        return changes

    def _partition_fields(self, node: Node, target: BaseRelation) -> Sequence[str]:
        """The partition fields of the table of a model with insert_overwrite; none for other strategies.

        Raises ConfigError for a table that is partitioned in another way than the model is configured.
        """
        if strategy_config(node["config"]).name != Strategy.INSERT_OVERWRITE.value:
            return ()
        name, model = self.table_name(target), node["unique_id"]
        fields = self.description(target, extended=False).partition_fields
        configured = partitions.configured(partition_config.fields(node["config"].get("partition_by"), model))
        found = partitions.configured(fields)
        if configured and set(configured) != set(found):
            raise target_errors.other_partitioning(name, model, configured, found)
        return fields

    @hook.parse_list
    def ip_altered_columns(self, changes: SchemaChanges[Column], columns: Sequence[Column]) -> list[Column]:
        """The columns of a target after it is altered."""
        types = {column.name.lower(): column.dtype for column in changes.retyped}
        removed = {column.name for column in changes.removed}
        kept = [column for column in columns if column.name not in removed]
        altered = [replace(column, dtype=types.get(column.name.lower(), column.dtype)) for column in kept]
        return [*altered, *changes.added]

    @hook.parse_none
    def ip_require_uncollated(self, node: Node, columns: Sequence[Column]) -> None:
        """Raise ConfigError for a column of the key or the sequence whose comparisons the table would not keep.

        Notes the types of these columns for the checkpoint.
        """
        compared = compared_columns(node["config"], (), ())
        require_uncollated(columns, compared, node["unique_id"])
        self.opened_run(node).types = types_of(columns, compared)

    @hook.parse_list
    def ip_written_columns(self, source: Sequence[Column], target: Sequence[Column]) -> list[Column]:
        """The target's columns that the model's SQL gives a value for, whatever the case they are written in."""
        return written_columns(source, target)

    @hook.parse_list
    def ip_updated_columns(self, columns: Sequence[Column], config: Mapping[str, Any]) -> list[Column]:
        """The columns that a MERGE updates in matched rows: all written ones, or as the model is configured.

        Raises ConfigError for a column that the model does not give.
        """
        return updated_columns(columns, config.get("merge_update_columns"), config.get("merge_exclude_columns"))

    @hook.parse_none
    def ip_require_merge_columns(self, columns: Sequence[Column], config: Mapping[str, Any]) -> None:
        """Raise ConfigError where the configs of a merge name a column that the model does not give.

        A first build does not merge: without this it would succeed, and the second run fail.
        """
        updated_columns(columns, config.get("merge_update_columns"), config.get("merge_exclude_columns"))
        key_columns(columns, config.get("merge_fixed_columns") or (), "merge_fixed_columns")

    @hook.parse(lambda *args: False)
    def ip_replaces(
        self, node: Node, written: Sequence[Column], columns: Sequence[Column], predicates: Sequence[str]
    ) -> bool:
        """Whether a merge may delete the rows that it replaces, instead of updating them: if it writes all columns.

        Raises ConfigError where it may not, and the model replaces whole groups or has ``sequence_by``.
        """
        run = self.run_if_opened(node)
        if run is None:  # dbt's own incremental model, which shares the statement
            return False
        names = {column.name for column in written}
        missing = [column.name for column in columns if column.name not in names]
        if missing and run.groups is not None:
            raise model_errors.groups_need_all_columns(run.model, missing)
        if missing and run.policy.sequence_by:
            raise sequence_errors.needs_all_columns(run.model, missing)
        return run.policy.replaces_rows and not missing and not predicates

    @hook.parse_list
    def ip_overwriting_values(self, node: Node, columns: Sequence[Column]) -> list[str]:
        """What an INSERT OVERWRITE writes into its columns: the new rows' values.

        Raises ConfigError where a window is processed again that does not consist of whole partitions.
        """
        run, config = self.run_if_opened(node), node["config"]
        if run is None or run.window is None:  # without a run: dbt's own incremental model, which shares the statement
            return [sql_name(column.name) for column in columns]
        return overwriting_values(
            columns,
            run.window,
            event_time=str(config["event_time"]),
            event_times=run.event_times.values(),
            partition_by=config.get("partition_by"),
            model=run.model,
        )

    @hook
    def ip_quoted(self, name: str) -> str:
        """A column's name as the user configured it, back-quoted if it is not yet."""
        return sql_name(plain_name(name))

    @hook.parse_list
    def ip_key_columns(self, unique_key: str | Sequence[str], columns: Sequence[Column]) -> list[str]:
        """The columns of the unique_key, back-quoted. Raises ConfigError for one that the model does not give."""
        return [sql_name(name) for name in key_columns(columns, unique_key)]

    @hook
    def ip_raise_duplicate_key(self, node: Node, keys: Sequence[str], count: str) -> str:
        """The SQL expression that fails for a row whose key comes ``count`` times; ``keys`` may be back-quoted."""
        return raise_sql(node["unique_id"], [plain_name(key) for key in keys], count)

    @hook.parse(lambda *args: False)
    def ip_shows_old_rows(self, node: Node) -> bool:
        """Whether each row that a model's changes replace or delete comes with them: if ip_changelog gives them."""
        return self.opened_run(node).shows_old_rows

    @hook
    def ip_raise_taken_key(self, node: Node, keys: Sequence[str], alias: str) -> str:
        """The SQL expression that fails for an inserted row whose key the table has; ``keys`` may be back-quoted."""
        return raise_taken_sql(node["unique_id"], [plain_name(key) for key in keys], alias)

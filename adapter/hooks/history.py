"""What the macros call for models that keep a history: ``adapter.ip.history``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.explain import history_errors
from iceberg_incremental.plan.history_config import HistoryConfig
from iceberg_incremental.plan.ranges import COMMIT_COLUMNS, COMMIT_ORDER
from iceberg_incremental.sql import sql_name, sql_string
from iceberg_incremental.write.columns import key_columns
from iceberg_incremental.write.held_changes import HeldChanges
from iceberg_incremental.write.history import built_sql
from iceberg_incremental.write.history_writer import HistoryWriter

from ..project.graph import Node
from ..project.history_config import history_config
from ..relations.column import SparkIcebergColumn
from .invocation import Room

logger = AdapterLogger("SparkIceberg")


class HistoryHooks(Room):
    """Models that keep the history of a relation."""

    def is_history(self, node: Node) -> bool:
        """Whether a model keeps a history."""
        return self._plan(node).policy.history is not None

    def keeps_versions(self, node: Node) -> bool:
        """Whether a run that builds a model as a whole compares its history with the source, and keeps all versions."""
        return self._plan(node).keeps_versions

    def warn_of_dropped(self, node: Node, existing: BaseRelation | None) -> None:
        """Log how many versions a run drops that builds a history without those that it has."""
        plan = self._plan(node)
        if plan.policy.history is not None and plan.target is not None and existing is not None:
            ((versions,),) = self._adapter.spark.rows(f"select count(*) from {plan.name.sql}")
            if versions:
                logger.warning(history_errors.dropping(plan.model, plan.name, int(versions)))

    def columns(self, node: Node, columns: Sequence[Column]) -> list[Column]:
        """The columns of the rows of a history, of those of its changelog.

        Raises ConfigError unless the changelog says which commit each change is of, and has all ``check_cols``.
        """
        config, model = self._config(node), str(node["unique_id"])
        names = {column.name.lower() for column in columns}
        if COMMIT_ORDER not in names:
            raise history_errors.no_commit_order(model, [column.name for column in columns])
        meta = config.meta_columns
        own = [name for name, _ in meta if name.lower() in names]
        if own:
            raise history_errors.own_columns(model, own)
        kept = [column for column in columns if column.name.lower() not in COMMIT_COLUMNS]
        key_columns(kept, config.check_cols, "check_cols")
        return [*kept, *(SparkIcebergColumn(name, type_) for name, type_ in meta)]

    def built_rows(self, node: Node, changelog: BaseRelation, columns: Sequence[Column]) -> str:
        """The query of the versions of a history that is built as a whole."""
        run = self._invocations.opened(node).run
        spark, reader = self._adapter.spark, self._adapter.metadata_reader()
        writer = HistoryWriter(run, spark, reader, HeldChanges(run, spark, reader))
        rows = writer.rows(columns)
        writer.note_end(rows)
        return built_sql(changelog.render(), rows)

    def as_of(self, relation: BaseRelation, timestamp: object, graph: Mapping[str, Any]) -> str:
        """The rows of a history table, or of a snapshot of dbt's, that were valid at a time.

        ``timestamp``: a date or time, or an SQL expression. ``graph``: dbt's, which has the table's configs.
        """
        nodes = graph.get("nodes", {}).values()
        node = next((each for each in nodes if each.get("relation_name") == relation.render()), None)
        config = HistoryConfig() if node is None else history_config(node["config"], [])
        names, time = config.names, _time_sql(timestamp)
        begin, end = sql_name(names.dbt_valid_from), sql_name(names.dbt_valid_to)
        is_there = ""
        if any(name == names.dbt_is_deleted for name, _ in config.meta_columns):
            is_there = f" and coalesce(lower({sql_name(names.dbt_is_deleted)}), 'false') <> 'true'"
        return f"(select * from {relation} where {begin} <= {time} and ({end} is null or {end} > {time}){is_there})"

    def _config(self, node: Node) -> HistoryConfig:
        config = self._plan(node).policy.history
        assert config is not None
        return config


def _time_sql(value: object) -> str:
    """A time as SQL: a literal where it is one, else an expression."""
    try:
        text = str(datetime.fromisoformat(str(value).strip()))
    except ValueError:
        return f"cast(({value}) as timestamp)"
    return f"cast({sql_string(text)} as timestamp)"

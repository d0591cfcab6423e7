"""The methods for history models: ``adapter.ip.history``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.versions_run import holds_history
from iceberg_incremental.errors import MetadataAccessError, NotIcebergError
from iceberg_incremental.explain import history_errors, sequence_errors
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.spark_reader import SparkReader
from iceberg_incremental.plan.configs import ModelConfigs
from iceberg_incremental.plan.policy import MATERIALIZATION
from iceberg_incremental.plan.ranges import CHANGE_TYPE, COMMIT_COLUMNS, COMMIT_ORDER
from iceberg_incremental.plan.versions_config import HistoryConfig
from iceberg_incremental.quantities import counted
from iceberg_incremental.sql import sql_name, sql_string
from iceberg_incremental.table.clone import clone_of
from iceberg_incremental.table.history import History, TableName
from iceberg_incremental.table.types import is_comparable
from iceberg_incremental.write.columns.table_columns import key_columns
from iceberg_incremental.write.versions.from_log import EventRows
from iceberg_incremental.write.writer import Writer

from ..project.graph import Node
from ..relations.relation import SparkIcebergColumn
from .invocation import Namespace

logger = AdapterLogger("SparkIceberg")


class HistoryHooks(Namespace):
    """Models that keep the history of a relation."""

    def is_history(self, node: Node) -> bool:
        """Whether a model keeps a history."""
        return self._plan(node).policy.history is not None

    def keeps_versions(self, node: Node) -> bool:
        """Whether a rebuild of a model compares its history with the source, and keeps all versions."""
        return self._plan(node).keeps_versions

    def warn_of_dropped(self, node: Node, existing: BaseRelation | None) -> None:
        """Log the number of versions that a rebuild without the table's history drops."""
        plan = self._plan(node)
        if plan.target is None or existing is None or plan.replays:
            return
        asked = self._invocations.drops_history(node["name"], plan.model)
        reader, config = self._adapter.metadata_reader(), node["config"]
        if plan.policy.history is not None or (asked and self._holds_history(plan.target, reader, existing, config)):
            self._log_dropped(plan.model, plan.name)

    def require_kept(self, node: Any) -> None:
        """Raise ConfigError if another kind of node would replace a history table. Also raises the reader's errors.

        The variable ``ip_drop_history`` permits this for the nodes that it names. ``node``: dbt's node object. The
        check of this package's own models takes place when their run is opened.
        """
        options, config = getattr(self._adapter.config, "args", None), node.config
        refreshes = bool(getattr(options, "FULL_REFRESH", False))
        clones = getattr(options, "which", None) == "clone"
        if node.resource_type not in ("model", "seed", "snapshot") or (clones and not refreshes):
            return
        if not clones and (node.resource_type == "snapshot" or config.materialized == MATERIALIZATION):
            return
        relation = self._adapter.get_relation(node.database, node.schema, node.alias)
        if relation is None or not relation.is_table:
            return
        name = self._adapter.lookup.table_name(relation)
        try:
            reader, table = self._loaded(name)
        except NotIcebergError:
            return
        if table is None or (clones and clone_of(table) is not None):  # the origin contains the versions of its clone
            return
        if not self._holds_history(table, reader, relation, config):
            return
        own = config.get("full_refresh")
        replaces = clones or config.materialized != "incremental" or (refreshes if own is None else own)
        if not replaces or not self._invocations.drops_history(node.name, node.unique_id):
            found = "`dbt clone --full-refresh`" if clones else f"materialized: {config.materialized}"
            command = "clone" if clones else "seed" if node.resource_type == "seed" else "run"
            raise history_errors.would_drop_history(name, node.unique_id, found, command)
        self._log_dropped(node.unique_id, name)

    def lacks_change_type(self, node: Node, columns: Sequence[Column]) -> bool:
        """Whether a model's SQL lacks the change type. A log without deletions does not need it."""
        config = self._plan(node).policy.history
        from_log = config is not None and config.is_from_log
        return from_log and all(column.name.lower() != CHANGE_TYPE for column in columns)

    def columns(self, node: Node, columns: Sequence[Column]) -> list[Column]:
        """The columns of the rows of a history, from the columns of its changelog.

        Raises ConfigError unless the changelog has the commit of each change, or the sequence of the log's events, and
        all ``check_cols``.
        """
        config, model = self._config(node), str(node["unique_id"])
        names = {column.name.lower() for column in columns}
        if config.is_from_log:
            rows = EventRows(config, tuple(columns))
            if not is_comparable(rows.time_type):
                raise sequence_errors.no_order(model, [(rows.sequence, rows.time_type)])
            meta = config.meta_columns(rows.time_type)
        elif COMMIT_ORDER not in names:
            raise history_errors.no_commit_order(model, [column.name for column in columns])
        else:
            meta = config.meta_columns()
        own = [name for name, _ in meta if name.lower() in names]
        if own:
            raise history_errors.own_columns(model, own)
        kept = [column for column in columns if config.is_from_log or column.name.lower() not in COMMIT_COLUMNS]
        key_columns(kept, config.check_cols, "check_cols")
        return [*kept, *(SparkIcebergColumn(name, type_) for name, type_ in meta)]

    def built_rows(self, node: Node, changelog: BaseRelation, columns: Sequence[Column]) -> str:
        """The query of the versions of a history that is built as a whole."""
        run = self._invocations.opened(node).run
        writer = Writer(run, self._adapter.spark, self._adapter.metadata_reader())
        return writer.history.built_sql(changelog.render(), columns)

    def as_of(self, relation: BaseRelation, timestamp: object, graph: Mapping[str, Any]) -> str:
        """The rows of a history table or dbt snapshot that were valid at a given time.

        ``timestamp``: a date or time, a SQL expression of one, or a number if versions begin at numbers.
        ``graph``: dbt's graph, which has the table's configs. With --defer, these are the configs of the other
        environment. If a table is not in the graph, its columns show whether versions can mark deletions.
        """
        nodes = graph.get("nodes", {}).values()
        tables = (each for node in nodes for each in (node, node.get("defer_relation") or {}))
        node = next((each for each in tables if each.get("relation_name") == relation.render()), None)
        config = HistoryConfig() if node is None else ModelConfigs(node.get("config") or {}).history()
        names, time = config.names, _time_sql(timestamp)
        begin, end = sql_name(names.dbt_valid_from), sql_name(names.dbt_valid_to)
        is_there, columns = "", [name for name, _ in config.meta_columns()]
        if node is None:
            columns = [column.name.lower() for column in self._adapter.get_columns_in_relation(relation)]
        if names.dbt_is_deleted in columns:
            is_there = f" and coalesce(lower({sql_name(names.dbt_is_deleted)}), 'false') <> 'true'"
        return f"(select * from {relation} where {begin} <= {time} and ({end} is null or {end} > {time}){is_there})"

    def _loaded(self, name: TableName) -> tuple[MetadataReader, History | None]:
        """The reader that loaded a table, and the table. Spark reads it if PyIceberg fails.

        The check must also work without PyIceberg, which dbt's own models do not need. Raises the errors of the reader.
        """
        reader = self._adapter.metadata_reader()
        try:
            return reader, reader.load(name)
        except MetadataAccessError:
            by_spark = SparkReader(self._adapter.connections.rows)
            return by_spark, by_spark.load(name)

    def _holds_history(self, table: History, reader: MetadataReader, relation: BaseRelation, config: Any) -> bool:
        names = ModelConfigs(config).snapshot_meta_column_names

        def has_its_columns() -> bool:
            found = {column.name.lower() for column in self._adapter.get_columns_in_relation(relation)}
            return {names.dbt_scd_id.lower(), names.dbt_valid_from.lower(), names.dbt_valid_to.lower()} <= found

        return holds_history(table, reader, has_its_columns)

    def _log_dropped(self, model: str, table: TableName) -> None:
        ((versions,),) = self._adapter.spark.rows(f"select count(*) from {table.sql}")
        if versions:
            logger.warning(
                f"{model} is rebuilt without its history: {counted(int(versions), 'version')} of {table} are dropped, "
                "as requested."
            )

    def _config(self, node: Node) -> HistoryConfig:
        config = self._plan(node).policy.history
        assert config is not None
        return config


def _time_sql(value: object) -> str:
    """SQL for a time: a literal for a number or an ISO 8601 time, otherwise a cast of the given expression."""
    if isinstance(value, int):
        return str(value)
    try:
        text = str(datetime.fromisoformat(str(value).strip()))
    except ValueError:
        return f"cast(({value}) as timestamp)"
    return f"cast({sql_string(text)} as timestamp)"

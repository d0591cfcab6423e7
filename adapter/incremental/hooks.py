"""What the macros call: the adapter's ``ip_`` methods. The rules are elsewhere; here they meet dbt."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.column import Column
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.invocation import get_invocation_id

from ..sql import plain_name, sql_name, sql_string
from . import explain, expose, operations, partitions, project, report
from .capture import Action, Cuts, ModelRun, capture_as_of, capture_changelog, capture_changes, open_run
from .checkpoint import KEY, in_force
from .columns import key_columns, updated_columns, written_columns
from .errors import IncrementalError, SourceMissingError
from .history import TableName
from .metadata import MetadataReader
from .net import CHANGE_TYPE
from .policy import MATERIALIZATION, policy_of
from .publish import Configure, Publisher
from .report import IncrementalResponse

logger = AdapterLogger("SparkIceberg")

_Node = Mapping[str, Any]
"""A node as the context of a model gives it to macros."""

_LOOKING_ON = ("compile", "generate")
"""Commands that show SQL without running it: what cannot be captured is then shown as the relation it stands for."""


class Invocation:
    """The captures of one dbt invocation, shared by its threads. A model is run by one thread."""

    def __init__(self, invocation_id: str, cuts: Cuts) -> None:
        self.invocation_id = invocation_id
        self.cuts = cuts
        self.runs: dict[str, ModelRun] = {}


class IncrementalHooks(SparkAdapter):
    """The part of the adapter that incremental processing adds; the adapter gives it the reader and the names."""

    _invocation: Invocation | None = None
    _invocation_lock = threading.Lock()

    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata for this profile."""
        raise NotImplementedError

    def table_name(self, relation: BaseRelation) -> TableName:
        """The three parts of a relation's name."""
        raise NotImplementedError

    def session_configure(self) -> Configure | None:
        """What sets this thread's session without a statement; None where the session is a server's."""
        raise NotImplementedError

    def provider(self, relation: BaseRelation) -> str | None:
        """A table's format; None for a view or where there is no such table."""
        raise NotImplementedError

    @available.parse(lambda self, macro, relation, *args: relation)
    def ip_read(
        self,
        macro: str,
        relation: object,
        node: _Node,
        this: BaseRelation,
        full_refresh: bool,
        partial: bool,
        command: str,
        graph: Mapping[str, Any],
        unique_key: object = None,
    ) -> object:
        """What a macro that reads a relation stands for in a model's SQL: text, or the relation as dbt gave it.

        ``partial``: under ``--empty`` or ``--sample``. ``command``: dbt's, for example ``run``. ``unique_key``: the
        argument of ``ip_changelog``.
        Raises IncrementalError in all its kinds.
        """
        if not isinstance(relation, BaseRelation):
            raise explain.not_a_relation(macro, relation)
        if node["resource_type"] == "unit_test":
            return _as_given(macro, relation)
        if relation.type == RelationType.CTE:
            raise explain.ephemeral(macro, str(relation.identifier), node["unique_id"])
        try:
            run = self._run(macro, node, this, full_refresh, graph)
            if partial:
                run.passes_through = True
                return _as_given(macro, relation)
            source = self.table_name(relation)
            if source == run.name:
                raise explain.reads_itself(macro, run.model)
            if macro == "ip_changelog":
                return self._changelog(run, source, unique_key)
            if macro == "ip_changes":
                return expose.changes_sql(capture_changes(run, self._current().cuts, source))
            return expose.as_of_sql(capture_as_of(run, self._current().cuts, source))
        except SourceMissingError:
            if command not in _LOOKING_ON:
                raise
        except IncrementalError as error:
            if command != "generate":
                raise
            logger.warning(f"{node['unique_id']} is documented without its captured range. {error}")
        return _as_given(macro, relation)

    @available.parse(lambda *args: False)
    def ip_is_incremental(self, node: _Node, this: BaseRelation, full_refresh: bool, graph: Mapping[str, Any]) -> bool:
        """Whether a model of this materialization continues its table, so that ``is_incremental()`` is true."""
        return not self._run("is_incremental", node, this, full_refresh, graph).is_rebuild

    @available.parse_none
    def ip_begin(self, node: _Node) -> str:
        """The action that the materialization shall take for a model, after it was compiled. Logs what was captured.

        Raises ConfigError for a model whose SQL captures nothing.
        """
        run = self._current().runs.get(node["unique_id"])
        if run is None or not (run.captured or run.passes_through):
            policy_of(node["config"], node["unique_id"])
            raise explain.no_capture(node["unique_id"])
        if run.captured:
            logger.info(explain.captured(run.captured.values()))
        if run.is_rebuild:
            (logger.info if run.by_policy else logger.debug)(f"{run.model} is built as a whole: {run.reason}")
        return run.action.value

    @available.parse_none
    def ip_require_replaceable(self, node: _Node, existing: BaseRelation | None, full_refresh: bool) -> None:
        """Refuse to build a model in the place of a table that is not Iceberg's, unless that is asked for.

        Raises CheckpointError.
        """
        run = self._current().runs[node["unique_id"]]
        if run.target is not None or full_refresh or existing is None or existing.is_view:
            return
        provider = self.provider(existing)
        if provider is not None and not run.policy.replaces_unknown_tables:
            raise explain.not_built_by(run.name, run.model, provider)

    @available.parse_none
    def ip_require_partitions(self, node: _Node, described: Any) -> None:
        """Refuse an insert_overwrite into a table that is partitioned in another way than the model is configured.

        ``described``: the rows of DESCRIBE TABLE. Raises ConfigError.
        """
        run = self._current().runs[node["unique_id"]]
        configured = partitions.configured(node["config"].get("partition_by"))
        found = partitions.described(described)
        if set(configured) != set(found):
            raise explain.other_partitioning(run.name, run.model, configured, found)

    @available.parse_none
    def ip_rebuild(self, node: _Node, sql: str) -> IncrementalResponse:
        """Build the table as a whole by a CREATE OR REPLACE TABLE AS, with the checkpoint in its commit."""
        run = self._current().runs[node["unique_id"]]
        if run.passes_through:
            self._publisher().build_partial(run, sql)
            return report.response(run, None)
        return report.response(run, self._publisher().rebuild(run, sql))

    @available.parse_none
    def ip_apply(self, node: _Node, sql: str) -> IncrementalResponse:
        """Apply the captured rows by one statement, with the checkpoint in its commit."""
        run = self._current().runs[node["unique_id"]]
        return report.response(run, self._publisher().apply(run, sql, run.policy.strategy.settings))

    @available.parse_none
    def ip_finish(self, node: _Node) -> IncrementalResponse:
        """End a run that writes no rows; moves the checkpoint if the sources have commits without rows."""
        run = self._current().runs[node["unique_id"]]
        published = self._publisher().advance(run) if run.action is Action.ADVANCE else None
        return report.response(run, published)

    @available.parse_list
    def ip_written_columns(self, source: Sequence[Column], target: Sequence[Column]) -> list[Column]:
        """The target's columns that the model's SQL gives a value for, whatever the case they are written in."""
        return written_columns(source, target)

    @available.parse_list
    def ip_updated_columns(self, columns: Sequence[Column], config: Mapping[str, Any]) -> list[Column]:
        """The columns that a MERGE updates in matched rows: all written ones, or as the model is configured.

        Raises ConfigError for a column that the model does not give.
        """
        return updated_columns(columns, config.get("merge_update_columns"), config.get("merge_exclude_columns"))

    @available
    def ip_quoted(self, name: str) -> str:
        """A column's name as the user configured it, back-quoted if it is not yet."""
        return sql_name(plain_name(name))

    @available.parse_list
    def ip_key_columns(self, unique_key: str | Sequence[str], columns: Sequence[Column]) -> list[str]:
        """The columns of the unique_key, back-quoted. Raises ConfigError for one that the model does not give."""
        return [sql_name(name) for name in key_columns(columns, unique_key)]

    @available
    def ip_string(self, text: str) -> str:
        """A text as a SQL literal."""
        return sql_string(text)

    @available.parse_none
    def ip_require_change_type(self, columns: Sequence[Column], model: str) -> None:
        """Raise ConfigError unless the rows for ``apply_changes`` say what to do with them."""
        names = [column.name for column in columns]
        if CHANGE_TYPE not in (name.lower() for name in names):
            raise explain.no_change_type(model, names)

    @available.parse_none
    def ip_set_checkpoint(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """Set a model's checkpoint by hand: ``operations.set_checkpoint``."""
        catalog = self.config.credentials.database
        reader, publisher = self.metadata_reader(), self._publisher()
        return operations.set_checkpoint(reader, publisher, graph, catalog, get_invocation_id(), arguments)

    @available.parse_none
    def ip_status(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """The status of the project's incremental models: ``operations.status``."""
        return operations.status(self.metadata_reader(), graph, self.config.credentials.database, arguments)

    def ip_stats(self, relation: BaseRelation) -> Mapping[str, tuple[str, object, str]]:
        """The checkpoint in force of a table as stats for the docs: id → (label, value, description)."""
        try:
            history = self.metadata_reader().load(self.table_name(relation))
            if history is None or KEY not in history.properties:
                return {}
            checkpoint = in_force(history, self.metadata_reader().older(history)).checkpoint
        except IncrementalError as error:
            logger.debug(f"No checkpoint is shown for {relation}: {error}")
            return {}
        return {} if checkpoint is None else report.stats(checkpoint)

    def _changelog(self, run: ModelRun, source: TableName, unique_key: object) -> str:
        keys = [unique_key] if isinstance(unique_key, str) else unique_key or []
        if not isinstance(keys, Sequence) or not all(isinstance(key, str) for key in keys):
            raise explain.not_a_key(unique_key, run.model)
        names = [plain_name(key) for key in keys]
        planned = capture_changelog(run, self._current().cuts, source)
        if planned.net is not None:
            wrong = explain.unknown_key(names, planned.net.changed.end, source, run.model)
            if wrong is not None:
                raise wrong
        return expose.changelog_sql(planned, names)

    def _run(
        self, macro: str, node: _Node, this: BaseRelation, full_refresh: bool, graph: Mapping[str, Any]
    ) -> ModelRun:
        model, config = node["unique_id"], node["config"]
        if config["materialized"] != MATERIALIZATION:
            raise explain.wrong_materialization(macro, model, config["materialized"])
        invocation = self._current()
        run = invocation.runs.get(model)
        if run is None:
            run = invocation.runs[model] = open_run(
                self.metadata_reader(),
                invocation.cuts,
                model=model,
                target=self.table_name(this),
                policy=policy_of(config, model),
                invocation_id=invocation.invocation_id,
                full_refresh=full_refresh,
                parents=[
                    project.table_of(p, self.config.credentials.database) for p in project.parents_of(graph, node)
                ],
            )
        return run

    def _current(self) -> Invocation:
        """The state of this invocation; begun anew when dbt is called again in the same process."""
        invocation_id = get_invocation_id()
        with self._invocation_lock:
            if self._invocation is None or self._invocation.invocation_id != invocation_id:
                self._invocation = Invocation(invocation_id, Cuts(self.metadata_reader))
            return self._invocation

    def _publisher(self) -> Publisher:
        return Publisher(
            lambda sql: self.execute(sql, auto_begin=False, fetch=False),
            self.metadata_reader(),
            self.session_configure(),
        )


def _as_given(macro: str, relation: BaseRelation) -> object:
    """A relation that is not captured, as the macro's columns need it."""
    return expose.inserted_sql(str(relation)) if macro == "ip_changelog" else relation

"""The runs of an invocation, and what the macros of a model capture: all calls into ``capture`` are here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from dbt.adapters.base import BaseRelation
from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.open import open_run
from iceberg_incremental.capture.reads import (
    capture_as_of,
    capture_changelog,
    capture_changes,
    capture_groups,
    capture_signed,
)
from iceberg_incremental.capture.run import ModelRun
from iceberg_incremental.explain import model_errors, wording
from iceberg_incremental.expose import relations as expose
from iceberg_incremental.expose.groups import keys_sql, rows_sql
from iceberg_incremental.expose.parts import readings_of
from iceberg_incremental.expose.value_range import ValueRange, capture_range, from_query
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.plan.event_window import EventWindow
from iceberg_incremental.plan.groups import ChangedGroups
from iceberg_incremental.plan.policy import MATERIALIZATION, Strategy
from iceberg_incremental.plan.ranges import NetChanges, Range
from iceberg_incremental.publish.fence import branch_of
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.sql import plain_name
from iceberg_incremental.table.history import TableName

from ..project import graph as project
from ..project.captured import Captured
from ..project.conditional_reads import reads_of
from ..project.data_tests import Audit
from ..project.jinja_scope import JinjaScope
from ..project.model_config import policy_of
from ..project.model_logic import logic_of
from .arguments import column_in, columns_in, relations_in
from .context import ModelContext, Node

logger = AdapterLogger("SparkIceberg")

Arguments = Mapping[str, Any]
"""The further arguments of a macro, by name."""


class Adapter(Protocol):
    """What capturing asks of the adapter."""

    def table_in_use(self, node: Node, selected: Collection[str]) -> TableName:
        """The table that dbt's ref() or source() gives for a node."""
        ...

    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata."""
        ...

    def table_name(self, relation: BaseRelation) -> TableName:
        """The three parts of a relation's name."""
        ...

    @property
    def spark(self) -> Spark:
        """Spark by this thread's connection."""
        ...

    def column_types(self, relation: BaseRelation) -> Mapping[str, str]:
        """The types of a relation's columns by their names, both as Spark has them."""
        ...

    def first_row(self, sql: str) -> Sequence[Any]:
        """The first row of a SELECT."""
        ...

    def event_window(self) -> EventWindow | None:
        """The window that the command names, if it does."""
        ...

    def jinja_scope(self) -> JinjaScope:
        """What the project's Jinja can read."""
        ...


class Invocation:
    """The captures of one dbt invocation, shared by its threads. A model is run by one thread.

    ``given``: by model, what its macros stand for, by the text that they have put into its SQL. ``audits``: by model,
    the data tests that judge its rows. ``scope``: what the project's Jinja can read, once it was asked for.
    """

    def __init__(self, invocation_id: str, cuts: Cuts) -> None:
        self.invocation_id = invocation_id
        self.cuts = cuts
        self.runs: dict[str, ModelRun] = {}
        self.given: dict[str, dict[str, set[Captured]]] = {}
        self.audits: dict[str, list[Audit]] = {}
        self.scope: JinjaScope | None = None

    def run_of(self, macro: str, context: ModelContext, adapter: Adapter) -> ModelRun:
        """The run of a model, opened by the first of its macros; ``macro``: the one at hand.

        Raises ConfigError for a model of another materialization, and as ``open_run`` does.
        """
        model, config = context.unique_id, context.node["config"]
        if config["materialized"] != MATERIALIZATION:
            raise model_errors.wrong_materialization(macro, model, config["materialized"])
        if model not in self.runs:
            self.runs[model] = self._open(context, adapter)
        return self.runs[model]

    def _open(self, context: ModelContext, adapter: Adapter) -> ModelRun:
        model, config = context.unique_id, context.node["config"]
        selected = {*context.selected, model}

        def table(parent: Node) -> TableName:
            return adapter.table_in_use(parent, selected)

        self.cuts.take_together(lambda: project.outside_parents(context.graph, selected, table))
        nodes = {table(parent): parent for parent in project.parents_of(context.graph, context.node)}
        event_times = {table: parent["config"].get("event_time") for table, parent in nodes.items()}
        window = adapter.event_window()
        if window is not None and not config.get("event_time"):
            logger.info(wording.not_of_window(model, window))
            window = None
        scope = adapter.jinja_scope()
        return open_run(
            adapter.metadata_reader(),
            self.cuts,
            model=model,
            target=adapter.table_name(context.this),
            policy=policy_of(config, model),
            invocation_id=self.invocation_id,
            full_refresh=context.full_refresh,
            parents=nodes.keys(),
            window=window,
            event_times={table: plain_name(column) for table, column in event_times.items() if column is not None},
            reads=reads_of(context.node, nodes, scope.macros),
            logic=logic_of(context.node, context.graph, scope),
        )


class Captures:
    """What the macros of one model capture, each as the SQL that it stands for; a method for each macro.

    All take the relations that the macro was given, and its further arguments.
    """

    def __init__(self, macro: str, run: ModelRun, cuts: Cuts, adapter: Adapter, *, shows_sql: bool) -> None:
        """``macro``: the one at hand, for errors. ``shows_sql``: the SQL is shown, and not run on this connection."""
        self._macro = macro
        self._run = run
        self._cuts = cuts
        self._adapter = adapter
        self._exact = None if shows_sql else adapter.spark.scans

    def changes(self, relations: Sequence[BaseRelation], arguments: Arguments) -> str:
        """``ip_changes``."""
        (source,) = self._tables(relations)
        planned = capture_changes(self._run, self._cuts, source)
        self._note_reading(planned)
        return expose.changes_sql(planned, self._exact)

    def as_of(self, relations: Sequence[BaseRelation], arguments: Arguments) -> str:
        """``ip_as_of``."""
        (source,) = self._tables(relations)
        return expose.as_of_sql(capture_as_of(self._run, self._cuts, source))

    def changelog(self, relations: Sequence[BaseRelation], arguments: Arguments) -> str:
        """``ip_changelog``. Raises ConfigError for a ``unique_key`` that the relation does not have."""
        (source,) = self._tables(relations)
        names = columns_in(self._macro, arguments["unique_key"] or [], self._run.model)
        planned = capture_changelog(self._run, self._cuts, source)
        self._run.shown.add(source)
        self._note_reading(planned)
        if isinstance(planned, NetChanges):
            model_errors.require_columns(self._macro, names, planned.net.changed.end, source, self._run.model)
        elif names and self._run.is_rebuild:
            self._types_of(relations[0], names)
        return expose.changelog_sql(planned, names, self._exact)

    def signed_changes(self, relations: Sequence[BaseRelation], arguments: Arguments) -> str:
        """``ip_signed_changes``."""
        (source,) = self._tables(relations)
        planned = capture_signed(self._run, self._cuts, source)
        self._run.signed.add(source)
        self._note_reading(planned)
        return expose.signed_sql(planned, self._exact)

    def changed_groups(self, relations: Sequence[BaseRelation], arguments: Arguments) -> str:
        """``ip_changed_groups``. Raises ConfigError where the model cannot replace whole groups by these ``keys``."""
        run, policy, changes_of = self._run, self._run.policy, arguments["changes_of"]
        (source,) = self._tables(relations)
        changing = relations if changes_of is None else relations_in(self._macro, changes_of, several=True)
        names = columns_in(self._macro, arguments["keys"], run.model)
        in_key = {plain_name(name).lower() for name in policy.unique_key}
        replaces = policy.strategy is Strategy.MERGE and policy.replaces_rows and not policy.sequence_by
        if not replaces or not names or not in_key.issuperset(name.lower() for name in names):
            raise model_errors.groups_need_merge(run.model, policy, names)
        changed = self._tables(changing)
        pinned = capture_as_of(run, self._cuts, source)
        groups = capture_groups(
            run, self._cuts, names, changed, lambda: self._key_types(names, [*relations, *changing])
        )
        if run.is_rebuild:
            # Nothing is read by the keys yet. The next run would fail on one that does not exist.
            for relation in dict.fromkeys([*relations, *changing]):
                self._types_of(relation, names)
            return expose.as_of_sql(pinned)
        if not groups.changes:
            return expose.no_rows_sql(pinned)
        for each in groups.changes:
            self._note_reading(each.planned)
        if pinned.end is None:
            return expose.as_of_sql(pinned)
        return rows_sql(expose.as_of_sql(pinned), self._held(groups), self._exact)

    def _held(self, groups: ChangedGroups) -> ChangedGroups:
        """The groups with their keys held, where the connection can: three statements of a run read them."""
        known = self._run.groups
        if self._exact is None or (known is not None and known.held is not None):
            return known or groups
        view = f"{branch_of(self._run)}_groups"
        self._adapter.spark.hold(view, keys_sql(groups, self._exact))
        self._run.groups = replace(groups, held=view)
        return self._run.groups

    def value_range(self, relations: Sequence[BaseRelation], arguments: Arguments) -> ValueRange:
        """``ip_range``."""
        sources = self._tables(relations)
        column = column_in(self._macro, arguments["column"], self._run.model)
        return capture_range(self._run, self._cuts, column, sources, self._adapter.first_row, self._exact)

    def value_range_as_given(self, relations: Sequence[BaseRelation], arguments: Arguments) -> ValueRange:
        """``ip_range`` of the rows that dbt passes through, with nothing captured."""
        column = column_in(self._macro, arguments["column"], self._run.model)
        return from_query([str(relation) for relation in relations], column, self._adapter.first_row)

    def _note_reading(self, planned: Range) -> None:
        """Keep for the log by what a range's net changes are read."""
        if isinstance(planned, NetChanges):
            readings = readings_of(planned.net, self._exact)
            self._run.readings[planned.table] = " and ".join(each.value for each in readings)

    def _tables(self, relations: Sequence[BaseRelation]) -> list[TableName]:
        """The tables of some relations. Raises ConfigError where one is the model's own."""
        tables = [self._adapter.table_name(relation) for relation in relations]
        if self._run.name in tables:
            raise model_errors.reads_itself(self._macro, self._run.model)
        return tables

    def _key_types(self, names: Sequence[str], relations: Sequence[BaseRelation]) -> tuple[str, ...]:
        """The types of key columns, which all relations must share. Raises ConfigError where they do not."""
        types = {str(self._adapter.table_name(relation)): self._types_of(relation, names) for relation in relations}
        if len(set(types.values())) > 1:
            raise model_errors.other_key_types(self._run.model, types, names)
        return next(iter(types.values()))

    def _types_of(self, relation: BaseRelation, names: Sequence[str]) -> tuple[str, ...]:
        """The types of some columns of a relation. Raises ConfigError for names that it does not have."""
        columns = self._adapter.column_types(relation)
        types = {name.lower(): kind for name, kind in columns.items()}
        unknown = [name for name in names if name.lower() not in types]
        if unknown:
            table = self._adapter.table_name(relation)
            expected = f"columns of {table}: {', '.join(columns)}"
            raise model_errors.unknown_columns(self._macro, unknown, expected, table, self._run.model)
        return tuple(types[name.lower()] for name in names)

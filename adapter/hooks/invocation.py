"""The state of a dbt invocation, shared by its threads: the cuts of its sources, and the runs of its models."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.dbt_snapshot import CODE
from iceberg_incremental.capture.open import open_run
from iceberg_incremental.capture.run import Run
from iceberg_incremental.capture.run_plan import RunPlan
from iceberg_incremental.errors import StatementError
from iceberg_incremental.explain import model_errors, source_errors
from iceberg_incremental.plan.event_window import EventWindow
from iceberg_incremental.plan.policy import MATERIALIZATION, Policy, Strategy
from iceberg_incremental.sql import plain_name
from iceberg_incremental.table.clock import Clock, now_in, require_zone
from iceberg_incremental.table.history import History, TableName
from iceberg_incremental.write.strategies.statement import Statement

from ..project import graph as project
from ..project.captured import Captured
from ..project.conditional_reads import reads_of
from ..project.data_tests import Audit
from ..project.graph import Node
from ..project.jinja import JinjaScope
from ..project.model_config import policy_of
from ..project.model_logic import logic_of
from .adapter import Adapter, TablesInUse

if TYPE_CHECKING:
    from iceberg_incremental.write.auto.auto_sql import AutoSql
    from iceberg_incremental.write.versions.snapshot_writer import SnapshotWriter


logger = AdapterLogger("SparkIceberg")
_WITHOUT_RUNS = ("compile", "generate")
"""The commands that compile models without running them."""


@dataclass(frozen=True)
class ModelContext:
    """A model during compilation, with values that the macro ``_ip_context`` collects from dbt.

    ``this``: its table. ``full_refresh``: whether the table is rebuilt. ``partial``: whether dbt runs with ``--empty``
    or ``--sample``. ``command``: dbt's command, for example ``run``. ``selected``: the unique ids of the selected
    nodes.
    """

    node: Node
    this: BaseRelation
    full_refresh: bool
    partial: bool
    command: str
    graph: Mapping[str, Any]
    selected: Collection[str]

    @property
    def unique_id(self) -> str:
        """The model's unique id."""
        return str(self.node["unique_id"])

    @property
    def is_unit_test(self) -> bool:
        """Whether dbt runs a unit test of the model, with mock rows."""
        return bool(self.node["resource_type"] == "unit_test")

    @property
    def only_shows_sql(self) -> bool:
        """Whether the command runs no models. Macros then return relations that do not exist unchanged."""
        return self.command in _WITHOUT_RUNS

    @property
    def only_documents(self) -> bool:
        """Whether the command is ``dbt docs generate``, which must not fail because of a model."""
        return self.command == "generate"


@dataclass
class SnapshotRun:
    """The run of a dbt snapshot.

    ``plain``: its parsed SQL, which reads ``source``. ``compiled_code``: its SQL text. ``names``: dbt's names for its
    own columns in the table. ``code``: a digest of its code and config. ``writer``: None if the run leaves no
    checkpoint.
    """

    node: Node
    plain: AutoSql
    source: TableName
    compiled_code: str
    names: Mapping[str, str]
    code: str
    writer: SnapshotWriter | None = None

    @property
    def name(self) -> str:
        """The unique id."""
        return str(self.node["unique_id"])

    @property
    def definitions(self) -> Mapping[str, str]:
        """What the checkpoint records, so that ``ip_status`` detects changes."""
        return {**self.plain.definitions, CODE: self.code}


@dataclass
class ModelRun:
    """The run of a model in dbt.

    ``given``: the captures of its macros, by the text that they add to its SQL. ``audits``: the data tests that check
    its rows before publishing. ``statement``: the statement of its strategy, if another one follows. ``plain``: the SQL
    of a model with the strategy ``auto``.
    """

    run: Run
    given: dict[str, set[Captured]] = field(default_factory=dict)
    audits: list[Audit] = field(default_factory=list)
    statement: Statement | None = None
    plain: AutoSql | None = None


@dataclass
class Invocation:
    """One invocation. Each model runs in one thread. ``scope``: the Jinja scope, once it has been requested.

    ``columns``: the columns of tables at a snapshot, as Spark describes them, by the SQL that reads the snapshot.
    ``snapshots``: the runs of dbt's snapshots. ``begun``: the times in ms at which builds of tables began.
    ``clock``: the time at which the invocation reads the clock, once it has been read. ``policies``: the policies of
    models that have been read.
    """

    invocation_id: str
    cuts: Cuts
    models: dict[str, ModelRun] = field(default_factory=dict)
    scope: JinjaScope | None = None
    columns: dict[str, Mapping[str, str]] = field(default_factory=dict)
    snapshots: dict[str, SnapshotRun] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)
    clock: Clock | None = None
    policies: dict[str, Policy] = field(default_factory=dict)


class Invocations:
    """The adapter's current invocation, and the runs of its models."""

    def __init__(self, adapter: Adapter, tables: TablesInUse) -> None:
        self._adapter = adapter
        self.tables = tables
        self._lock = threading.Lock()
        self._current: Invocation | None = None
        self._apart = threading.local()

    @contextmanager
    def apart(self, invocation: Invocation) -> Iterator[None]:
        """Within the block, this thread compiles models with other cuts and runs than those of the invocation."""
        before = getattr(self._apart, "invocation", None)
        self._apart.invocation = invocation
        try:
            yield
        finally:
            self._apart.invocation = before

    def current(self) -> Invocation:
        """The state of this invocation. Creates a new one if dbt is called again in the same process."""
        apart: Invocation | None = getattr(self._apart, "invocation", None)
        if apart is not None:
            return apart
        invocation_id = get_invocation_id()
        with self._lock:
            if self._current is None or self._current.invocation_id != invocation_id:
                self._current = Invocation(invocation_id, Cuts(self._adapter.metadata_reader, self._require_readable))
            return self._current

    def _require_readable(self, history: History) -> None:
        """Raise SourceError if Spark reads no column of a table, because it lacks the type of one of them."""
        if not history.foreign:
            return
        try:
            self._adapter.spark.columns(f"select * from {history.table.sql}")
        except StatementError as error:
            raise source_errors.foreign_types(history.table, history.foreign, str(error)) from error

    def jinja_scope(self) -> JinjaScope:
        """The names in the project's Jinja. Determined once per invocation, because it reads every macro of dbt."""
        invocation = self.current()
        if invocation.scope is None:
            resolver = self._adapter.get_macro_resolver()  # in dbt-core, this is the manifest
            invocation.scope = JinjaScope.of(self._adapter.config, getattr(resolver, "macros", {}).values())
        return invocation.scope

    def if_opened(self, node: Node) -> ModelRun | None:
        """The run of a model. None if no macro of its SQL has opened one, as in dbt's own incremental models."""
        return self.current().models.get(node["unique_id"])

    def run_of(self, unique_id: str) -> Run | None:
        """The current run of a model or snapshot. None if nothing is captured for it."""
        invocation = self.current()
        if unique_id in invocation.models:
            return invocation.models[unique_id].run
        snapshot = invocation.snapshots.get(unique_id)
        return None if snapshot is None or snapshot.writer is None else snapshot.writer.run

    def opened(self, node: Node) -> ModelRun:
        """The run of a model that was opened before."""
        return self.current().models[node["unique_id"]]

    def of(self, macro: str, context: ModelContext) -> ModelRun:
        """The run of a model, which its first macro opens. ``macro``: the macro that is called.

        Raises ConfigError for a model of another materialization, and the errors of ``open_run``.
        """
        model, materialized = context.unique_id, context.node["config"]["materialized"]
        if materialized != MATERIALIZATION:
            raise model_errors.wrong_materialization(macro, model, materialized)
        invocation = self.current()
        if model not in invocation.models:
            invocation.models[model] = ModelRun(self._open(invocation, context))
        return invocation.models[model]

    def policy(self, node: Node) -> Policy:
        """The policy of a model, which is read from its config once. Raises ConfigError."""
        policies, model = self.current().policies, node["unique_id"]
        if model not in policies:
            policies[model] = policy_of(node["config"], model)
        return policies[model]

    def clock(self, zone: str) -> Clock:
        """The time at which the invocation reads the clock, in a time zone. Raises UnknownTimeZoneError."""
        invocation = self.current()
        with self._lock:
            if invocation.clock is None:
                invocation.clock = now_in(zone)
            return Clock(invocation.clock.instant, require_zone(zone))

    def tables_of(self, context: ModelContext) -> list[TableName]:
        """The tables of all ref() and source() calls in a model's SQL, including its ephemeral models."""
        selected = {*context.selected, context.unique_id}
        parents = project.sources_of(context.graph, context.node)
        return [self.tables.in_use(parent, selected) for parent in parents]

    def renew_cuts(self, context: ModelContext) -> None:
        """Take the cuts of the tables that this invocation has built for a node, unless this was done after the build.

        Raises the errors of the reader.
        """
        selected = {*context.selected, context.unique_id}
        behind = project.tables_behind(context.graph, context.node)
        built = [each for each in behind if each["unique_id"] in context.selected]
        self.current().cuts.renew(self.tables.in_use(each, selected) for each in built)

    def drops_history(self, name: str, unique_id: str) -> bool:
        """Whether the variable ``ip_drop_history`` in ``--vars`` permits dropping a model's history."""
        named = (getattr(self._adapter.config, "cli_vars", None) or {}).get("ip_drop_history") or []
        listed = [named] if isinstance(named, str) else named
        return name in listed or unique_id in listed

    def _open(self, invocation: Invocation, context: ModelContext) -> Run:
        model, config = context.unique_id, context.node["config"]
        selected = {*context.selected, model}

        def table(parent: Node) -> TableName:
            return self.tables.in_use(parent, selected)

        invocation.cuts.take_together(lambda: project.outside_parents(context.graph, selected, table))
        self.renew_cuts(context)
        nodes = {table(parent): parent for parent in project.parents_of(context.graph, context.node)}
        event_times = {table: parent["config"].get("event_time") for table, parent in nodes.items()}
        window = self._window()
        if window is not None and not config.get("event_time"):
            logger.info(f"{model} has no event_time: it continues from its checkpoint and does not reprocess {window}.")
            window = None
        scope, policy = self.jinja_scope(), self.policy(context.node)
        plan = open_run(
            self._adapter.metadata_reader(),
            invocation.cuts,
            model=model,
            target=self._adapter.lookup.table_name(context.this),
            policy=policy,
            invocation_id=invocation.invocation_id,
            full_refresh=context.full_refresh,
            parents=None if policy.strategy is Strategy.AUTO else nodes.keys(),  # auto models also read through views
            sources=[table(source) for source in project.read_by(context.graph, context.node)],
            window=window,
            event_times={table: plain_name(column) for table, column in event_times.items() if column is not None},
            reads=reads_of(context.node, nodes, scope.macros),
            logic=logic_of(context.node, context.graph, scope),
            drops_history=self.drops_history(context.node["name"], model),
        )
        return Run(plan)

    def _window(self) -> EventWindow | None:
        """The window of ``--event-time-start`` and ``--event-time-end``. None without these options."""
        options = getattr(self._adapter.config, "args", None)
        start, end = (getattr(options, name, None) for name in ("EVENT_TIME_START", "EVENT_TIME_END"))
        return None if start is None or end is None else EventWindow(start, end)


class Namespace:
    """The base class of the hooks, with the adapter and the runs of the invocation's models."""

    def __init__(self, adapter: Adapter, invocations: Invocations) -> None:
        self._adapter = adapter
        self._invocations = invocations
        self._tables = invocations.tables

    def _plan(self, node: Node) -> RunPlan:
        """The plan of a model whose run was opened before."""
        return self._invocations.opened(node).run.plan

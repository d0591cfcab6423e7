"""The query of a model's rebuild from the snapshots in its table's checkpoint. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.contracts.relation import RelationType

from iceberg_incremental.capture.run import Run
from iceberg_incremental.capture.run_plan import RunPlan
from iceberg_incremental.explain import rebuild_reasons, verify_errors
from iceberg_incremental.plan.policy import Strategy
from iceberg_incremental.plan.ranges import CHANGE_TYPE, COMMIT_COLUMNS
from iceberg_incremental.plan.versions_config import HistoryConfig
from iceberg_incremental.query.text.refusal import Refusal
from iceberg_incremental.sql import statements
from iceberg_incremental.table.checkpoint import Checkpoint
from iceberg_incremental.table.history import TableName
from iceberg_incremental.verify.unsteady import unsteady_jinja, unsteady_python, unsteady_sql
from iceberg_incremental.write.auto.read_alike import is_read_alike
from iceberg_incremental.write.strategies.apply_changes import kept_rows_sql
from iceberg_incremental.write.strategies.statement import compared_columns
from iceberg_incremental.write.writer import Writer

from ..hooks.adapter import Adapter
from ..hooks.auto import AutoHooks
from ..hooks.invocation import Invocations, ModelContext, ModelRun
from ..hooks.python_models import PythonModelHooks
from ..project import graph as project
from ..project.compiled import compiled_code
from ..project.conditional_reads import reads_of
from ..project.graph import Node
from ..project.model_config import policy_of
from ..project.model_logic import logic_of
from ..project.own_table import reads_itself
from . import operation_errors

_VIEW = "__ip_verify"


@dataclass(frozen=True)
class RebuildQuery:
    """The rows of a rebuild, as a query. ``plan``: the plan of the corresponding first build.

    ``key``: the columns that identify a row; empty if there are none. ``code``: the compiled SQL; None for a Python
    model, whose result is in a temporary view. ``unpinned``: tables that the model reads in their current state.
    """

    sql: str
    columns: Sequence[Column]
    key: Sequence[str]
    plan: RunPlan
    code: str | None
    unpinned: Sequence[TableName] = ()


class RebuildQueries:
    """Compiles models as first builds. Used with the cuts of a checkpoint: ``Invocations.apart``."""

    def __init__(self, adapter: Adapter, invocations: Invocations, auto: AutoHooks, python: PythonModelHooks) -> None:
        self._adapter = adapter
        self._invocations = invocations
        self._auto = auto
        self._python = python

    def of(self, node: Node, graph: Mapping[str, Any], this: BaseRelation, checkpoint: Checkpoint) -> RebuildQuery:
        """The query of a model's rebuild. ``this``: its table.

        Raises IncomparableError if the result of a rebuild is not deterministic, and the errors of the compilation.
        """
        model = ModelContext(node, this, False, False, "run-operation", graph, ())
        self._require_steady_jinja(model)
        found = self._begun(model, checkpoint)
        manifest: Any = self._adapter.get_macro_resolver()  # in dbt-core, this is the manifest
        code = compiled_code(self._adapter.config, manifest, model.unique_id)
        if reads_itself({**node, "compiled_code": code}, found.run.plan.name):
            raise verify_errors.depends_on_own_rows(model.unique_id)
        is_python = node.get("language") == "python"
        self._run_header(node)
        if found.run.plan.policy.strategy is Strategy.AUTO:
            return self._of_auto(found, code, model)
        _require_steady(model, unsteady_python(str(node["raw_code"])) if is_python else unsteady_sql(code))
        rows = code
        if is_python:
            named = this.incorporate(path={"identifier": f"{this.identifier}{_VIEW}"}, type=RelationType.View)
            view = named.include(database=False, schema=False)
            rows = self._python.run(node, code, view, once=True)
        return self._of_rows(found, rows, None if is_python else code, model)

    def _begun(self, model: ModelContext, checkpoint: Checkpoint) -> ModelRun:
        """The run of a first build, to which the macros of the model's code add their captures."""
        invocation, node = self._invocations.current(), model.node
        nodes = {self._invocations.tables.in_use(each, ()): each for each in project.parents_of(model.graph, node)}
        plan = RunPlan(
            model.unique_id,
            self._adapter.lookup.table_name(model.this),
            policy_of(node["config"], model.unique_id),
            invocation.invocation_id,
            None,
            None,
            rebuild_reasons.FIRST_BUILD,
            last_epoch=checkpoint.epoch,
            reads=reads_of(node, nodes, self._invocations.jinja_scope().macros),
        )
        found = invocation.models[model.unique_id] = ModelRun(Run(plan))
        return found

    def _require_steady_jinja(self, model: ModelContext) -> None:
        """Raise IncomparableError if Jinja in the model, its macros or its ephemeral models differs each time."""
        if model.node.get("language") == "python":
            return
        texts = logic_of(model.node, model.graph, self._invocations.jinja_scope()).code.values()
        unsteady = dict.fromkeys(name for text in texts for name in unsteady_jinja(text))
        _require_steady(model, list(unsteady))

    def _run_header(self, node: Node) -> None:
        """Execute the model's sql_header, which its SQL may need."""
        for statement in statements(str(node["config"].get("sql_header") or "")):
            self._adapter.spark.send(statement)

    def _of_auto(self, found: ModelRun, code: str, model: ModelContext) -> RebuildQuery:
        found.plain = plain = self._auto.read(code, model)
        if not plain.mentions and self._invocations.tables_of(model):
            raise operation_errors.sources_not_pinned(model.unique_id)
        self._auto.capture_sources(found, plain, model)
        sql = plain.pinned(plain.relation)
        columns = self._auto.columns(sql)
        plan = found.run.plan
        key = plan.policy.unique_key
        try:
            kept = self._auto.runs.kept(plain, {each.name: each.dtype for each in columns}, key)
            key, all_rows = kept.key, self._auto.all_rows(found, kept, sql)
            if all_rows != sql and is_read_alike(self._adapter.spark, kept, plain.renamed):
                sql = all_rows
        except Refusal:  # each run rebuilds the model, and its SQL may be volatile
            _require_steady(model, unsteady_sql(plain.sql))
        return RebuildQuery(sql, columns, key, plan, code)

    def _of_rows(self, found: ModelRun, rows: str, code: str | None, model: ModelContext) -> RebuildQuery:
        plan, columns = found.run.plan, self._auto.columns(rows)
        relation, log = f"(\n{rows}\n)", None
        if plan.policy.history is not None and plan.policy.history.is_from_log:
            return self._of_log(plan, plan.policy.history, relation, code, model)
        if plan.policy.strategy.takes_changelog:
            log, relation = relation, f"({kept_rows_sql(relation)})"
            left_out = {CHANGE_TYPE} if plan.policy.history is None else {CHANGE_TYPE, *COMMIT_COLUMNS}
            columns = [each for each in columns if each.name.lower() not in left_out]
        sql = f"select * from {relation}"
        if plan.policy.strategy.is_keyed and plan.policy.history is None:
            # the rows that a full refresh would write; with passes_through, their deletions are not recorded
            run = Run(replace(plan, passes_through=True))
            writer = Writer(run, self._adapter.spark, self._adapter.metadata_reader())
            compared = compared_columns(model.node["config"], (), ())
            sql = writer.built_rows(relation, columns, compared, log=log, sorts=False)
        key = plan.policy.unique_key if plan.policy.strategy.is_keyed else ()
        return RebuildQuery(sql, columns, key, plan, code, self._unpinned(plan, model))

    def _of_log(
        self, plan: RunPlan, config: HistoryConfig, log: str, code: str | None, model: ModelContext
    ) -> RebuildQuery:
        """The versions that all events of a log create, with the columns of the history's table."""
        events = self._auto.columns(f"select * from {log}")
        if CHANGE_TYPE not in {each.name.lower() for each in events}:
            log = f"(select *, 'INSERT' as {CHANGE_TYPE} from {log})"
        stored = {each.name.lower() for each in self._adapter.get_columns_in_relation(model.this)}
        columns = [each for each in events if each.name.lower() in stored]
        writer = Writer(Run(replace(plan, passes_through=True)), self._adapter.spark, self._adapter.metadata_reader())
        sql = writer.history.built_sql(log, columns)
        key = (*config.unique_key, config.names.dbt_valid_from)
        return RebuildQuery(sql, self._auto.columns(sql), key, plan, code, self._unpinned(plan, model))

    def _unpinned(self, plan: RunPlan, model: ModelContext) -> Sequence[TableName]:
        return sorted(set(self._invocations.tables_of(model)) - plan.captured.keys())


def _require_steady(model: ModelContext, unsteady: Sequence[str]) -> None:
    if unsteady:
        raise verify_errors.nondeterministic_result(model.unique_id, unsteady)

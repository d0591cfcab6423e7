"""``dbt run-operation ip_explain``: ``adapter.ip.explain``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dbt_common.exceptions import DbtBaseException

from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.errors import IncrementalError, NotIcebergError, NotIncrementalError
from iceberg_incremental.explain import auto_errors, source_errors
from iceberg_incremental.plan.policy import MATERIALIZATION, OnNotIncremental, Strategy
from iceberg_incremental.query.plan import IncrementalQuery
from iceberg_incremental.query.text.refusal import Refusal
from iceberg_incremental.spark.port import require_settings
from iceberg_incremental.table.history import TableName
from iceberg_incremental.table.row_counts import rows_at
from iceberg_incremental.write.auto.auto_sql import AutoSql
from iceberg_incremental.write.auto.read_alike import is_read_alike, reads_no_others
from iceberg_incremental.write.auto.update_method import not_incremental, update_method

from ..hooks.adapter import Adapter
from ..hooks.auto import AutoHooks, require_valid_sql
from ..hooks.invocation import Invocations, ModelContext, ModelRun
from ..hooks.write import WriteHooks
from ..project import graph as project
from ..project.compiled import compiled_code
from ..project.graph import Node
from ..project.jinja import reached
from ..project.model_config import policy_of
from ..status.explanation import Explanation, NextRun, as_json, as_text, last_cost, pending
from .arguments import models_of, output_format

_EXPLAINED = (MATERIALIZATION, "table", "incremental")


class ExplainHooks:
    """Explains how models are updated incrementally, without writing anything."""

    def __init__(
        self,
        adapter: Adapter,
        invocations: Invocations,
        auto: AutoHooks,
        write: WriteHooks,
    ) -> None:
        self._adapter = adapter
        self._invocations = invocations
        self._tables = invocations.tables
        self._auto = auto
        self._write = write

    def explain(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """How models are updated incrementally, or could be, as text or JSON.

        ``arguments``: ``model`` or ``select``, or neither for all models; ``format`` (``text`` or ``json``). Raises
        ConfigError for an invalid argument. An error of one model is part of the result.
        """
        wanted = output_format(arguments)
        nodes = models_of(graph, arguments, "ip_explain", _EXPLAINED)
        require_settings(self._adapter.spark, "ip_explain")
        found = [self._explained(graph, node) for node in nodes]
        return as_json(found) if wanted == "json" else as_text(found)

    def _explained(self, graph: Mapping[str, Any], node: Node) -> Explanation:
        name, config = project.table_of(node, self._tables.default_catalog), node["config"]
        found = Explanation(str(node["unique_id"]), str(name), str(config["materialized"]))
        model = ModelContext(
            node=node,
            this=self._tables.relation(name),
            full_refresh=False,
            partial=False,
            command="run-operation",
            graph=graph,
            selected=(),
        )
        try:
            if found.materialized != MATERIALIZATION:
                return self._plain(found, model)
            policy = policy_of(config, found.model)
            found = replace(found, strategy=policy.strategy.value)
            if policy.strategy is not Strategy.AUTO:
                return self._plain(found, model)
            return self._of_auto(replace(found, on_not_incremental=policy.on_not_incremental.value), model)
        except Refusal as refusal:
            return replace(found, is_incremental=False, not_incremental=not_incremental(refusal))
        except (DbtBaseException, IncrementalError) as error:
            return replace(found, error=str(getattr(error, "msg", error)).strip())

    def _plain(self, found: Explanation, model: ModelContext) -> Explanation:
        """Whether a model could have the strategy ``auto``. Raises Refusal if it could not."""
        self._require_plain(model.node)
        try:
            plain = self._auto.read(self._compiled(model.node), model)
            for each in plain.mentions:
                if self._invocations.current().cuts.of(each.relation) is None:
                    raise source_errors.source_missing(each.relation, found.model)
            self._auto.runs.complete(plain)
        except NotIcebergError as error:
            raise Refusal(f"a source that is not an Iceberg table: {error.msg.splitlines()[0]}") from error
        key = model.node["config"].get("unique_key") or ()
        kept = self._kept(plain, model.node, (key,) if isinstance(key, str) else tuple(key))
        return replace(found, is_incremental=True, update_method=update_method(kept, self._rows(plain)))

    def _require_plain(self, node: Node) -> None:
        """Raise Refusal for a Python model, and for a model whose Jinja depends on the run or reads changes."""
        if node.get("language") == "python":
            raise Refusal("Python", None, "write the model in SQL")
        names, _ = reached(str(node["raw_code"]), self._invocations.jinja_scope().macros)
        called = sorted(each for each in names.called if each == "is_incremental" or each.startswith("ip_"))
        if called:
            listed = ", ".join(f"{each}()" for each in called)
            raise Refusal(f"a call of {listed}", None, "read ref() and source() without conditions, in every run")

    def _compiled(self, node: Node) -> str:
        manifest: Any = self._adapter.get_macro_resolver()  # in dbt-core, this is the manifest
        return compiled_code(self._adapter.config, manifest, str(node["unique_id"]))

    def _rows(self, plain: AutoSql) -> dict[TableName, int]:
        """The numbers of rows of the tables that SQL reads."""
        cuts = self._invocations.current().cuts
        found = ((each.relation, cuts.of(each.relation)) for each in plain.mentions)
        return {
            table: rows_at(cut.history, cut.end).rows for table, cut in found if cut is not None and cut.end is not None
        }

    def _kept(self, plain: AutoSql, node: Node, unique_key: tuple[str, ...]) -> IncrementalQuery:
        """How SQL is updated incrementally. Raises Refusal."""
        if plain.refusal is not None:
            require_valid_sql(self._adapter, plain.executable, node)
            raise plain.refusal
        kept = self._auto.runs.kept(plain, self._auto.runs.columns_of(plain.pinned(plain.relation)), unique_key)
        if is_read_alike(self._adapter.spark, kept, plain.renamed):
            return kept
        if not reads_no_others(self._adapter.spark, kept):
            raise Refusal("relations that Spark reads, but that this package does not find in the SQL")
        instead = "qualify each column with the alias of its relation, alias computed columns, and write explicit casts"
        return kept.as_whole(Refusal("SQL that Spark interprets differently from this package", None, instead))

    def _of_auto(self, found: Explanation, model: ModelContext) -> Explanation:
        """How a model with the strategy ``auto`` is updated incrementally, and the result of its next run."""
        if model.node.get("language") == "python":
            raise auto_errors.auto_in_python(found.model)
        self._require_plain(model.node)
        run = self._invocations.of("auto", model)
        plain = run.plain = self._auto.read(self._compiled(model.node), model)
        self._auto.capture_sources(run, plain, model)
        try:
            kept = self._kept(plain, model.node, run.run.plan.policy.unique_key)
        except Refusal as refusal:
            plain.refusal = refusal
            found = replace(found, is_incremental=False, not_incremental=not_incremental(refusal))
        else:
            found = replace(found, is_incremental=True, update_method=update_method(kept, self._rows(plain)))
        target = run.run.plan.target
        cost = None if target is None else last_cost(target.properties)
        return replace(found, last_cost=cost, next_run=self._next_run(run, plain, model))

    def _next_run(self, run: ModelRun, plain: AutoSql, model: ModelContext) -> NextRun:
        """The action of the next run, determined in the same way as in a run."""
        plan = run.run.plan
        ranges = tuple(pending(each) for each in plan.captured.values() if each.brings_rows)
        if plain.refusal is not None and plan.policy.on_not_incremental is OnNotIncremental.FAIL:
            return NextRun("fails", None, "its SQL is not updated incrementally", ranges)
        if plan.action is not Action.APPLY:
            return NextRun(plan.action.value, None, plan.reason, ranges)
        try:
            return self._applied(run, plain, model, NextRun(plan.action.value, ranges=ranges))
        except (NotIncrementalError, IncrementalError) as error:
            return NextRun("fails", None, error.msg, ranges)

    def _applied(self, run: ModelRun, plain: AutoSql, model: ModelContext, found: NextRun) -> NextRun:
        given = self._auto.columns(plain.pinned(plain.relation))
        types = {column.name: column.dtype for column in given}
        columns = self._adapter.get_columns_in_relation(model.this)
        changes = self._write.schema_changes(model.node, model.this, given, columns)
        written = self._write.written_columns(given, self._write.altered_columns(changes, columns))
        synced = {"changes": changes, "written": written}
        with self._auto.planned(run, types, synced, counts_keys=True) as plan:
            found = replace(found, way=plan.way, reason=plan.choice.reason)
            if plan.keys is None:
                return found
            files = self._auto.files_affected(run, plan) or (None, None)
            return replace(found, affected_keys=plan.keys.keys, affected_files=files[0], table_files=files[1])

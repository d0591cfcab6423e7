"""The methods for models with the strategy ``auto``: ``adapter.ip.auto``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any

from dbt.adapters.base.column import Column
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.explain import auto_errors
from iceberg_incremental.plan.configs import ModelConfigs
from iceberg_incremental.plan.policy import OnNotIncremental
from iceberg_incremental.publish.publisher import Published
from iceberg_incremental.query.plan import IncrementalQuery
from iceberg_incremental.query.text.parsing import spark_text, without_end
from iceberg_incremental.query.text.refusal import OtherRelation, Refusal
from iceberg_incremental.sql import sql_name
from iceberg_incremental.write.auto.auto_runs import AutoRuns, Synced, all_rows
from iceberg_incremental.write.auto.auto_sql import AutoSql
from iceberg_incremental.write.auto.update_plan import UpdatePlan
from iceberg_incremental.write.columns.table_columns import require_readable

from ..project.graph import Node
from ..project.own_table import reads_itself
from ..relations.contracts import select_list
from ..relations.relation import SparkIcebergColumn
from .adapter import Adapter
from .audit import AuditHooks
from .invocation import Invocations, ModelContext, ModelRun, Namespace

logger = AdapterLogger("SparkIceberg")


class AutoHooks(Namespace):
    """Models whose tables always equal the result of their SQL."""

    def __init__(self, adapter: Adapter, invocations: Invocations, audits: AuditHooks) -> None:
        super().__init__(adapter, invocations)
        self._audits = audits

    @property
    def runs(self) -> AutoRuns:
        """The runs of the invocation, with the connection of this thread."""
        current, adapter = self._invocations.current(), self._adapter
        catalog = str(adapter.config.credentials.database)
        return AutoRuns(
            adapter.spark,
            adapter.metadata_reader(),
            current.cuts,
            catalog,
            self._invocations.clock,
            current.columns,
            logger.info,
        )

    def capture(self, compiled_code: str, context: Mapping[str, Any]) -> None:
        """Capture the changes of the relations in a model's compiled SQL.

        Raises NotIncrementalError unless the policy is to rebuild, Spark's error for wrong SQL, and the errors of a
        capture.
        """
        model = ModelContext(**context)
        found = self._invocations.of("auto", model)
        if model.partial:
            found.run.plan = replace(found.run.plan, passes_through=True)
            return
        found.plain = plain = self.read(compiled_code, model)
        refusal = plain.refusal
        fails = found.run.plan.policy.on_not_incremental is OnNotIncremental.FAIL
        names_itself = isinstance(refusal, OtherRelation) and reads_itself(model.node, found.run.plan.name)
        if found.run.plan.name in {each.relation for each in plain.mentions} or (fails and names_itself):
            raise auto_errors.reads_own_table(model.unique_id)
        if refusal is not None:
            # Otherwise only a rebuild sends the SQL to Spark, and a run without new commits sends no statement.
            if fails or not self._invocations.tables_of(model):
                require_valid_sql(self._adapter, plain.sql, model.node)
            self.runs.refuse(found.run, refusal)
        self.capture_sources(found, plain, model)
        if refusal is None and plain.refusal is not None:  # of a LIMIT, or of a column that reads the clock
            self.runs.refuse(found.run, plain.refusal)

    def read(self, compiled_code: str, model: ModelContext) -> AutoSql:
        """A model's SQL, with a refusal if it is not incremental.

        Raises the errors of the metadata reader and of Spark.
        """
        functions = ModelConfigs(model.node["config"]).deterministic_functions
        return self.runs.read(compiled_code, self._invocations.tables_of(model), functions)

    def capture_sources(self, found: ModelRun, plain: AutoSql, model: ModelContext) -> None:
        """Capture the changes of the relations in a model's SQL. Raises the errors of a capture."""
        if isinstance(plain.refusal, OtherRelation):
            plain.reads_others = not reads_itself(model.node, found.run.plan.name)
        self.runs.capture(found.run, plain, self._invocations.tables_of(model))

    def query(self, node: Node, compiled_code: str) -> str:
        """A model's SQL, with each relation pinned at the invocation's cut."""
        plain = self._invocations.opened(node).plain
        if plain is None:  # with --empty and --sample
            text = without_end(compiled_code)
            with suppress(Refusal):
                return spark_text(text)
            return text
        return plain.pinned(plain.relation)

    def columns(self, query: str) -> list[Column]:
        """The columns of a query. Raises the errors of Spark."""
        return [SparkIcebergColumn(name, type_) for name, type_ in self._adapter.spark.columns(query)]

    def built_rows(self, node: Node, rows: str) -> str:
        """The query of a table that is built as a whole, as in ``AutoRuns``."""
        found = self._invocations.opened(node)
        columns = self.columns(rows)
        require_readable(columns, node["unique_id"], replaces_rows=True)
        if found.plain is None:
            return rows
        has_order = bool(node["config"].get("partition_by") or node["config"].get("sort_by"))
        types = self._types(found, node, columns)
        return self.runs.built_rows(found.run, found.plain, rows, types, has_order=has_order)

    def all_rows(self, found: ModelRun, kept: IncrementalQuery, rows: str) -> str:
        """The query for all rows. ``rows``: that of the model's text, with a contract."""
        return rows if found.plain is None else all_rows(found.run, found.plain, kept, rows)

    def apply(self, node: Node, query: str, given: Sequence[Column], synced: Mapping[str, Any]) -> Published:
        """Update a model's table to the result of its SQL, with the checkpoint in the commit that publishes the rows.

        ``query``: returns all rows. ``given``: its columns. ``synced``: the table's columns under on_schema_change.
        """
        found = self._invocations.opened(node)
        assert found.plain is not None
        contract = node["config"].get("contract") or {}
        listed = ", ".join(select_list(node)) if contract.get("enforced") else "*"
        runs, types = self.runs, self._types(found, node, given)
        writer = runs.writer(
            found.run,
            found.plain,
            lambda: self._audits.judge_staged(found),
            lambda rows: f"select {listed} from {rows} as model_subq",
        )
        return runs.apply(found.run, found.plain, query, types, _synced(synced), writer)

    def planned(
        self, found: ModelRun, types: Mapping[str, str], synced: Mapping[str, Any], *, counts_keys: bool = False
    ) -> AbstractContextManager[UpdatePlan]:
        """The plan of a run's changes to a model's table, as in ``AutoRuns``. Raises NotIncrementalError."""
        return self.runs.planned(found.run, found.plain, types, _synced(synced), counts_keys=counts_keys)

    def files_affected(self, found: ModelRun, plan: UpdatePlan) -> tuple[int, int] | None:
        """The number of the table's data files that may contain affected rows, and of all its data files.

        None if unknown.
        """
        assert found.plain is not None
        return None if plan.keys is None else self.runs.writer(found.run, found.plain).files_affected(plan.keys)

    def _types(self, found: ModelRun, node: Node, given: Sequence[Column]) -> Mapping[str, str]:
        """The types of the columns of a model's SQL, in order. ``given``: the columns of the rows that it writes."""
        contract = node["config"].get("contract") or {}
        if found.plain is not None and contract.get("enforced"):  # the rows have the columns in the contract's order
            return self.runs.columns_of(found.plain.pinned(found.plain.relation))
        return {column.name: column.dtype for column in given}


def _synced(found: Mapping[str, Any]) -> Synced:
    """The columns of a table under on_schema_change, as the macro returns them."""
    return Synced(found["changes"], found["written"], found.get("all", ()))


_VIEW = "ip_analyzed"
_UNKNOWN_NAMES = ("TABLE_OR_VIEW_NOT_FOUND", "UNRESOLVED_ROUTINE")
"""Spark's errors for the name of a relation or function that does not exist."""


def require_valid_sql(adapter: Adapter, sql: str, node: Node) -> None:
    """Raise Spark's error for SQL that Spark does not accept as a query. The query is only analyzed.

    A name that Spark does not know is no error if the model has a hook or a header, which may define it later.
    """
    config = node["config"]
    defines_names = bool(config.get("pre-hook") or config.get("sql_header"))
    try:
        adapter.execute(f"create or replace temporary view {sql_name(_VIEW)} as\n{sql}")
    except DbtDatabaseError as error:
        if not (defines_names and any(name in str(error) for name in _UNKNOWN_NAMES)):
            raise

"""Write, audit, publish: a model's data tests check its staged rows before readers can see them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.capture.run_plan import RunPlan
from iceberg_incremental.errors import NotIcebergError, StatementError
from iceberg_incremental.explain import race_errors
from iceberg_incremental.plan.session_settings import SUMMARY_SETTING
from iceberg_incremental.publish.commit_conflicts import explaining_refusals
from iceberg_incremental.spark.port import under
from iceberg_incremental.sql import sql_properties
from iceberg_incremental.table.history import TableName
from iceberg_incremental.table.own_names import AUDIT_KEY, audit_table

from ..project import graph as project
from ..project.data_tests import (
    FAIL,
    WARN,
    Audit,
    DataTest,
    Render,
    built_at_any_time,
    generic_tests_of,
    reads_elsewhere,
    rendered,
)
from ..project.graph import Node
from . import hook_errors
from .invocation import ModelRun, Namespace

logger = AdapterLogger("SparkIceberg")

_VERSION = "format-version"
_COMPARES = "test_ip_equals_rebuild"


class AuditHooks(Namespace):
    """Prepares an audit, and runs it on the staged rows: ``adapter.ip.audit``."""

    def prepare(self, node: Node, graph: Mapping[str, Any], selected: Collection[str], render: Render) -> None:
        """Collect the generic tests of a model's audit, if its config requires one.

        A test is left to ``dbt test`` if it also reads a node that this invocation may build before or after the model,
        if it reads an ephemeral model, or if it compares the published table with its rebuild.
        """
        found = self._invocations.opened(node)
        plan = found.run.plan
        if not plan.policy.audit or plan.passes_through:
            return
        later, tests = built_at_any_time(graph, plan.model, selected), list(generic_tests_of(graph, plan.model))
        if not tests and plan.is_rebuild:
            logger.warning(
                f"{plan.model} sets audit, but no generic test can run on its rows before they are published. Add "
                "tests such as unique or not_null to the model's YAML. Singular tests are left to dbt test."
            )
        for test in tests:
            if (reason := _not_in_a_run(test, graph, later)) is not None:
                logger.info(
                    f"{test.name} is not part of the audit of {plan.model}, because {reason}. dbt test runs it."
                )
                continue
            try:
                arguments = rendered(test, graph, lambda each: self._relation_of(plan, graph, each, selected), render)
            except ValueError as error:
                raise hook_errors.audit_test_failed_to_run(plan.model, test, str(error)) from error
            found.audits.append(Audit(test, arguments))

    def audited_rows(self, node: Node, rows: str, properties: Mapping[str, str]) -> str:
        """The query of the rows of a table that is built as a whole. With an audit, it reads them from an audit table.

        The rows are first written to the audit table and tested there. ``properties``: the properties of the model's
        table, in addition to those of its config. Raises AuditError; ConfigError if a table of this name was not
        created by an audit; ConcurrentRunError if another run has replaced the audit table; and the errors of the
        query.
        """
        found = self._invocations.opened(node)
        if not found.audits:
            return rows
        plan, spark, table = found.run.plan, self._adapter.spark, audit_table(found.run.plan.name)
        self._require_own(plan, table)
        version = _format_version(plan, {**properties, **self._adapter.tables.properties(node["config"])})
        made_with = sql_properties({**version, AUDIT_KEY: plan.name})
        with under(spark, {SUMMARY_SETTING + AUDIT_KEY: plan.branch}), explaining_refusals(table, plan.model):
            spark.send(f"CREATE OR REPLACE TABLE {table.sql} USING iceberg TBLPROPERTIES {made_with} AS\n{rows}")
        try:
            staged = self._tables.relation(table).replace(snapshot_id=self._own_snapshot(plan, table))
            self._judge(found, staged)
        except BaseException:
            self.drop_audit_table(found)
            raise
        return f"select * from {staged.render()}"

    def known(self, test: Node) -> Mapping[str, Any] | None:
        """The result of a data test in its model's audit. None if the model's table has changed since.

        Also None for a test that reads other relations, because they may have changed.
        """
        found = self._invocations.current().models.get(str(test.get("attached_node")))
        published = None if found is None else found.run.state.published
        if found is None or published is None:
            return None
        for audit in found.audits:
            if audit.test.unique_id == test["unique_id"] and not audit.test.others:
                now = self._adapter.metadata_reader().load(found.run.plan.name)
                if now is None or now.current_snapshot_id != published.snapshot_id:
                    return None
                logger.info(
                    f"{audit.test.name} already ran on snapshot {published.snapshot_id} in the model's audit: skipped."
                )
                return {"failures": audit.failures, "warns": audit.verdict == WARN}
        return None

    def judge_staged(self, found: ModelRun) -> None:
        """Test the rows on a run's branch. Raises AuditError."""
        if found.audits:
            plan = found.run.plan
            self._judge(found, self._tables.relation(plan.name).replace(branch=plan.branch))

    def drop_audit_table(self, found: ModelRun) -> None:
        """Drop the audit table of a rebuild. If it remains, the next audit replaces it."""
        if found.audits and found.run.plan.is_rebuild:
            drop = f"DROP TABLE IF EXISTS {audit_table(found.run.plan.name).sql}"
            try:
                self._adapter.spark.send(f"{drop} PURGE")
            except StatementError:  # for example, with gc.enabled=false, which Nessie sets for every table
                with suppress(StatementError):
                    self._adapter.spark.send(drop)

    def _judge(self, found: ModelRun, staged: BaseRelation) -> None:
        """Run a model's tests on a relation. Raises AuditError if a test of severity error fails."""
        plan = found.run.plan
        for audit in found.audits:
            try:
                ((failures, should_warn, should_error),) = self._adapter.spark.rows(self._sql_of(plan, audit, staged))
            except (DbtRuntimeError, StatementError) as error:
                raise hook_errors.audit_test_failed_to_run(plan.model, audit.test, error.msg.strip()) from error
            audit.failures = int(failures or 0)
            audit.verdict = audit.test.verdict(should_warn=bool(should_warn), should_error=bool(should_error))
        failed = [audit for audit in found.audits if audit.verdict == FAIL]
        if failed:
            raise hook_errors.audit_failed(plan.model, failed)
        for audit in found.audits:
            if audit.verdict == WARN:
                logger.warning(
                    f"The audit of {plan.model} warns: {audit.test.name}: {audit.failures} found, warn_if "
                    f"{audit.test.warn_if}. The rows are published."
                )

    def _require_own(self, plan: RunPlan, table: TableName) -> None:
        """Raise ConfigError if a table with the name of the audit table was not created by an audit."""
        try:
            existing = self._adapter.metadata_reader().load(table)
        except NotIcebergError as error:
            raise hook_errors.audit_table_in_the_way(plan.model, table) from error
        if existing is not None and AUDIT_KEY not in existing.properties:
            raise hook_errors.audit_table_in_the_way(plan.model, table)

    def _own_snapshot(self, plan: RunPlan, table: TableName) -> int:
        """The id of the snapshot that this run wrote to the audit table.

        Raises ConcurrentRunError if it no longer exists, because another run of the model has replaced the table.
        """
        existing = self._adapter.metadata_reader().load(table)
        made = [] if existing is None else existing.snapshots.values()
        for snapshot in made:
            if snapshot.summary.get(AUDIT_KEY) == plan.branch:
                return snapshot.snapshot_id
        raise race_errors.audit_overtaken(table, plan.model)

    def _sql_of(self, plan: RunPlan, audit: Audit, staged: BaseRelation) -> str:
        """The SQL of a test on a relation, from the macros that ``dbt test`` calls.

        Raises AuditError if the SQL does not read this relation, or also reads the published table.
        """
        test, config, execute = audit.test, {"config": {"where": audit.test.where}}, self._adapter.execute_macro
        judged = execute("get_where_subquery", kwargs={"relation": staged}, context_override=config)
        # An argument of a test may be the tested model itself, for example in a relationships test within one table.
        own = self._tables.relation(plan.name)
        arguments = {key: staged if value == own else value for key, value in audit.arguments.items()}
        sql = execute(test.macro, project=test.package, kwargs={"model": judged, **arguments})
        if (reason := reads_elsewhere(str(sql), staged.render(), plan.name)) is not None:
            raise hook_errors.audit_test_failed_to_run(plan.model, test, reason)
        limited = execute("get_limit_subquery_sql", kwargs={"sql": str(sql), "limit": test.limit})
        return str(
            execute(
                "get_test_sql",
                kwargs={
                    "main_sql": str(limited),
                    "fail_calc": test.fail_calc,
                    "warn_if": test.warn_if,
                    "error_if": test.error_if,
                    "limit": None,
                },
            )
        )

    def _relation_of(
        self, plan: RunPlan, graph: Mapping[str, Any], unique_id: str, selected: Collection[str]
    ) -> BaseRelation:
        """The relation that a test reads. For its own model, this is the run's table, even with --defer."""
        if unique_id == plan.model:
            return self._tables.relation(plan.name)
        node = graph["nodes"].get(unique_id) or graph["sources"][unique_id]
        return self._tables.relation(self._tables.in_use(node, selected))


def _not_in_a_run(test: DataTest, graph: Mapping[str, Any], later: Collection[str]) -> str | None:
    """The reason why a test is left to ``dbt test``. None if it is part of the run of its model."""
    if test.macro == _COMPARES:
        return "it compares the published table with its rebuild"
    if ephemeral := project.ephemeral(graph, test.others):
        return f"it reads {', '.join(ephemeral)}, which is ephemeral"
    may_change = sorted(test.others.intersection(later))
    return f"this invocation may build {', '.join(may_change)} after it" if may_change else None


def _format_version(plan: RunPlan, given: Mapping[str, Any]) -> dict[str, Any]:
    """The format version of a model's table, as a property of the audit table, which needs the same types."""
    known = None if plan.target is None else plan.target.format_version
    version = given.get(_VERSION, known)
    return {} if version is None else {_VERSION: version}

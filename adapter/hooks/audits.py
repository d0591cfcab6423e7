"""Write, audit, publish: a model's own data tests judge its rows where they are staged, before anyone can read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.relation import RelationType
from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.capture.run import ModelRun
from iceberg_incremental.errors import NotIcebergError, StatementError
from iceberg_incremental.explain import race_errors
from iceberg_incremental.plan.session_settings import SUMMARY_SETTING
from iceberg_incremental.publish.fence import branch_of
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
from ..spark.as_dbt import hook
from . import audit_errors
from .base import BaseHooks, logger
from .context import Node

_VERSION = "format-version"


class AuditHooks(BaseHooks):
    """What prepares an audit, and carries it out on the staged rows."""

    @hook.parse_none
    def ip_prepare_audit(self, node: Node, graph: Mapping[str, Any], selected: Collection[str], render: Render) -> None:
        """Take up the generic tests by which a model's rows are judged, if its config asks for that.

        A test that also reads what this invocation may build before the model or after it is left to ``dbt test``, and
        so is one of an ephemeral model, which is no table.
        """
        run = self.opened_run(node)
        if not run.policy.audit or run.passes_through:
            return
        audits = self.current_invocation().audits.setdefault(run.model, [])
        later = built_at_any_time(graph, run.model, selected)
        for test in generic_tests_of(graph, run.model):
            if (reason := _not_in_a_run(test, graph, later)) is not None:
                logger.info(audit_errors.left_out(run.model, test, reason))
                continue
            try:
                arguments = rendered(test, graph, lambda each: self._relation_of(run, graph, each, selected), render)
            except ValueError as error:
                raise audit_errors.not_judged(run.model, test, str(error)) from error
            audits.append(Audit(test, arguments))

    @hook.parse(lambda self, node, rows, properties: rows)
    def ip_audited_rows(self, node: Node, rows: str, properties: Mapping[str, str]) -> str:
        """The query of the rows of a table that is built as a whole: under an audit, from a table beside it.

        Its rows are written and judged there first. ``properties``: of the model's table, beside those of its config.
        Raises AuditError, ConfigError for a table of another kind in that place, and whatever the query raises.
        """
        run = self.opened_run(node)
        if not self.audits_of(run):
            return rows
        table = audit_table(run.name)
        self._require_own(run, table)
        version = _format_version(run, {**properties, **self.table_properties(node["config"])})
        made_with = sql_properties({**version, AUDIT_KEY: run.name})
        with under(self.spark, {SUMMARY_SETTING + AUDIT_KEY: branch_of(run)}):
            self.spark.send(f"CREATE OR REPLACE TABLE {table.sql} USING iceberg TBLPROPERTIES {made_with} AS\n{rows}")
        try:
            staged = self._table(table).replace(snapshot_id=self._own_snapshot(run, table))
            self.audit(run, staged)
        except BaseException:
            self.drop_beside(run)
            raise
        return f"select * from {staged.render()}"

    @hook.parse_none
    def ip_audited(self, test: Node) -> Mapping[str, Any] | None:
        """What a data test has found in the audit of its model, if the model's table is still the one that it judged.

        None of a test that also reads what is not the model's, which may have changed since.
        """
        run = self.current_invocation().runs.get(str(test.get("attached_node")))
        if run is None or run.published is None:
            return None
        for audit in self.audits_of(run):
            if audit.test.unique_id == test["unique_id"] and not audit.test.others:
                now = self.metadata_reader().load(run.name)
                if now is None or now.current_snapshot_id != run.published.snapshot_id:
                    return None
                logger.info(audit_errors.known(audit, run.published.snapshot_id))
                return {"failures": audit.failures, "warns": audit.verdict == WARN}
        return None

    def audits_of(self, run: ModelRun) -> Sequence[Audit]:
        """The data tests that judge a run's rows before they are published."""
        return self.current_invocation().audits.get(run.model, ())

    def audit_staged(self, run: ModelRun) -> None:
        """Judge the rows on a run's branch. Raises AuditError."""
        if self.audits_of(run):
            self.audit(run, self._table(run.name).replace(branch=branch_of(run)))

    def drop_beside(self, run: ModelRun) -> None:
        """Drop the table beside a run's, if it has one; one that stays is replaced by the next audit."""
        if self.audits_of(run) and run.is_rebuild:
            with suppress(StatementError):
                self.spark.send(f"DROP TABLE IF EXISTS {audit_table(run.name).sql} PURGE")

    def audit(self, run: ModelRun, staged: BaseRelation) -> None:
        """Judge a relation by a run's tests. Raises AuditError where one of severity error fails."""
        for audit in self.audits_of(run):
            try:
                ((failures, should_warn, should_error),) = self.spark.rows(self._sql_of(run, audit, staged))
            except (DbtRuntimeError, StatementError) as error:
                raise audit_errors.not_judged(run.model, audit.test, error.msg.strip()) from error
            audit.failures = int(failures or 0)
            audit.verdict = audit.test.verdict(should_warn=bool(should_warn), should_error=bool(should_error))
        failed = [audit for audit in self.audits_of(run) if audit.verdict == FAIL]
        if failed:
            raise audit_errors.audit_failed(run.model, failed)
        for audit in self.audits_of(run):
            if audit.verdict == WARN:
                logger.warning(audit_errors.warned(run.model, audit))

    def _require_own(self, run: ModelRun, table: TableName) -> None:
        """Raise ConfigError where the place of an audit table is taken by what no audit has made."""
        try:
            found = self.metadata_reader().load(table)
        except NotIcebergError as error:
            raise audit_errors.audit_table_in_the_way(run.model, table) from error
        if found is not None and AUDIT_KEY not in found.properties:
            raise audit_errors.audit_table_in_the_way(run.model, table)

    def _own_snapshot(self, run: ModelRun, table: TableName) -> int:
        """The snapshot that this run has made beside its table: another run of the model may have replaced it since.

        Raises ConcurrentRunError where it is gone.
        """
        beside = self.metadata_reader().load(table)
        made = [] if beside is None else beside.snapshots.values()
        for snapshot in made:
            if snapshot.summary.get(AUDIT_KEY) == branch_of(run):
                return snapshot.snapshot_id
        raise race_errors.audit_overtaken(table, run.model)

    def _sql_of(self, run: ModelRun, audit: Audit, staged: BaseRelation) -> str:
        """The SQL of a test on a relation, made by the macros that ``dbt test`` calls.

        Raises AuditError where it would judge other rows.
        """
        test, config = audit.test, {"config": {"where": audit.test.where}}
        judged = self.execute_macro("get_where_subquery", kwargs={"relation": staged}, context_override=config)
        own = self._table(run.name)  # a test may refer to its model a second time, as of a key to the same table
        arguments = {key: staged if value == own else value for key, value in audit.arguments.items()}
        sql = self.execute_macro(test.macro, project=test.package, kwargs={"model": judged, **arguments})
        if (reason := reads_elsewhere(str(sql), staged.render(), run.name)) is not None:
            raise audit_errors.not_judged(run.model, test, reason)
        limited = self.execute_macro("get_limit_subquery_sql", kwargs={"sql": str(sql), "limit": test.limit})
        return str(
            self.execute_macro(
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
        self, run: ModelRun, graph: Mapping[str, Any], unique_id: str, selected: Collection[str]
    ) -> BaseRelation:
        """The relation that a test reads: its own model's table is the run's, also before --defer finds it there."""
        if unique_id == run.model:
            return self._table(run.name)
        node = graph["nodes"].get(unique_id) or graph["sources"][unique_id]
        return self._table(self.table_in_use(node, selected))

    def _table(self, name: TableName) -> BaseRelation:
        return self.Relation.create(
            database=name.catalog, schema=name.namespace, identifier=name.name, type=RelationType.Table
        )


def _not_in_a_run(test: DataTest, graph: Mapping[str, Any], later: Collection[str]) -> str | None:
    """Why a test is not for the run of its model, but for ``dbt test``; None where it is for the run."""
    if ephemeral := project.ephemeral(graph, test.others):
        return f"it reads {', '.join(ephemeral)}, which is ephemeral"
    may_change = sorted(test.others.intersection(later))
    return f"this invocation may build {', '.join(may_change)} after it" if may_change else None


def _format_version(run: ModelRun, given: Mapping[str, Any]) -> dict[str, Any]:
    """The format version of a model's table as a property: types of a later one could not be written beside it."""
    known = None if run.target is None else run.target.format_version
    version = given.get(_VERSION, known)
    return {} if version is None else {_VERSION: version}

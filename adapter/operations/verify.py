"""``dbt run-operation ip_verify`` and the data test ``ip_equals_rebuild``: ``adapter.ip.verify``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation
from dbt_common.exceptions import DbtBaseException

from iceberg_incremental.capture.logic_change import logic_change
from iceberg_incremental.capture.target_checkpoint import target_checkpoint
from iceberg_incremental.errors import IncrementalError, StatementError
from iceberg_incremental.explain import verify_errors
from iceberg_incremental.plan.policy import Strategy
from iceberg_incremental.quantities import counted
from iceberg_incremental.spark.port import require_settings
from iceberg_incremental.sql import plain_name, sql_names, sql_properties
from iceberg_incremental.table.checkpoint import Checkpoint
from iceberg_incremental.table.checkpoint_state import CheckpointState
from iceberg_incremental.table.history import History, TableName
from iceberg_incremental.verify.columns import ComparedColumns, compared_columns, kept_columns
from iceberg_incremental.verify.difference import Comparison, PinnedCuts
from iceberg_incremental.verify.found import VERIFIED_KEY, Permitted, Result, Verified, found, permitted, to_property
from iceberg_incremental.verify.unsteady import choosing_sql
from iceberg_incremental.write.strategies.statement import strategy_config
from iceberg_incremental.write.versions.from_changes import HistoryRows

from ..hooks.adapter import Adapter
from ..hooks.auto import AutoHooks
from ..hooks.invocation import Invocation, Invocations
from ..hooks.python_models import PythonModelHooks
from ..project import graph as project
from ..project.graph import Node
from ..project.model_logic import logic_of
from ..status.verification import Report, Verification
from . import operation_errors
from .arguments import models_of, output_format
from .arguments import share as share_of
from .rebuild_query import RebuildQueries, RebuildQuery

if TYPE_CHECKING:
    from dbt.config.runtime import RuntimeConfig
    from dbt.contracts.graph.manifest import Manifest


@dataclass(frozen=True)
class _Prepared:
    """A comparison that is ready to run. ``about``: the report before the comparison.

    ``permitted``: differences that are not errors. ``if_differing``: notes on differences that may not be errors.
    ``in_part``: whether some rows or columns of the table are not compared.
    """

    comparison: Comparison
    about: Verification
    permitted: Sequence[Permitted] = ()
    if_differing: Sequence[str] = ()
    in_part: bool = False


class VerifyHooks:
    """Compares tables with their rebuilds, without writing either."""

    def __init__(self, adapter: Adapter, invocations: Invocations, auto: AutoHooks, python: PythonModelHooks) -> None:
        self._adapter = adapter
        self._invocations = invocations
        self._tables = invocations.tables
        self._auto = auto
        self._rebuilds = RebuildQueries(adapter, invocations, auto, python)

    def verify(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> Report:
        """Compare the tables of models with their rebuilds from the snapshots of their checkpoints.

        ``arguments``: ``model`` or ``select``, or neither for all models; ``sample``, a share of the keys; ``format``
        (``text`` or ``json``). Raises ConfigError for an invalid argument, and for --defer without a manifest. The
        error of one model is part of the report.
        """
        wanted, share = output_format(arguments), share_of(arguments.get("sample"))
        graph = self._deferred(graph)
        nodes = models_of(graph, arguments, "ip_verify")
        require_settings(self._adapter.spark, "ip_verify")
        return Report([self._verified(node, graph, share) for node in nodes], wanted == "json")

    def _deferred(self, graph: Mapping[str, Any]) -> Mapping[str, Any]:
        """The project's graph. With --defer, it has the relations of the other environment."""
        config = self._adapter.config
        if not is_deferring(config):
            return graph
        manifest: Any = self._adapter.get_macro_resolver()  # in dbt-core, this is the manifest
        folder = state_folder(config)
        if folder is None or not defer_to(manifest, config, folder):
            raise operation_errors.no_state(folder)
        merged: Mapping[str, Any] = manifest.flat_graph
        return merged

    def require_equal(self, report: Report) -> None:
        """Raise DifferenceError if a table differs from its rebuild."""
        if report.differing:
            raise operation_errors.tables_differ(report.differing)

    def failing_rows(self, graph: Mapping[str, Any], tested: object, sample: object, *, partial: bool) -> str:
        """The query of ``ip_equals_rebuild``: the keys in which a table differs from its rebuild.

        ``tested``: the relation. ``partial``: whether dbt runs with ``--empty`` or ``--sample``. Raises ConfigError if
        the relation is not a table of this package, and IncomparableError if it cannot be compared.
        """
        share, known = share_of(sample), project.models(graph)
        nodes = [each for each in known if isinstance(tested, BaseRelation) and self._is_of(each, tested)]
        if len(nodes) != 1:
            raise operation_errors.not_one_table(str(tested))
        if partial:
            raise operation_errors.rows_left_out(str(nodes[0]["unique_id"]))
        require_settings(self._adapter.spark, "ip_equals_rebuild")
        with self._prepared(nodes[0], graph, share) as prepared:
            return prepared.comparison.failing_sql()

    def _is_of(self, node: Node, relation: BaseRelation) -> bool:
        return project.table_of(node, self._tables.default_catalog) == self._adapter.lookup.table_name(relation)

    def _verified(self, node: Node, graph: Mapping[str, Any], share: float) -> Verification:
        name = project.table_of(node, self._tables.default_catalog)
        about = Verification(str(node["unique_id"]), str(name), share=share)
        try:
            with self._prepared(node, graph, share) as prepared:
                about = prepared.about
                about = self._compared(prepared)
        except (DbtBaseException, IncrementalError) as error:
            return replace(about, reason=str(getattr(error, "msg", error)).strip())
        return self._recorded(about, name)

    def _compared(self, prepared: _Prepared) -> Verification:
        comparison, spark = prepared.comparison, self._adapter.spark
        names = [each.name for each in comparison.others]
        try:
            differences = found(spark.rows(comparison.found_sql()), names)
            ((rows,),) = spark.rows(comparison.counted_sql())
        except StatementError as error:
            raise verify_errors.rebuild_failed(prepared.about.model, error.msg) from error
        result, reason = differences.result(prepared.permitted, in_part=prepared.in_part), None
        notes = list(prepared.about.notes)
        if differences.kinds:
            notes += prepared.if_differing
            allowed = [each.reason for each in prepared.permitted]
            if result is Result.NOT_COMPARED:
                reason = f"the differences may be permitted: {'; '.join(allowed)}"
            else:
                notes += [f"some differences may be permitted: {each}" for each in allowed]
        return replace(prepared.about, result=result, rows=int(rows), found=differences, notes=notes, reason=reason)

    def _recorded(self, about: Verification, table: TableName) -> Verification:
        """Record a comparison in a property of the table, for the status page.

        If Spark rejects the statement, for example without permission, the result contains a note instead.
        """
        if about.snapshot_id is None or about.epoch is None or about.found is None:
            return about
        now_ms = int(time.time() * 1000)
        verified = Verified(about.result.value, now_ms, about.snapshot_id, about.epoch, about.share)
        properties = sql_properties({VERIFIED_KEY: to_property(verified)})
        try:
            self._adapter.spark.send(f"ALTER TABLE {table.sql} SET TBLPROPERTIES {properties}")
        except StatementError as error:
            return replace(about, notes=[*about.notes, f"not recorded: {error.msg.splitlines()[0]}"])
        return about

    @contextmanager
    def _prepared(self, node: Node, graph: Mapping[str, Any], share: float) -> Iterator[_Prepared]:
        """A comparison. Sources are pinned in the block. Raises IncomparableError, and the errors of a compilation."""
        model, name = str(node["unique_id"]), project.table_of(node, self._tables.default_catalog)
        scope = self._invocations.jinja_scope()
        target, checkpoint = self._checkpoint_state(model, name)
        cuts = PinnedCuts(self._adapter.metadata_reader, model, checkpoint.sources)
        clock = None if checkpoint.clock is None else checkpoint.clock[0]
        invocation = Invocation(f"{self._invocations.current().invocation_id} verify", cuts, scope=scope, clock=clock)
        with self._invocations.apart(invocation):
            query = self._rebuilds.of(node, graph, self._tables.relation(name), checkpoint)
            table, rows_left_out = self._table_side(query, target, checkpoint)
            columns = self._columns(node, query, table)
            if not columns.compared:
                raise verify_errors.no_common_columns(model, name)
            comparison = Comparison(columns.compared, query.sql, table, _key(query, columns), share)
            notes = [
                *rows_left_out,
                *(f"not compared: {', '.join(names)}; {reason}" for reason, names in columns.left_out.items()),
                *self._notes(node, graph, query, target, checkpoint),
            ]
            about = Verification(
                model,
                str(name),
                snapshot_id=target.current_snapshot_id,
                epoch=checkpoint.epoch,
                sources={source: position.snapshot_id for source, position in checkpoint.sources.items()},
                share=share if comparison.is_sampled else 1.0,
                sql=None if query.code is None else comparison.shown_sql(),
                notes=notes,
            )
            predicates = strategy_config(node["config"]).predicates
            may_differ = permitted(query.plan, cuts, target, predicates)
            yield _Prepared(
                comparison, about, may_differ, _if_differing(query), bool(rows_left_out or columns.left_out)
            )

    def _checkpoint_state(self, model: str, name: TableName) -> tuple[History, Checkpoint]:
        """A model's table and the checkpoint of its rows. Raises IncomparableError without a checkpoint."""
        reader = self._adapter.metadata_reader()
        target = reader.load(name)
        if target is None:
            raise verify_errors.nothing_to_compare(model, name, "does not exist")
        found = target_checkpoint(target, reader)
        missing = _missing(found, model, target)
        if found.checkpoint is None or missing is not None:
            raise verify_errors.nothing_to_compare(model, name, missing or "has no checkpoint")
        return target, found.checkpoint

    def _table_side(self, query: RebuildQuery, target: History, checkpoint: Checkpoint) -> tuple[str, list[str]]:
        """The query of the rows of a table to compare, and a note on the excluded rows.

        In a history that does not come from a log, only valid versions are compared.

        Raises IncomparableError for the history of a log that may not have all events.
        """
        seen = target.current
        assert seen is not None  # it has a checkpoint
        pinned = target.table.at_sql(seen.snapshot_id, has_other_names=seen.has_other_names)
        config = query.plan.policy.history
        if config is not None and config.is_from_log and not (checkpoint.history and checkpoint.history.has_whole_log):
            raise verify_errors.events_incomplete(query.plan.model)
        if config is None or config.is_from_log:
            return f"select * from {pinned}", []
        rows = HistoryRows(config, tuple(query.columns))
        valid = f"{rows.is_valid()} and {rows.is_row}"
        ((others,),) = self._adapter.spark.rows(f"select count(*) from {pinned} where not ({valid})")
        notes = [f"only valid versions are compared, not {counted(int(others), 'ended version')}"] if others else []
        meta = sql_names([name for name, _ in config.meta_columns()])
        return f"select * except ({meta}) from {pinned} where {valid}", notes

    def _columns(self, node: Node, query: RebuildQuery, table: str) -> ComparedColumns:
        given = self._auto.columns(table)
        return compared_columns(query.columns, given, kept_columns(query.plan.policy, node["config"], given))

    def _notes(
        self,
        node: Node,
        graph: Mapping[str, Any],
        query: RebuildQuery,
        target: History,
        checkpoint: Checkpoint,
    ) -> Iterator[str]:
        change = logic_change(logic_of(node, graph, self._invocations.jinja_scope()), checkpoint, target)
        if change is not None:
            yield f"the logic of the model has changed since run {change.after}: rows of earlier runs may be outdated"
            yield from change.differences
        if query.unpinned:
            yield f"read in its current state, because no macro reads it: {', '.join(map(str, query.unpinned))}"


def _missing(found: CheckpointState, model: str, target: History) -> str | None:
    """The reason why a table has no rows to compare. None if it has rows to compare."""
    if target.current_snapshot_id is None:
        return "has no snapshot"
    if found.half_published is not None:
        return "has only a part of a run"
    if found.partial:
        return "was built under --empty or --sample"
    if found.checkpoint is not None and found.checkpoint.model != model:
        return f"has the checkpoint of {found.checkpoint.model}"
    return None


def _key(query: RebuildQuery, columns: ComparedColumns) -> tuple[str, ...]:
    """The compared columns that identify a row. Empty if a column of the key is not compared."""
    names = {each.name.lower(): each.name for each in columns.compared}
    wanted = [plain_name(name).lower() for name in query.key]
    return tuple(names[name] for name in wanted) if all(name in names for name in wanted) else ()


def _if_differing(query: RebuildQuery) -> list[str]:
    """Notes on differences that may not be errors of a run."""
    notes = []
    choosing = [] if query.code is None else choosing_sql(query.code)
    if choosing:
        notes.append(f"{', '.join(choosing)}: the result may depend on the order in which Spark reads rows")
    whole = sorted(map(str, query.plan.only_pinned))
    if whole and query.plan.policy.strategy is not Strategy.AUTO:
        notes.append(
            f"rows keep values from when they were built, of {', '.join(whole)}, which the model reads as a whole"
        )
    return notes


def is_deferring(config: RuntimeConfig) -> bool:
    """Whether the command has --defer."""
    return bool(getattr(config.args, "DEFER", False))


def state_folder(config: RuntimeConfig) -> Path | None:
    """The folder of the manifest to defer to: --defer-state or --state."""
    found: Path | None = getattr(config.args, "DEFER_STATE", None) or getattr(config.args, "STATE", None)
    return found


def defer_to(manifest: Manifest, config: RuntimeConfig, folder: Path) -> bool:
    """Set the relations of a manifest's nodes to those of another environment.

    ``folder``: contains the other manifest. Returns False if it does not exist. Raises dbt's error for a manifest of
    another version.
    """
    from dbt.contracts.state import PreviousState

    other = PreviousState(folder, Path(config.target_path), Path(config.project_root)).manifest
    if other is not None:
        manifest.merge_from_artifact(other)
    return other is not None

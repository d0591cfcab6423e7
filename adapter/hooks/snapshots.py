"""The methods for the materialization of dbt's snapshots: ``adapter.ip.snapshots``.

dbt's own macros generate the statements that compare rows. This module determines which rows they compare: those of
changed keys, or whole tables. It compares whole tables unless both comparisons are known to have the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.dbt_snapshot import compared_whole, is_as_committed, open_snapshot
from iceberg_incremental.capture.run import Run, RunState
from iceberg_incremental.capture.run_plan import Action, RunPlan
from iceberg_incremental.errors import IncrementalError, NotIcebergError, StagingError, StatementError
from iceberg_incremental.explain import history_errors, rebuild_reasons, wording
from iceberg_incremental.expose.source_states import Source
from iceberg_incremental.plan import session_settings
from iceberg_incremental.publish.publisher import Published
from iceberg_incremental.query.row_wise import require_row_wise
from iceberg_incremental.query.text.refusal import Refusal
from iceberg_incremental.table.history import TableName
from iceberg_incremental.write.auto.auto_sql import AutoSql
from iceberg_incremental.write.auto.read_alike import value_settings
from iceberg_incremental.write.versions import dbt_snapshot as sql
from iceberg_incremental.write.versions.snapshot_writer import SnapshotWriter

from ..project import snapshot_config, snapshot_logic
from ..project.graph import Node, parents_of
from . import report
from .adapter import Adapter
from .auto import AutoHooks
from .invocation import Invocations, ModelContext, Namespace, SnapshotRun
from .report import IncrementalResponse

logger = AdapterLogger("SparkIceberg")

_EMPTY = "where false limit 0"
"""What dbt adds to each relation under ``--empty``."""


class SnapshotHooks(Namespace):
    """Snapshots of one table, for which a run compares only the changed keys."""

    def __init__(self, adapter: Adapter, invocations: Invocations, auto: AutoHooks) -> None:
        super().__init__(adapter, invocations)
        self._auto = auto

    def begin(self, compiled_code: str, names: Mapping[str, str], context: Mapping[str, Any]) -> bool:
        """Whether a snapshot can compare only changed keys, given its config and SQL. Logs the reason if it cannot.

        ``names``: dbt's names for its own columns in the table. Raises ConfigError under ``--empty`` and ``--sample``
        if versions of rows that the run does not read would end.
        """
        model = ModelContext(**context)
        if model.partial:
            self._require_no_versions_to_end(model, compiled_code)
        macros = getattr(self._adapter.get_macro_resolver(), "macros", {}).values()
        reason = "the run has --empty or --sample" if model.partial else None
        reason = reason or snapshot_config.reason_of_config(model.node, macros)
        if reason is None:
            try:
                self._invocations.renew_cuts(model)
                plain, source = self._read(compiled_code, model)
            except Refusal as refusal:
                reason = f"its SQL has {refusal}"
            except IncrementalError as error:
                reason = _first_line(error)
            else:
                code = snapshot_logic.code_digest(model.node, model.graph, self._invocations.jinja_scope())
                self._runs[model.unique_id] = SnapshotRun(model.node, plain, source, compiled_code, names, code)
        if reason is not None:
            _log_whole(model.unique_id, reason)
        return reason is None

    def _require_no_versions_to_end(self, model: ModelContext, compiled_code: str) -> None:
        """``--sample`` reads a part of the relations that have an event_time."""
        parents = parents_of(model.graph, model.node)
        reads_part = _EMPTY in compiled_code or any(parent["config"].get("event_time") for parent in parents)
        if not reads_part or not snapshot_config.records_deletions(model.node):
            return
        target = self._adapter.lookup.table_name(model.this)
        try:
            found = self._adapter.metadata_reader().load(target)
        except NotIcebergError:
            return
        if found is not None and found.current is not None and found.current.number("total-records") != 0:
            raise history_errors.ends_unread_versions(target, model.unique_id)

    def plan(self, node: Node, target: BaseRelation, exists: bool) -> str:
        """The action of a run: ``create`` the table, compare ``changes`` or ``whole`` tables, or only ``finish``.

        Raises StagingError if the table contains only a part of a run.
        """
        found = self._of(node)
        try:
            plan = self._planned(found, target)
        except StagingError:
            raise
        except IncrementalError as error:
            plan = None
            _log_whole(found.name, _first_line(error))
        found.writer = None if plan is None else self._writer(found, plan)
        if not exists:
            return "create"
        if plan is None:
            return "whole"
        if plan.target is None or plan.target.current_snapshot_id is None:
            self._give_up(found, "its table has no commit yet")
            return "whole"
        if plan.reads_all:
            _log_whole(found.name, plan.reason)
            return "whole"
        return "finish" if plan.action in (Action.ADVANCE, Action.NOTHING) else "changes"

    def as_read(self, node: Node) -> dict[str, Any]:
        """A snapshot's node for dbt's macros, with the SQL that the run reads."""
        return {**node, "compiled_code": self._query(self._of(node))}

    def staged(self, node: Node, target: BaseRelation) -> BaseRelation:
        """The target of a snapshot's MERGE: a branch of its table, or the table itself if no checkpoint is left."""
        writer = self._of(node).writer
        found: BaseRelation = target if writer is None else target.replace(branch=writer.run.plan.branch)
        return found

    def time(self, node: Node) -> str | None:
        """The time of a run as SQL, for all statements that share it. None if each statement determines its own."""
        found = self._runs.get(str(node["unique_id"]))
        keys = None if found is None or found.writer is None else found.writer.keys
        return None if keys is None else f"timestamp_micros({keys.now})"

    def table_properties(self, node: Node) -> Mapping[str, str]:
        """The properties of a new table of a snapshot, in addition to those of its config."""
        writer, given = self._of(node).writer, self._adapter.tables.properties(node["config"])
        defaults = {} if writer is None else writer.run.plan.policy.strategy.table_defaults
        return {key: value for key, value in defaults.items() if key not in given}

    def leaves_checkpoint(self, node: Node, stored: Sequence[Column], ids: str | None = None) -> bool:
        """Whether a run that reads whole tables leaves a checkpoint. Logs the reason if it does not.

        ``stored``: the columns of its table, before dbt adds missing ones. ``ids``: dbt's SQL expression for the id of
        a version, over these columns; None in the first build.
        """
        found = self._of(node)
        if found.writer is None:
            return False
        try:
            reason = self._reason_to_give_up(found, found.writer, stored)
            if reason is None and not snapshot_config.makes_new_ids(node):
                found.writer.note_ids(ids)
        except StatementError as error:
            reason = _first_line(error)
        if reason is not None:
            self._give_up(found, reason)
        return reason is None

    def create(self, node: Node, statement: str) -> IncrementalResponse:
        """Create the table, with the checkpoint in its commit."""
        writer = self._writer_of(node)
        return _response(writer, writer.create(statement, self._adapter.tables.properties(node["config"])))

    def merge(self, node: Node, statement: str) -> IncrementalResponse:
        """Execute dbt's MERGE of whole tables, with the checkpoint in its commit.

        Raises ConcurrentRunError if another writer changes the table during the run.
        """
        writer = self._writer_of(node)
        return _response(writer, writer.publish(statement))

    def changed(self, node: Node) -> dict[str, BaseRelation] | None:
        """The rows that dbt's macros compare. ``added``: the rows of the query. ``open``: the table's open versions.

        None if whole tables must be compared.
        """
        writer = self._writer_of(node)
        reason = writer.find_changes()
        if reason is not None:
            self._compare_whole(node, reason)
            return None
        assert writer.keys is not None
        logger.info(wording.keys_compared(str(node["unique_id"]), writer.keys.keys))
        return {
            name: self._adapter.Relation.create(identifier=view, type="view")
            for name, view in writer.compared().items()
        }

    def apply(self, node: Node, staging: str) -> IncrementalResponse | None:
        """Apply the changes that dbt's macros find among the rows of ``changed``, with the checkpoint in the commit.

        ``staging``: dbt's query for the changes. None if whole tables must be compared. Raises ConcurrentRunError if
        another writer changes the table during the run.
        """
        writer = self._writer_of(node)
        published = writer.apply(staging)
        if isinstance(published, str):
            self._compare_whole(node, published)
            return None
        return _response(writer, published)

    def finish(self, node: Node) -> IncrementalResponse:
        """End a run without changes. Moves the checkpoint if the source has commits."""
        writer = self._writer_of(node)
        return _response(writer, writer.advance() if writer.run.plan.action is Action.ADVANCE else None)

    @property
    def _runs(self) -> dict[str, SnapshotRun]:
        return self._invocations.current().snapshots

    def _of(self, node: Node) -> SnapshotRun:
        return self._runs[node["unique_id"]]

    def _writer_of(self, node: Node) -> SnapshotWriter:
        writer = self._of(node).writer
        assert writer is not None
        return writer

    def _read(self, compiled_code: str, model: ModelContext) -> tuple[AutoSql, TableName]:
        """A snapshot's SQL, and the table that it reads. Raises Refusal unless it reads one table row by row."""
        plain = self._auto.read(compiled_code, model)
        if plain.refusal is not None:
            raise plain.refusal
        require_row_wise(plain.sql)
        tables = [each.relation for each in plain.mentions]
        if len(tables) != 1:
            found = " and ".join(map(str, tables)) or "no table"
            raise Refusal(f"it reads {found}, but must read exactly one table, once")
        return plain, tables[0]

    def _planned(self, found: SnapshotRun, target: BaseRelation) -> RunPlan | None:
        """The plan of a run. None if it cannot leave a checkpoint. Raises the errors of ``open_snapshot``."""
        invocation, spark = self._invocations.current(), self._adapter.spark
        keys = [each.key for each in session_settings.REFUSED]
        settings = value_settings(spark, *keys)
        refused = session_settings.refused_in({key: settings[key] for key in keys if key in settings})
        if refused:
            _log_whole(found.name, f"the session sets {', '.join(each.key for each, _ in refused)}")
            return None
        if not is_as_committed(invocation.cuts, found.source):
            _log_whole(found.name, rebuild_reasons.SOURCE_NOT_COMMITTED)
            return None
        parts = sorted(f"{key}={value}" for key, value in settings.items())
        parts += [found.plain.text_digest, *(f"{name} {digest}" for name, digest in found.definitions.items())]
        parts.append(str(self._adapter.behavior.enable_truthy_nulls_equals_macro.no_warn))
        parts += [f"{each} {version(each)}" for each in ("dbt-adapters", "dbt-spark", "sqlglot")]
        return open_snapshot(
            self._adapter.metadata_reader(),
            invocation.cuts,
            model=found.name,
            target=self._adapter.lookup.table_name(target),
            unique_key=snapshot_config.unique_key_of(found.node),
            invocation_id=invocation.invocation_id,
            source=found.source,
            logic=snapshot_logic.logic_of(found.node, *parts),
        )

    def _writer(self, found: SnapshotRun, plan: RunPlan) -> SnapshotWriter:
        cut = self._invocations.current().cuts.of(found.source)
        assert cut is not None
        return SnapshotWriter(
            Run(plan, RunState(definitions=found.definitions)),
            self._adapter.spark,
            self._adapter.metadata_reader(),
            lambda relation: found.plain.pinned(lambda _: relation),
            Source(plan.changelogs[found.source], cut.history),
            snapshot_config.history_of(found.node, found.names),
            makes_new_ids=snapshot_config.makes_new_ids(found.node),
        )

    def _query(self, found: SnapshotRun) -> str:
        """The SQL as the run reads it: the table at the invocation's cut, or in its current state."""
        return found.compiled_code if found.writer is None else found.writer.query

    def _reason_to_give_up(self, found: SnapshotRun, writer: SnapshotWriter, stored: Sequence[Column]) -> str | None:
        node, names = found.node, found.names
        given = self._auto.columns(writer.query)
        reason = snapshot_config.reason_of_columns(node, given, stored, names["dbt_valid_from"])
        if reason is not None:
            return reason
        current = node["config"].get("dbt_valid_to_current")
        if current is not None:
            type_ = next(each.dtype for each in stored if each.name == names["dbt_valid_to"])
            if self._adapter.spark.rows(sql.not_current_sql(str(current), type_))[0][0]:
                return "dbt_valid_to_current has a different value after it is stored in the table"
        return writer.reason_to_read_whole() or writer.reason_to_repeat()

    def _give_up(self, found: SnapshotRun, reason: str) -> None:
        """Leave no checkpoint, so that the next run compares whole tables again."""
        found.writer = None
        logger.info(f"{found.name}: leaves no checkpoint, so the next run compares whole tables: {reason}")

    def _compare_whole(self, node: Node, reason: str) -> None:
        """Let a run compare whole tables instead of the changes."""
        found, writer = self._of(node), self._writer_of(node)
        writer.release()
        plan = compared_whole(writer.run.plan, self._invocations.current().cuts, found.source, reason)
        found.writer = self._writer(found, plan)
        _log_whole(found.name, reason)


def _response(writer: SnapshotWriter, published: Published | None) -> IncrementalResponse:
    writer.release()
    writer.run.state.published = None if published is None else published.snapshot
    return report.response(writer.run.plan, published)


def _first_line(error: IncrementalError) -> str:
    return error.msg.splitlines()[0].rstrip(".")


def _log_whole(model: str, reason: str) -> None:
    logger.info(f"{model}: compares whole tables, as dbt does: {reason}")

"""The changes that a run applies, as views whose rows are held, and under ``sequence_by`` put in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column

from iceberg_incremental.capture.run import ModelRun
from iceberg_incremental.errors import StatementError
from iceberg_incremental.explain import model_errors, race_errors, sequence_errors, wording
from iceberg_incremental.plan.policy import Strategy
from iceberg_incremental.plan.session_settings import SUMMARY_SETTING
from iceberg_incremental.publish.fence import branch_of
from iceberg_incremental.spark.port import holding, under
from iceberg_incremental.table.changed_files import ChangedFiles
from iceberg_incremental.table.checkpoint import Deletions
from iceberg_incremental.table.commits import PART_KEY, same_rows, total
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.spark_types import compares_alike
from iceberg_incremental.table.types import has_floats
from iceberg_incremental.write import sequence
from iceberg_incremental.write.changelog import (
    Changes,
    Summary,
    determinism_sql,
    summary_of,
    summary_sql,
    useful,
    view_sql,
)
from iceberg_incremental.write.columns import key_columns
from iceberg_incremental.write.replacement import Replacement
from iceberg_incremental.write.sequence import Flaw, Known, Ordered
from iceberg_incremental.write.unique_keys import in_key_order_sql

from ..project import partition_config
from ..project.own_table import reads_itself
from ..spark.as_dbt import hook
from .base import BaseHooks
from .context import Node

_MOST_FILES = 10_000
"""Of a table with more files, it is assumed that bounds spare reading some."""
_IN_AN_AGGREGATE = "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION"
"""Spark's error of ``determinism_sql``."""


class ChangesHooks(BaseHooks):
    """What makes the views, and what is asked of them."""

    @hook.parse(lambda *args: "")
    def ip_changes_view(self, node: Node) -> str:
        """The name of the temporary view of the changes that a run applies. No other run has it."""
        return changes_view(self.opened_run(node))

    @hook.parse(lambda self, node, new_rows: new_rows)
    def ip_rows_to_write(self, node: Node, new_rows: BaseRelation) -> BaseRelation:
        """The relation of the rows that a run writes: the new rows, or under ``sequence_by`` the view of the newest."""
        run = self.run_if_opened(node)
        if run is None or not run.policy.sequence_by:
            return new_rows
        relation: BaseRelation = new_rows.incorporate(path={"identifier": changes_view(run)})
        return relation

    @hook.parse(lambda *args: False)
    def ip_can_hold(self, node: Node, relation: BaseRelation) -> bool:
        """Whether several statements can read the rows of a view and see the same ones.

        Raises ConfigError where they cannot, and must, since the model has ``sequence_by``.
        """
        return self.can_hold(self.opened_run(node), relation)

    @hook.parse(lambda *args: False)
    def ip_has_sequence(self, node: Node) -> bool:
        """Whether a model's rows are kept by ``sequence_by``."""
        return bool(self.opened_run(node).policy.sequence_by)

    @hook.parse(lambda *args: "")
    def ip_in_key_order(self, node: Node, rows: str, columns: Sequence[Column]) -> str:
        """The rows of a table that is built as a whole, in the order of its key where the table can have that order.

        Of a partitioned table Spark shuffles the rows to their partitions in any case.
        """
        run, config = self.opened_run(node), node["config"]
        keys = key_columns(columns, run.policy.unique_key)
        if any(has_floats(column.dtype) for column in columns if column.name in keys):
            return rows
        if partition_config.fields(config.get("partition_by"), run.model):
            return rows
        return in_key_order_sql(rows, keys)

    @hook.parse(lambda *args: "")
    def ip_newest_rows(self, node: Node, source: BaseRelation, columns: Sequence[Column], is_kept: str) -> str:
        """The query of the rows of a table that is built as a whole, under ``sequence_by``: of each key the newest.

        It fails where two rows are the newest. ``source``: the changelog for ``apply_changes``, else the rows.
        Deletions in the changelog are remembered. The rows are read more than once, and held where Spark may compute
        others each time.
        """
        run = self.opened_run(node)
        ordered = self.ordered(run, columns)
        is_kept = is_kept if ordered.has_deletions else "true"
        read = f"({sequence.read_sql(source.render(), ordered, is_kept=is_kept, run=branch_of(run))})"
        if not run.passes_through and not self._is_deterministic(source):
            self.can_hold(run, source)
            view = f"{changes_view(run)}_read"
            self.spark.hold(view, read)
            read = view
        if ordered.has_deletions and not run.passes_through and self.spark.rows(sequence.any_deletion_sql(read)):
            view = f"{changes_view(run)}_deleted"
            with holding(self.spark, view, sequence.built_deletions_sql(read, ordered, run.model)):
                if self.spark.rows(f"select 1 from {view} limit 1"):
                    self.remember(run, ordered, f"select * from {view}")
        return sequence.built_sql(self.ip_in_key_order(node, read, columns), ordered, run.model)

    def can_hold(self, run: ModelRun, relation: BaseRelation) -> bool:
        """See ``ip_can_hold``. A server may compute rows again: they must be deterministic, as far as Spark knows."""
        if self.spark.computes_once or self._is_deterministic(relation):
            return True
        if run.policy.sequence_by:
            raise sequence_errors.needs_same_rows(run.model)
        return False

    def _is_deterministic(self, relation: BaseRelation) -> bool:
        """Whether Spark computes the same rows of a relation each time, as far as it knows."""
        try:
            self.spark.rows(determinism_sql(relation.render()))
        except StatementError as error:
            if _IN_AN_AGGREGATE not in str(error):
                raise
            return False
        return True

    @contextmanager
    def changes_of(
        self, run: ModelRun, source: BaseRelation, columns: Sequence[Column], is_kept: str
    ) -> Iterator[Changes]:
        """The view of the changes that a run applies. ``is_kept``: the expression that says which rows are kept.

        Raises SequenceError where the newest row of a key is not known.
        """
        replacement, view = replacement_of(run, columns), changes_view(run)
        types = {column.name: str(column.dtype) for column in columns}
        changes = Changes(view, replacement, tuple(types[name] for name in replacement.fixed))
        with ExitStack() as held:
            if run.policy.sequence_by:
                rows = self._newest(run, source, columns, is_kept, changes, held)
            else:
                shows_old = run.shows_old_rows
                rows = view_sql(source.render(), columns, replacement, is_kept=is_kept, shows_old=shows_old, run=view)
            held.enter_context(holding(self.spark, view, rows))
            yield changes

    def _newest(
        self,
        run: ModelRun,
        source: BaseRelation,
        columns: Sequence[Column],
        is_kept: str,
        changes: Changes,
        held: ExitStack,
    ) -> str:
        """The query of the newest changes; what it reads is ``held``."""
        target = run.compared = self._target_now(run)
        ordered, read, compared = self.ordered(run, columns), f"{changes.view}_read", f"{changes.view}_compared"
        sql = sequence.read_sql(source.render(), ordered, is_kept=is_kept, run=changes.view)
        held.enter_context(holding(self.spark, read, sql))
        summary = self.summary(replace(changes, view=read))
        head = target.current_snapshot_id
        known = Known(
            run.name,
            head,
            self._known_deletions(run, ordered),
            useful(summary.bounds, self.files_at(target, head)),
            summary.keys,
            replaces_same=run.window is not None,
        )
        held.enter_context(holding(self.spark, compared, sequence.compared_sql(read, ordered, known)))
        found = {str(flaw) for (flaw,) in self.spark.rows(sequence.flaws_sql(compared))}
        for flaw in Flaw:
            if flaw.value not in found:
                continue
            if flaw is Flaw.SAME_AS_ROW:
                keys = self.spark.rows(sequence.differing_sql(compared, ordered, known))
            else:
                keys = self.spark.rows(sequence.flawed_sql(compared, ordered, flaw))
            if keys:
                raise sequence.ERRORS[flaw](run.model, ordered.keys, ordered.sequence, wording.keys(keys))
        return sequence.newest_sql(read, compared, ordered)

    def ordered(self, run: ModelRun, columns: Sequence[Column]) -> Ordered:
        """How the rows of these columns are put in order.

        Raises ConfigError for a column of ``sequence_by`` that is none of them, or whose type has no order.
        """
        policy = run.policy
        ordered = Ordered(
            tuple(columns),
            tuple(key_columns(columns, policy.unique_key)),
            tuple(key_columns(columns, policy.sequence_by, "sequence_by")),
            tuple(key_columns(columns, policy.fixed_columns, "merge_fixed_columns")),
            has_deletions=policy.strategy is Strategy.APPLY_CHANGES,
            deletes_same=run.shows_old_rows,
        )
        if ordered.without_order:
            raise sequence_errors.no_order(run.model, ordered.without_order)
        return ordered

    def remember(self, run: ModelRun, ordered: Ordered, deletions: str) -> None:
        """Write the deletions of a query to the table that remembers them, from which the run's checkpoint has them.

        That is before the run is published. What a run has written that was not published, no checkpoint names: the
        next one continues from the snapshot that its checkpoint names. Raises ConcurrentRunError where another run
        has written at the same time, ConfigError for a table of another kind in this place.
        """
        before, table = run.known_deletions, sequence.deletions_table(run.name)
        now = self.metadata_reader().load(table)
        if now is not None and sequence.BESIDE_KEY not in now.properties:
            raise sequence_errors.table_in_the_way(run.model, table)
        continues = (
            before is not None
            and now is not None
            and before == Deletions(str(table), now.current_snapshot_id or 0)
            and self._types_of(table, ordered) == ordered.types_of(ordered.identifying)
        )
        if continues:
            sql = sequence.remember_more_sql(table, ordered, deletions)
        else:
            sql = sequence.remember_sql(table, run.name, ordered, deletions, before)
        mark = branch_of(run)
        with under(self.spark, {SUMMARY_SETTING + PART_KEY: mark}):
            self.spark.send(sql)
        now = self.metadata_reader().load(table)
        head = None if now is None else now.current
        parent = before.snapshot_id if continues and before is not None else None
        if head is None or head.summary.get(PART_KEY) != mark or head.parent_id != parent:
            raise sequence_errors.deletions_overtaken(run.model, table)
        run.deletions = Deletions(str(table), head.snapshot_id)

    def _known_deletions(self, run: ModelRun, ordered: Ordered) -> Deletions | None:
        """The deletions of earlier runs; after a compaction of their table, at the snapshot that it made.

        Raises CheckpointError where they are gone, ConfigError for other columns.
        """
        known = run.known_deletions
        if known is None:
            return None
        table = TableName.parse(known.table)
        history = None if table is None else self.metadata_reader().load(table)
        if table is None or history is None:
            raise sequence_errors.deletions_lost(run.model, known, "no such table")
        run.deletions = sequence.readable(known, history)
        if run.deletions is None:
            raise sequence_errors.deletions_lost(run.model, known, "no such snapshot of it")
        names, wanted = ordered.identifying, ordered.types_of(ordered.identifying)
        types = zip(names, wanted, self._types_of(table, ordered, run.deletions.snapshot_id), strict=True)
        others = [each for each in types if not compares_alike(*each[1:])]
        if others:
            raise sequence_errors.deletions_of_other_columns(run.model, known, others)
        return run.deletions

    def _types_of(self, table: TableName, ordered: Ordered, snapshot_id: int | None = None) -> tuple[str, ...]:
        """The types of the columns by which a table remembers deletions; '' for one that it has not."""
        pinned = "" if snapshot_id is None else f" VERSION AS OF {snapshot_id}"
        rows = self.spark.rows(f"describe query select * from {table.sql}{pinned}")
        types = {str(row[0]).lower(): str(row[1]) for row in rows}
        return tuple(types.get(name.lower(), "") for name in ordered.identifying)

    def summary(self, changes: Changes) -> Summary:
        """What is known of a view of changes."""
        (row,) = self.spark.rows(summary_sql(changes))
        return summary_of(changes, row)

    def require_same(self, run: ModelRun, changes: Changes, found: Summary) -> None:
        """Raise ConcurrentRunError where the changes would be others if they were computed now."""
        if not self.spark.computes_once and self.summary(changes) != found:
            raise race_errors.rows_changed(run.model)
        self.require_own_rows(run)

    def note_own_rows(self, run: ModelRun, node: Node) -> None:
        """Note where the target is, before rows are computed and held, if the model reads its own table."""
        if run.own_rows is None and reads_itself(node, run.name):
            run.own_rows = self.metadata_reader().load(run.name)

    def require_own_rows(self, run: ModelRun) -> None:
        """Raise ConcurrentRunError where rows of the target have changed since they became part of held rows."""
        now = None if run.own_rows is None else self.metadata_reader().load(run.name)
        if run.own_rows is None or now is None:  # a table that was dropped is the publisher's to see
            return
        if not same_rows(now, run.own_rows.current_snapshot_id, now.current_snapshot_id):
            raise race_errors.own_rows_changed(now, run.model)

    def require_compared(self, run: ModelRun, target: History, commit: Snapshot) -> None:
        """Raise ConcurrentRunError where rows of the target have changed since the new rows were compared with them."""
        if run.compared is None:
            return
        if not same_rows(target, run.compared.current_snapshot_id, commit.parent_id):
            raise sequence_errors.rows_moved(run.model, run.name)

    def _target_now(self, run: ModelRun) -> History:
        """The target as it is when new rows are compared with it: a pre-hook may have changed it since the run began.

        Raises ConcurrentRunError where it was dropped.
        """
        now = self.metadata_reader().load(run.name)
        if now is None:
            raise race_errors.target_gone(run.name, run.model)
        return now

    def files_at(self, target: History, snapshot_id: int | None) -> ChangedFiles | None:
        """The files of the target at a snapshot; None where they are too many to look at, or not known."""
        snapshot = None if snapshot_id is None else target.snapshots.get(snapshot_id)
        if snapshot_id is None or snapshot is None or total(snapshot)[0] > _MOST_FILES:
            return None
        return self.metadata_reader().data_files(target, snapshot_id)


def changes_view(run: ModelRun) -> str:
    """A name for the view of the changes that a run applies, which needs no quotes."""
    return f"{branch_of(run)}_changes"


def replacement_of(run: ModelRun, columns: Sequence[Column]) -> Replacement:
    """What the rows of these columns replace in a run's table.

    Raises ConfigError for a key that is none of the columns, or has another type than in the changed relations.
    """
    types = {column.name.lower(): str(column.dtype) for column in columns}
    keys = key_columns(columns, run.policy.unique_key)
    fixed = key_columns(columns, run.policy.fixed_columns, "merge_fixed_columns")
    groups = run.groups
    if groups is not None and groups.changes:
        here = tuple(types[key.lower()] for key in groups.keys)
        if here != groups.types:
            both = {"the changed relations": groups.types, str(run.name): here}
            raise model_errors.other_key_types(run.model, both, groups.keys)
    return Replacement(tuple(keys), tuple(types[key.lower()] for key in keys), tuple(fixed), groups)

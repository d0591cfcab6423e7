"""The view of the changes that a run applies, whose rows Spark holds. With ``sequence_by``, only the newest changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from ...capture.run import Run
from ...capture.run_plan import RunPlan
from ...errors import StatementError
from ...explain import group_errors, race_errors, sequence_errors, wording
from ...metadata import MetadataReader
from ...publish.fence import Fence
from ...spark.port import Spark, holding
from ...table.commits import same_rows
from ...table.history import History, Snapshot
from ..columns.table_columns import Typed, key_columns
from ..listed_files import files_at
from ..strategies.changelog import ChangesView, Summary, determinism_sql, summary_of, summary_sql, useful, view_sql
from ..strategies.replacement import Replacement
from . import sequence
from .deletions import RememberedDeletions
from .ordered import Ordered, ordered_by
from .sequence import Flaw, Known

_IN_AN_AGGREGATE = "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION"
"""Spark's error for ``determinism_sql``."""


class HeldChanges:
    """Creates the view of one run's changes, and provides information about it."""

    def __init__(self, run: Run, spark: Spark, reader: MetadataReader) -> None:
        self._run = run
        self._plan = run.plan
        self._spark = spark
        self._reader = reader
        self._deletions = RememberedDeletions(run, spark, reader)

    def can_hold(self, relation: str) -> bool:
        """Whether several statements can read the rows of a relation and see the same rows.

        A server may compute rows again, so they must be deterministic, as far as Spark knows. Raises ConfigError if
        they are not, and the model has ``sequence_by``.
        """
        if self._spark.computes_once or self.is_deterministic(relation):
            return True
        if self._plan.policy.sequence_by:
            raise sequence_errors.needs_same_rows(self._plan.model)
        return False

    def is_deterministic(self, relation: str) -> bool:
        """Whether a relation always has the same rows, as far as Spark knows."""
        try:
            self._spark.rows(determinism_sql(relation))
        except StatementError as error:
            if _IN_AN_AGGREGATE not in str(error):
                raise
            return False
        return True

    @contextmanager
    def view(self, source: str, columns: Sequence[Typed], is_kept: str) -> Iterator[ChangesView]:
        """The view of the changes that a run applies. ``is_kept``: the condition for kept rows.

        Raises SequenceError if the newest row of a key cannot be determined.
        """
        replacement, name = replacement_of(self._plan, columns), changes_view(self._plan)
        types = {column.name: str(column.dtype) for column in columns}
        changes = ChangesView(name, replacement, tuple(types[each] for each in replacement.fixed))
        with ExitStack() as held:
            if self._plan.policy.sequence_by:
                rows = self._newest(source, columns, is_kept, changes, held)
            else:
                shows_old = self._plan.shows_old_rows
                rows = view_sql(source, columns, replacement, is_kept=is_kept, shows_old=shows_old, run=name)
            held.enter_context(holding(self._spark, name, rows))
            yield changes

    def _newest(
        self, source: str, columns: Sequence[Typed], is_kept: str, changes: ChangesView, held: ExitStack
    ) -> str:
        """The query of the newest changes. The relations that it reads are added to ``held``."""
        # the current table, because a pre-hook may have changed it since the run began
        target = self._run.state.compared = Fence(self._reader).loaded(self._plan)
        ordered, read, compared = ordered_by(self._plan, columns), f"{changes.view}_read", f"{changes.view}_compared"
        sql = sequence.read_sql(source, ordered, is_kept=is_kept, run=changes.view)
        held.enter_context(holding(self._spark, read, sql))
        summary = self.summary(replace(changes, view=read))
        head = target.current_snapshot_id
        known = Known(
            self._plan.name,
            target.current,
            self._deletions.known(ordered.remembered),
            useful(summary.bounds, files_at(self._reader, target, head)),
            summary.keys,
            replaces_same=self._plan.window is not None,
        )
        held.enter_context(holding(self._spark, compared, sequence.compared_sql(read, ordered, known)))
        self._require_no_flaws(compared, ordered, known)
        return sequence.newest_sql(read, compared, ordered)

    def _require_no_flaws(self, compared: str, ordered: Ordered, known: Known) -> None:
        """Raise SequenceError if the order of a row cannot be determined."""
        found = {str(flaw) for (flaw,) in self._spark.rows(sequence.flaws_sql(compared))}
        for flaw in Flaw:
            if flaw.value not in found:
                continue
            if flaw is Flaw.SAME_AS_ROW:
                keys = self._spark.rows(sequence.differing_sql(compared, ordered, known))
            else:
                keys = self._spark.rows(sequence.flawed_sql(compared, ordered.keys, flaw))
            if keys:
                raise sequence.ERRORS[flaw](self._plan.model, ordered.keys, ordered.sequence, wording.keys(keys))

    def newest_rows(self, source: str, columns: Sequence[Typed], is_kept: str) -> tuple[str, Ordered]:
        """The relation of the new rows of a table that is built as a whole, and the order of its rows.

        Deletions among them are recorded. The rows are read several times, and are held if Spark may compute different
        rows each time.
        """
        plan, ordered = self._plan, ordered_by(self._plan, columns)
        is_kept = is_kept if ordered.has_deletions else "true"
        read = f"({sequence.read_sql(source, ordered, is_kept=is_kept, run=plan.branch)})"
        if not plan.passes_through and not self.is_deterministic(source):
            self.can_hold(source)
            view = f"{changes_view(plan)}_read"
            self._spark.hold(view, read)
            read = view
        if ordered.has_deletions and not plan.passes_through and self._spark.rows(sequence.any_deletion_sql(read)):
            view = f"{changes_view(plan)}_deleted"
            with holding(self._spark, view, sequence.built_deletions_sql(read, ordered, plan.model)):
                if self._spark.rows(f"select 1 from {view} limit 1"):
                    self._deletions.remember(ordered.remembered, f"select * from {view}")
        return read, ordered

    def remember(self, changes: ChangesView, columns: Sequence[Typed]) -> None:
        """Record the deletions of a view, as in ``RememberedDeletions.remember``."""
        ordered = ordered_by(self._plan, columns)
        self._deletions.remember(ordered.remembered, sequence.deletions_sql(changes.view, ordered))

    def summary(self, changes: ChangesView) -> Summary:
        """The summary of a view of changes. Values are digested only if a server may compute them again."""
        if self._spark.computes_once:
            changes = replace(changes, deciding=())
        (row,) = self._spark.rows(summary_sql(changes))
        return summary_of(changes, row)

    def require_same(self, changes: ChangesView, found: Summary) -> None:
        """Raise ConcurrentRunError if the changes would differ if they were computed now."""
        if not self._spark.computes_once and self.summary(changes) != found:
            raise race_errors.rows_changed(self._plan.model)
        self.require_own_rows()

    def note_own_rows(self) -> None:
        """Record the target's current state, before rows of the target become part of held rows."""
        if self._run.state.own_rows is None:
            self._run.state.own_rows = self._reader.load(self._plan.name)

    def require_own_rows(self) -> None:
        """Raise ConcurrentRunError if rows of the target have changed since they became part of held rows."""
        before = self._run.state.own_rows
        now = None if before is None else self._reader.load(self._plan.name)
        if before is None or now is None:  # the publisher reports a dropped table
            return
        if not same_rows(now, before.current_snapshot_id, now.current_snapshot_id):
            raise race_errors.own_rows_changed(now, self._plan.model)

    def staged(self) -> tuple[History, Snapshot] | None:
        """The target, and the newest commit of the run's branch. None without either, which the publisher reports."""
        now = self._reader.load(self._plan.name)
        head = None if now is None else now.snapshots.get(now.refs.get(self._plan.branch, 0))
        return None if now is None or head is None else (now, head)

    def require_compared(self, target: History, commit: Snapshot) -> None:
        """Raise ConcurrentRunError if rows of the target have changed since new rows were compared with them."""
        before = self._run.state.compared
        if before is not None and not same_rows(target, before.current_snapshot_id, commit.parent_id):
            raise sequence_errors.rows_moved(self._plan.model, self._plan.name)


def changes_view(plan: RunPlan) -> str:
    """The name of the view of a run's changes. It needs no quotes."""
    return f"{plan.branch}_changes"


def replacement_of(plan: RunPlan, columns: Sequence[Typed]) -> Replacement:
    """How rows with these columns replace rows of a run's table.

    Raises ConfigError for a key that is not a column, or whose type differs from that in the changed relations.
    """
    types = {column.name.lower(): str(column.dtype) for column in columns}
    keys = key_columns(columns, plan.policy.unique_key)
    fixed = key_columns(columns, plan.policy.fixed_columns, "merge_fixed_columns")
    groups = plan.groups
    if groups is not None and groups.changes:
        here = tuple(types[key.lower()] for key in groups.keys)
        if here != groups.types:
            both = {"the changed relations": groups.types, str(plan.name): here}
            raise group_errors.other_key_types(plan.model, both, groups.keys)
    return Replacement(tuple(keys), tuple(types[key.lower()] for key in keys), tuple(fixed), groups)

"""Writing one run of a history table from a log of events: its versions, and the events to record.

The events are written before the versions are published. The commit of the versions contains the checkpoint, which
names the snapshot of the events. If a run ends in between, later runs ignore the events that it wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from ...capture.run import Run
from ...capture.versions_run import require_log
from ...explain import history_errors, wording
from ...metadata import MetadataReader
from ...plan.ranges import CHANGE_TYPE
from ...publish.fence import Fence
from ...spark.port import Spark, holding
from ...table.history import MAIN
from ..columns.table_columns import Typed
from ..listed_files import files_at
from ..order.deletions import RememberedDeletions, remembered_sql
from ..order.held_changes import HeldChanges
from ..order.sequence import flawed_sql, flaws_sql
from ..strategies.changelog import ChangesView, useful
from ..strategies.replacement import Replacement
from .changes_writer import VersionStatements
from .from_log import (
    FLAWS,
    EventRows,
    changes_sql,
    events_sql,
    hidden_sql,
    line_sql,
    merge_sql,
    of_changed_sql,
    placed_sql,
    sound_sql,
    versions_sql,
)
from .versioned import compared, note_end


class LogWriter:
    """Writes the versions of one run's table from the events of a log."""

    def __init__(self, run: Run, spark: Spark, reader: MetadataReader, changes: HeldChanges) -> None:
        self._run = run
        self._plan = run.plan
        self._spark = spark
        self._reader = reader
        self._changes = changes
        self._hidden = RememberedDeletions(run, spark, reader)

    def rows(self, columns: Sequence[Typed]) -> EventRows:
        """The rows of the run, with these columns of its table.

        Raises ConfigError if the model's SQL does not read a log by ``ip_changes``.
        """
        plan, config = self._plan, self._plan.policy.history
        assert config is not None
        if not plan.passes_through:
            require_log(plan)
        meta = {name.lower() for name, _ in config.meta_columns()}
        return EventRows(config, tuple(each for each in columns if each.name.lower() not in meta))

    def built_sql(self, log: str, columns: Sequence[Typed]) -> str:
        """The query for the versions of a table that is built as a whole. It fails for events without a known order."""
        rows = self.rows(columns)
        note_end(self._run, self._spark, rows)
        return versions_sql(self._built(log, rows), rows)

    def remember_built(self, log: str, columns: Sequence[Typed]) -> None:
        """Record the events of a table that is built as a whole, unless a version has their values.

        Raises ConfigError for SQL that is not deterministic, because several statements compute it.
        """
        plan, rows = self._plan, self.rows(columns)
        if plan.passes_through:
            return
        if not self._changes.is_deterministic(log):
            raise history_errors.needs_same_changes(plan.model)
        self._remember(hidden_sql(self._built(log, rows), rows), rows)

    def statement_sql(self, target: str, log: str, columns: Sequence[Typed], added: Sequence[str]) -> str:
        """The MERGE of a run, without the bounds of its keys, which are known only when it is executed.

        ``added``: as in ``merge``.
        """
        rows = self.rows(columns)
        return merge_sql(target, changes_sql(versions_sql(self._built(log, rows), rows), target, rows), rows)

    @contextmanager
    def merge(self, log: str, columns: Sequence[Typed], added: Sequence[str] = ()) -> Iterator[VersionStatements]:
        """The MERGE of the versions that events create, end or change, and its check.

        Raises ConfigError for events that are not deterministic, SequenceError for events without an order, and
        CheckpointError if the recorded events no longer exist. ``added``: columns that the run adds; they are NULL in
        old rows.
        """
        plan, rows = self._plan, self.rows(columns)
        if not self._changes.can_hold(log):
            raise history_errors.needs_same_changes(plan.model)
        note_end(self._run, self._spark, rows)
        before = self._run.state.compared = Fence(self._reader).loaded(plan)
        hidden = self._hidden.known(rows.identifying)
        events, known, line = (f"{plan.branch}_{each}" for each in ("events", "known", "line"))
        with ExitStack() as held:
            held.enter_context(holding(self._spark, events, events_sql(log, rows, events)))
            replacement = Replacement(rows.keys, rows.key_types)
            changes = ChangesView(events, replacement, deciding=(CHANGE_TYPE, compared(rows.columns)))
            found = self._changes.summary(changes)
            bounds = useful(found.bounds, files_at(self._reader, before, before.current_snapshot_id))

            def of_changed(relation: str, names: Sequence[str]) -> str:
                return of_changed_sql(
                    rows, relation, names, events, changed=found.keys, nulls=found.has_nulls, bounds=bounds
                )

            # The table is read as a branch, which has the columns that were added since its last commit.
            table = plan.name.branch_sql(MAIN)
            held.enter_context(holding(self._spark, known, of_changed(table, rows.all_names)))
            stored = None
            if hidden is not None:
                names = [each.name for each in rows.remembered]
                kept = self._hidden.kept_of(hidden, rows.remembered)
                stored = f"({of_changed(f'({remembered_sql(hidden, rows.remembered, kept)})', names)})"
            held.enter_context(holding(self._spark, line, line_sql(events, rows, known, stored)))
            self._require_no_flaws(line, rows)
            placed = placed_sql(line, rows)
            self._remember(hidden_sql(placed, rows), rows)
            branch = plan.name.branch_sql(plan.branch)
            sql = merge_sql(branch, changes_sql(versions_sql(placed, rows), known, rows), rows, bounds)

            def check() -> None:
                self._changes.require_same(changes, found)
                if (staged := self._changes.staged()) is not None:
                    self._changes.require_compared(*staged)

            yield VersionStatements(sql, check)

    def _built(self, log: str, rows: EventRows) -> str:
        events = f"({events_sql(log, rows, self._plan.branch)})"
        return placed_sql(f"({sound_sql(line_sql(events, rows), rows, self._plan.model)})", rows)

    def _remember(self, hidden: str, rows: EventRows) -> None:
        """Record the events that a query returns, if any."""
        view = f"{self._plan.branch}_hidden"
        with holding(self._spark, view, hidden):
            if self._spark.rows(f"select 1 from {view} limit 1"):
                self._hidden.remember(rows.remembered, f"select * from {view}")

    def _require_no_flaws(self, line: str, rows: EventRows) -> None:
        """Raise SequenceError if the order of an event cannot be determined."""
        flawed = {str(flaw) for (flaw,) in self._spark.rows(flaws_sql(line))}
        for flaw, error in FLAWS.items():
            if flaw.value in flawed:
                keys = wording.keys(self._spark.rows(flawed_sql(line, rows.keys, flaw)))
                raise error(self._plan.model, rows.keys, [rows.sequence], keys)

"""Writing one run of a history table: its versions, and the checks before they are published."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Generic, TypeVar

from ...capture.run import Run
from ...capture.versions_run import CommitTime, commits_of, require_log, source_of
from ...explain import history_errors, model_errors, race_errors, wording
from ...metadata import FilesAt, MetadataReader
from ...plan.ranges import CHANGE_TYPE
from ...plan.versions_config import HistoryConfig
from ...publish.fence import Fence
from ...publish.publisher import Check
from ...spark.port import Spark, holding
from ...sql import sql_names
from ...table.commits import same_rows
from ...table.files import ChangedFiles
from ...table.history import MAIN, History, Snapshot
from ..columns.table_columns import Typed
from ..listed_files import files_at
from ..order.deletions import RememberedDeletions, remembered_sql
from ..order.held_changes import HeldChanges
from ..order.sequence import flawed_sql, flaws_sql
from ..strategies.changelog import Bound, ChangesView, Summary, useful
from ..strategies.merge import TARGET
from ..strategies.replacement import Replacement
from . import from_changes, from_log, statements, versions_of_events
from .from_changes import HistoryRows
from .from_log import EventRows
from .statements import Statements
from .versioned import UNKNOWN, VersionedRows, compared, note_end

_MILLISECONDS = 1000
_DAY = 24 * 60 * 60

_Rows = TypeVar("_Rows", bound=VersionedRows)


class VersionsWriter(ABC, Generic[_Rows]):
    """Writes the versions of one run's table, which the events of its source create, end and change."""

    def __init__(self, run: Run, spark: Spark, reader: MetadataReader, changes: HeldChanges) -> None:
        self._run = run
        self._plan = run.plan
        self._spark = spark
        self._reader = reader
        self._changes = changes

    @abstractmethod
    def _rows(self, config: HistoryConfig, columns: tuple[Typed, ...], added: Sequence[str]) -> _Rows:
        """The rows of the run. ``columns``: the model's columns. ``added``: the columns that the run adds.

        Raises ConfigError if the model's SQL reads other relations than such a history does.
        """

    @abstractmethod
    def _built(self, log: str, rows: _Rows) -> str:
        """The query for the versions of a table that is built as a whole."""

    @abstractmethod
    def _prepare(self, rows: _Rows) -> None:
        """Read the state of the table, before the events are read."""

    @abstractmethod
    def _view(self, log: str, rows: _Rows, name: str) -> tuple[str, ChangesView]:
        """The query for the events, and the view with this name."""

    @abstractmethod
    def _changed(self, target: str, log: str, rows: _Rows) -> str:
        """The query for the new and changed versions, if nothing is known about the events."""

    @abstractmethod
    def _statements(self, rows: _Rows, changes: ChangesView, found: Summary, held: ExitStack) -> Statements:
        """The statements that write the versions. ``changes``: the events. ``held``: keeps views until then."""

    def rows(self, columns: Sequence[Typed], added: Sequence[str] = ()) -> _Rows:
        """The rows of the run, with these columns of its table. ``added`` and errors: as in ``_rows``."""
        config = self._plan.policy.history
        assert config is not None
        meta = {name.lower() for name, _ in config.meta_columns()}
        return self._rows(config, tuple(each for each in columns if each.name.lower() not in meta), added)

    def built_sql(self, log: str, columns: Sequence[Typed]) -> str:
        """The query for the versions of a table that is built as a whole. It fails for events without a known order."""
        rows = self.rows(columns)
        note_end(self._run, self._spark, rows)
        return self._built(log, rows)

    def statement_sql(self, target: str, log: str, columns: Sequence[Typed], added: Sequence[str]) -> str:
        """The MERGE of a run, without the bounds of its keys, which are known only when it is executed."""
        rows = self.rows(columns, added)
        return statements.merge_sql(target, self._changed(target, log, rows), rows)

    @contextmanager
    def merge(self, log: str, columns: Sequence[Typed], added: Sequence[str] = ()) -> Iterator[Statements]:
        """The statements that write the versions that events create, end or change.

        ``added``: columns that the run adds; they are NULL in old rows. Raises ConfigError for events that are not
        deterministic, DuplicateKeyError if a key has more than one row after a commit, SequenceError for events of a
        log without an order, and CheckpointError if the recorded events no longer exist.
        """
        if not self._changes.can_hold(log):
            raise history_errors.needs_same_changes(self._plan.model)
        rows, name = self.rows(columns), f"{self._plan.branch}_events"
        note_end(self._run, self._spark, rows)
        self._prepare(rows)
        rows = self.rows(columns, added)
        with ExitStack() as held:
            sql, changes = self._view(log, rows, name)
            held.enter_context(holding(self._spark, name, sql))
            yield self._statements(rows, changes, self._changes.summary(changes), held)


class HistoryWriter(VersionsWriter[HistoryRows]):
    """Writes the versions of a table that keeps the history of another table."""

    def _rows(self, config: HistoryConfig, columns: tuple[Typed, ...], added: Sequence[str]) -> HistoryRows:
        plan = self._plan
        commits: tuple[CommitTime, ...] = (CommitTime(0, int(time.time() * _MILLISECONDS)),)
        if not plan.passes_through:
            source_of(plan)
            commits = commits_of(plan, self._run.state.clock_ms)
        salt = f"epoch {plan.last_epoch + 1}" if plan.keeps_versions else ""
        return HistoryRows(config, columns, plan.model, commits, frozenset(added), salt)

    def _built(self, log: str, rows: HistoryRows) -> str:
        return from_changes.built_sql(log, rows)

    def _changed(self, target: str, log: str, rows: HistoryRows) -> str:
        return from_changes.versions_sql(target, log, rows, UNKNOWN, compares=self._plan.keeps_versions)

    def _prepare(self, rows: HistoryRows) -> None:
        """Ensure that no version begins before existing ones, if no checkpoint records the latest time."""
        known = self._plan.checkpoint or self._plan.replaced
        if known is None or known.history is None:
            ((latest,),) = self._spark.rows(from_changes.latest_sql(self._plan.name.sql, rows))
            if int(latest) > (time.time() + _DAY) * _MILLISECONDS:
                # With another dbt_valid_to_current, valid versions would seem to have ended.
                now = rows.config.valid_to_current or "NULL"
                differing = {"dbt_valid_to_current": ("a time in the future", now)}
                raise history_errors.other_history(self._plan.name, self._plan.model, differing)
            self._run.state.clock_ms = int(latest)

    def _view(self, log: str, rows: HistoryRows, name: str) -> tuple[str, ChangesView]:
        replacement, deciding = Replacement(rows.keys, rows.key_types), (from_changes.ORDER, compared(rows.columns))
        changes = ChangesView(name, replacement, copies=from_changes.COPIES, deciding=deciding)
        return from_changes.events_sql(log, rows, name), changes

    def _statements(self, rows: HistoryRows, changes: ChangesView, found: Summary, held: ExitStack) -> Statements:
        plan = self._plan
        if found.most_copies > 1:
            repeated = self._spark.rows(from_changes.repeated_sql(changes.view, rows))
            raise model_errors.duplicate_keys(plan.model, rows.keys, wording.duplicates(repeated))
        target = self._reader.load(plan.name)
        files = None if target is None else files_at(self._reader, target, target.current_snapshot_id)
        near = replace(found, bounds=() if plan.keeps_versions else useful(found.bounds, files))
        if target is not None:
            rows = replace(rows, added=rows.added | self._never_written(target, files, rows))
        branch = plan.name.branch_sql(plan.branch)
        in_place = target is None or files is None or not self._can_delete(target, files, rows)
        # The table is read as a branch, which has the columns that were added since its last commit.
        read = branch if in_place else plan.name.branch_sql(MAIN)
        versions = from_changes.versions_sql(read, changes.view, rows, near, compares=plan.keeps_versions)

        def check() -> None:
            self._changes.require_same(changes, found)

        if target is None or in_place:
            return Statements(statements.merge_sql(branch, versions, rows, near.bounds), check)
        name = f"{plan.branch}_versions"
        held.enter_context(holding(self._spark, name, versions))
        return self._replaced(target, name, rows, near.bounds, check)

    def _never_written(self, target: History, files: ChangedFiles | None, rows: HistoryRows) -> frozenset[str]:
        """The columns that the target lacks at its newest snapshot, so that they are NULL in all of its versions.

        They include the columns that an earlier run added before it failed. Empty if they are unknown. ``files``: the
        files of this snapshot. If they have not been listed, only the columns are read.
        """
        head = target.current_snapshot_id
        if files is None and head is not None:
            files = self._reader.data_files(target, FilesAt(head, added_by=()))
        if files is None or files.renamed:
            return frozenset()
        known = {column.name.lower() for column in files.end}
        return frozenset(name for name in rows.names if name.lower() not in known)

    def _can_delete(self, target: History, files: ChangedFiles, rows: HistoryRows) -> bool:
        """Whether a DELETE ends versions, and the run knows all of their columns, to insert them again."""
        names = {name.lower() for name in rows.all_names}
        return statements.are_deleted(target) and all(each.name.lower() in names for each in files.end)

    def _replaced(
        self, target: History, versions: str, rows: HistoryRows, bounds: Sequence[Bound], check: Check
    ) -> Statements:
        """The DELETE of versions of the target, and the INSERT of the versions of a view that replace them."""
        plan, branch = self._plan, self._plan.name.branch_sql(self._plan.branch)
        known = int(str(self._spark.rows(from_changes.counts_sql(versions))[0][0]))
        insert = statements.insert_sql(branch, rows.all_names, *from_changes.inserted_sql(versions, rows))

        def require_unmoved(now: History, commit: Snapshot) -> None:
            if not same_rows(now, target.current_snapshot_id, commit.parent_id):
                raise race_errors.own_rows_changed(now, plan.model)

        def insert_all(now: History, commit: Snapshot) -> str:
            require_unmoved(now, commit)
            scd_id = rows.config.names.dbt_scd_id
            statements.require_deleted(commit, known, lambda: history_errors.ids_repeated(plan.model, scd_id))
            return insert

        def check_insert() -> None:
            check()
            if (staged := self._changes.staged()) is not None:
                require_unmoved(*staged)

        if not known:
            return Statements(insert, check_insert, None, statements.SEPARATELY)
        delete = from_changes.delete_sql(branch, versions, rows, known, bounds)
        return Statements(delete, check, insert_all, statements.SEPARATELY)


class LogWriter(VersionsWriter[EventRows]):
    """Writes the versions of a table that keeps the history that a log of events contains.

    The events are written before the versions are published. The commit of the versions contains the checkpoint, which
    names the snapshot of the events. If a run ends in between, later runs ignore the events that it wrote.
    """

    def __init__(self, run: Run, spark: Spark, reader: MetadataReader, changes: HeldChanges) -> None:
        super().__init__(run, spark, reader, changes)
        self._hidden = RememberedDeletions(run, spark, reader)

    def _rows(self, config: HistoryConfig, columns: tuple[Typed, ...], added: Sequence[str]) -> EventRows:
        if not self._plan.passes_through:
            require_log(self._plan)
        return EventRows(config, columns, self._plan.model)

    def _built(self, log: str, rows: EventRows) -> str:
        return from_log.versions_sql(self._built_events(log, rows), rows)

    def remember_built(self, log: str, columns: Sequence[Typed]) -> None:
        """Record the events of a table that is built as a whole, unless a version has their values.

        Raises ConfigError for SQL that is not deterministic, because several statements compute it.
        """
        rows = self.rows(columns)
        if self._plan.passes_through:
            return
        if not self._changes.is_deterministic(log):
            raise history_errors.needs_same_changes(self._plan.model)
        self._remember(from_log.hidden_sql(self._built_events(log, rows), rows), rows)

    def _changed(self, target: str, log: str, rows: EventRows) -> str:
        return from_log.changes_sql(self._built(log, rows), target, rows)

    def _prepare(self, rows: EventRows) -> None:
        self._run.state.compared = Fence(self._reader).loaded(self._plan)
        self._hidden.known(rows.identifying)

    def _view(self, log: str, rows: EventRows, name: str) -> tuple[str, ChangesView]:
        replacement, deciding = Replacement(rows.keys, rows.key_types), (CHANGE_TYPE, compared(rows.columns))
        return from_log.events_sql(log, rows, name), ChangesView(name, replacement, deciding=deciding)

    def _statements(self, rows: EventRows, changes: ChangesView, found: Summary, held: ExitStack) -> Statements:
        plan, events, before = self._plan, changes.view, self._run.state.compared
        assert before is not None
        near = replace(found, bounds=useful(found.bounds, files_at(self._reader, before, before.current_snapshot_id)))
        known, ordered = (f"{plan.branch}_{each}" for each in ("known", "line"))

        def of_events(relation: str, names: Sequence[str]) -> str:
            condition = rows.of_events(events, near)
            return f"select {sql_names(names, TARGET)} from {relation} as {TARGET} where {condition}"

        # The table is read as a branch, which has the columns that were added since its last commit.
        versions = of_events(plan.name.branch_sql(MAIN), rows.all_names)
        held.enter_context(holding(self._spark, known, versions))
        stored, hidden = None, self._run.known_deletions
        if hidden is not None:
            recorded = remembered_sql(hidden, rows.remembered, self._hidden.kept_of(hidden, rows.remembered))
            names = [each.name for each in rows.remembered]
            stored = f"({of_events(f'({recorded})', names)})"
        held.enter_context(holding(self._spark, ordered, from_log.line_sql(events, rows, known, stored)))
        self._require_no_flaws(ordered, rows)
        placed = versions_of_events.placed_sql(ordered, rows)
        self._remember(from_log.hidden_sql(placed, rows), rows)
        changed = from_log.changes_sql(from_log.versions_sql(placed, rows), known, rows)

        def check() -> None:
            self._changes.require_same(changes, found)
            if (staged := self._changes.staged()) is not None:
                self._changes.require_compared(*staged)

        return Statements(statements.merge_sql(plan.name.branch_sql(plan.branch), changed, rows, near.bounds), check)

    def _built_events(self, log: str, rows: EventRows) -> str:
        events = f"({from_log.events_sql(log, rows, self._plan.branch)})"
        return versions_of_events.placed_sql(f"({from_log.sound_sql(from_log.line_sql(events, rows), rows)})", rows)

    def _remember(self, hidden: str, rows: EventRows) -> None:
        """Record the events that a query returns, if any."""
        view = f"{self._plan.branch}_hidden"
        with holding(self._spark, view, hidden):
            if self._spark.rows(f"select 1 from {view} limit 1"):
                self._hidden.remember(rows.remembered, f"select * from {view}")

    def _require_no_flaws(self, ordered: str, rows: EventRows) -> None:
        """Raise SequenceError if the order of an event cannot be determined."""
        flawed = {str(flaw) for (flaw,) in self._spark.rows(flaws_sql(ordered))}
        for flaw, error in from_log.FLAWS.items():
            if flaw.value in flawed:
                keys = wording.keys(self._spark.rows(flawed_sql(ordered, rows.keys, flaw)))
                raise error(self._plan.model, rows.keys, [rows.sequence], keys)

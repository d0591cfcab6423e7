"""Writing one run of a history table: its versions, and the checks before they are published."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from ...capture.run import Run
from ...capture.versions_run import CommitTime, commits_of, source_of
from ...explain import history_errors, model_errors, race_errors, wording
from ...metadata import FilesAt, MetadataReader
from ...publish.publisher import FollowUp
from ...spark.port import Spark, holding
from ...table.commits import same_rows
from ...table.files import ChangedFiles
from ...table.history import MAIN, History, Snapshot
from ..columns.table_columns import Typed
from ..listed_files import files_at
from ..order.held_changes import HeldChanges
from ..strategies.changelog import Bound, ChangesView, useful
from ..strategies.replacement import Replacement
from . import ended_versions
from .from_changes import (
    COPIES,
    ORDER,
    HistoryRows,
    built_sql,
    counts_sql,
    delete_sql,
    events_sql,
    inserted_sql,
    latest_sql,
    merge_sql,
    repeated_sql,
    versions_sql,
)
from .versioned import compared, note_end

_MILLISECONDS = 1000
_DAY = 24 * 60 * 60


@dataclass(frozen=True)
class VersionStatements:
    """The statements that write the versions of a run.

    ``check``: raises IncrementalError if the statements have not seen the same changes and versions. ``then``: returns
    the second statement. ``settings``: the session settings that the statements need.
    """

    sql: str
    check: Callable[[], None]
    then: FollowUp | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


class HistoryWriter:
    """Writes the versions of one run's table."""

    def __init__(self, run: Run, spark: Spark, reader: MetadataReader, changes: HeldChanges) -> None:
        self._run = run
        self._plan = run.plan
        self._spark = spark
        self._reader = reader
        self._changes = changes

    def rows(self, columns: Sequence[Typed], added: Sequence[str] = ()) -> HistoryRows:
        """The rows of the run, with these columns of its table. ``added``: the columns that the run adds.

        Raises ConfigError if the model's SQL does not read the changelog of one source.
        """
        plan, config = self._plan, self._plan.policy.history
        assert config is not None
        meta = {name.lower() for name, _ in config.meta_columns()}
        commits: tuple[CommitTime, ...] = (CommitTime(0, int(time.time() * _MILLISECONDS)),)
        if not plan.passes_through:
            source_of(plan)
            commits = commits_of(plan, self._run.state.clock_ms)
        return HistoryRows(
            config,
            tuple(each for each in columns if each.name.lower() not in meta),
            commits,
            frozenset(added),
            salt=f"epoch {plan.last_epoch + 1}" if plan.keeps_versions else "",
            model=plan.model,
        )

    @contextmanager
    def merge(self, log: str, columns: Sequence[Typed], added: Sequence[str]) -> Iterator[VersionStatements]:
        """The statements that write the versions that a changelog creates, ends or changes.

        Raises ConfigError for changes that are not deterministic, and DuplicateKeyError if a key has more than one row
        after a commit.
        """
        plan = self._plan
        if not self._changes.can_hold(log):
            raise history_errors.needs_same_changes(plan.model)
        note_end(self._run, self._spark, self.rows(columns))
        self._set_clock(self.rows(columns))
        rows, view = self.rows(columns, added), f"{plan.branch}_events"
        with ExitStack() as held:
            held.enter_context(holding(self._spark, view, events_sql(log, rows, view)))
            deciding = (ORDER, compared(rows.columns))
            changes = ChangesView(view, Replacement(rows.keys, rows.key_types), copies=COPIES, deciding=deciding)
            found = self._changes.summary(changes)
            if found.most_copies > 1:
                repeated = self._spark.rows(repeated_sql(view, rows))
                raise model_errors.duplicate_keys(plan.model, rows.keys, wording.duplicates(repeated))
            target = self._reader.load(plan.name)
            files = None if target is None else files_at(self._reader, target, target.current_snapshot_id)
            bounds = () if plan.keeps_versions else useful(found.bounds, files)
            if target is not None:
                rows = replace(rows, added=rows.added | self._never_written(target, files, rows))
            branch = plan.name.branch_sql(plan.branch)
            in_place = target is None or files is None or not self._can_delete(target, files, rows)
            # The table is read as a branch, which has the columns that were added since its last commit.
            versions = versions_sql(
                branch if in_place else plan.name.branch_sql(MAIN),
                view,
                rows,
                changed=found.keys,
                nulls=found.has_nulls,
                bounds=bounds,
                compares=plan.keeps_versions,
            )

            def check() -> None:
                self._changes.require_same(changes, found)

            if target is None or in_place:
                yield VersionStatements(merge_sql(branch, versions, rows, bounds), check)
            else:
                name = f"{plan.branch}_versions"
                held.enter_context(holding(self._spark, name, versions))
                yield self._replaced(target, name, rows, bounds, check)

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
        return ended_versions.are_deleted(target) and all(each.name.lower() in names for each in files.end)

    def _replaced(
        self, target: History, versions: str, rows: HistoryRows, bounds: Sequence[Bound], check: Callable[[], None]
    ) -> VersionStatements:
        """The DELETE of versions of the target, and the INSERT of the versions of a view that replace them."""
        branch = self._plan.name.branch_sql(self._plan.branch)
        known = int(str(self._spark.rows(counts_sql(versions))[0][0]))
        insert = ended_versions.insert_sql(branch, rows.all_names, *inserted_sql(versions, rows))

        def require_unmoved(now: History, parent_id: int | None) -> None:
            if not same_rows(now, target.current_snapshot_id, parent_id):
                raise race_errors.own_rows_changed(now, self._plan.model)

        def insert_all(now: History, commit: Snapshot) -> str:
            require_unmoved(now, commit.parent_id)
            ended_versions.require_deleted(
                commit,
                known,
                lambda: history_errors.ids_repeated(self._plan.model, rows.config.names.dbt_scd_id),
            )
            return insert

        def check_insert() -> None:
            check()
            if (staged := self._changes.staged()) is not None:
                require_unmoved(staged[0], staged[1].parent_id)

        if not known:
            return VersionStatements(insert, check_insert, None, ended_versions.SEPARATELY)
        delete = delete_sql(branch, versions, rows, known, bounds)
        return VersionStatements(delete, check, insert_all, ended_versions.SEPARATELY)

    def built_sql(self, log: str, columns: Sequence[Typed]) -> str:
        """The query for the versions of a table that is built as a whole."""
        rows = self.rows(columns)
        note_end(self._run, self._spark, rows)
        return built_sql(log, rows)

    def statement_sql(self, target: str, log: str, columns: Sequence[Typed], added: Sequence[str]) -> str:
        """The MERGE of a run, without the bounds of its keys, which are known only when it is executed."""
        rows = self.rows(columns, added)
        compares = self._plan.keeps_versions
        versions = versions_sql(target, log, rows, changed=0, nulls=True, bounds=(), compares=compares)
        return merge_sql(target, versions, rows, ())

    def _set_clock(self, rows: HistoryRows) -> None:
        """Ensure that no version begins before existing ones, if no checkpoint records the latest time."""
        known = self._plan.checkpoint or self._plan.replaced
        if known is None or known.history is None:
            ((latest,),) = self._spark.rows(latest_sql(self._plan.name.sql, rows))
            if int(latest) > (time.time() + _DAY) * _MILLISECONDS:
                # With another dbt_valid_to_current, valid versions would seem to have ended.
                now = rows.config.valid_to_current or "NULL"
                differing = {"dbt_valid_to_current": ("a time in the future", now)}
                raise history_errors.other_history(self._plan.name, self._plan.model, differing)
            self._run.state.clock_ms = int(latest)

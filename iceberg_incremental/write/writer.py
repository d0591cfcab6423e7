"""Writing the rows of a run: its statement, the statement that follows it, and the checks before publishing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..capture.run import Run
from ..capture.run_plan import Action
from ..errors import StatementError
from ..explain import group_errors, model_errors, race_errors, sequence_errors, window_errors, wording
from ..metadata import FilesAt, MetadataReader
from ..plan import session_settings
from ..plan.learned import NOTHING, REPLACE_ALL
from ..plan.policy import Strategy
from ..plan.rebuild_cost import cost_of_rebuild, is_worth_measuring
from ..publish.publisher import Check, FollowUp, Published, Publisher
from ..spark.port import Spark
from ..sql import plain_name
from ..table.commits import added
from ..table.history import History, Snapshot
from ..table.types import has_floats
from .columns.table_columns import Typed, key_columns, require_uncollated, types_of
from .columns.unique_keys import in_key_order_sql, unique_rows_sql
from .listed_files import files_at
from .order.held_changes import HeldChanges, replacement_of
from .order.ordered import has_null
from .order.sequence import built_sql
from .run_cost import note_cost
from .strategies import changelog
from .strategies.apply_changes import IS_KEPT_SQL, unordered_sql
from .strategies.changelog import repeated_sql, useful
from .strategies.replacement import (
    Inserted,
    Replacement,
    delete_sql,
    duplicates_of,
    flaws_sql,
    inserted,
    paths_sql,
    unchanged_groups_sql,
    with_paths,
)
from .strategies.statement import Statement, Then
from .versions.history_writer import HistoryWriter, LogWriter

_NOT_DETERMINISTIC = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
"""Spark's error for a non-deterministic expression in an operator that must not contain one."""


class Writer:
    """Writes the rows of one run, over the connection of its thread.

    ``reads_own_table``: whether the new rows are computed from rows of the target. ``audit``: checks the staged rows,
    and raises IncrementalError if they must not be published.
    """

    def __init__(
        self,
        run: Run,
        spark: Spark,
        reader: MetadataReader,
        *,
        reads_own_table: bool = False,
        audit: Callable[[], None] = lambda: None,
    ) -> None:
        self._run = run
        self._plan = run.plan
        self._spark = spark
        self._reader = reader
        self._publisher = Publisher(spark, reader)
        self._reads_own_table = reads_own_table
        self._audit = audit
        self.changes = HeldChanges(run, spark, reader)
        self.history: HistoryWriter | LogWriter = (
            LogWriter(run, spark, reader, self.changes)
            if run.plan.policy.history is not None and run.plan.policy.history.is_from_log
            else HistoryWriter(run, spark, reader, self.changes)
        )

    def built_rows(
        self,
        rows: str,
        columns: Sequence[Typed],
        compared: Mapping[str, Sequence[str]],
        *,
        log: str | None,
        sorts: bool,
    ) -> str:
        """The query for the rows of a keyed table that is built as a whole. It fails if a key has two rows.

        With ``sequence_by``, it returns the newest row of each key, and fails if two rows are the newest. ``rows``: the
        relation of the rows. ``log``: the relation of the changelog from which they are computed, if any. ``compared``:
        as in ``columns.require_comparable``. ``sorts``: whether the table can be ordered by its key, unless it is
        small. In a partitioned table, Spark shuffles the rows to their partitions in any case.
        """
        plan, keys = self._plan, key_columns(columns, self._plan.policy.unique_key)
        require_uncollated(columns, compared, plan.model)
        self._run.state.types = types_of(columns, compared)
        has_float = any(has_floats(column.dtype) for column in columns if column.name in keys)
        sorts = sorts and not plan.has_few_rows and not has_float
        if isinstance(self.history, LogWriter):  # a key has several versions
            self.history.remember_built(log or rows, columns)
            return f"select * from {in_key_order_sql(rows, keys) if sorts else rows}"
        if log is not None and plan.policy.strategy is Strategy.APPLY_CHANGES:
            self._require_order(log)
        ordered = None
        if plan.policy.sequence_by:
            rows, ordered = self.changes.newest_rows(log or rows, columns, IS_KEPT_SQL)
        rows = in_key_order_sql(rows, keys) if sorts else rows
        if ordered is not None:
            return built_sql(rows, ordered, plan.model)
        return unique_rows_sql(rows, keys, plan.model, nulls=log is not None)

    def rebuild(self, sql: str, properties: Mapping[str, Any] = MappingProxyType({})) -> Published | None:
        """Build the table with a CREATE OR REPLACE TABLE AS statement, with the checkpoint in its commit.

        ``properties``: the properties that the user has configured for the table. Returns None under ``--empty`` and
        ``--sample``, because the rows then match no position of a source.
        """
        if self._plan.passes_through:
            self._publisher.build_partial(self._run, sql)
            return None
        state = self._run.state
        state.learned = NOTHING  # CREATE OR REPLACE TABLE keeps the properties of the replaced table
        began = None if state.rebuild is None else self._spark.executor_seconds()

        def measure(rows: int) -> None:
            if state.rebuild is not None and is_worth_measuring(reads := replace(state.rebuild, target_rows=rows)):
                note_cost(self._run, self._spark, began, REPLACE_ALL, cost_of_rebuild(reads), NOTHING)

        return self._publisher.rebuild(self._run, sql, properties, measure)

    def apply(self, given: Statement, source: str) -> Published:
        """Apply the captured rows with a statement, with the checkpoint in the commit that publishes them.

        ``source``: the relation of the new rows, or of the changelog if replaced rows are deleted. Raises the errors of
        ``Publisher.apply``; ConfigError for rows that Spark would compute twice, for rows of unchanged groups, and for
        rows of an event-time window without a key; DuplicateKeyError; SequenceError; and ConcurrentRunError if held
        rows have changed.
        """
        if self._plan.window is not None:
            self._require_keys(source)
        if self._plan.policy.strategy is Strategy.APPLY_CHANGES:
            self._require_order(source)
        if given.then is Then.DELETE_CHANGED:
            return self._apply_changelog(given, source)
        if given.then is Then.MERGE_VERSIONS:
            return self._apply_versions(given, source)
        if given.then is Then.NOTHING:
            return self._publish(given.sql, None)
        if self._plan.policy.sequence_by:
            return self._apply_newest(given, source)
        return self._publish(given.sql, self._deletion(given.columns))

    def finish(self) -> Published | None:
        """End a run that writes no rows. Moves the checkpoint if the sources have commits without rows."""
        return self._publisher.advance(self._run) if self._plan.action is Action.ADVANCE else None

    def _require_keys(self, rows: str) -> None:
        """Raise ConfigError if rows of an event-time window have NULL in the key, and replace no groups."""
        plan, keys = self._plan, [plain_name(name) for name in self._plan.policy.unique_key]
        if not plan.policy.strategy.is_keyed or plan.groups is not None:
            return
        if self._spark.rows(f"select 1 from {rows} where {has_null(keys)} limit 1"):
            raise window_errors.rows_without_key(plan.model, keys)

    def _require_order(self, log: str) -> None:
        """Raise SequenceError if a key of a log has a new row and a deletion, and their order is unknown."""
        plan, keys = self._plan, [plain_name(name) for name in self._plan.policy.unique_key]
        if plan.may_lack_order:
            found = self._spark.rows(unordered_sql(log, keys))
            if found:
                raise sequence_errors.unordered(plan.model, keys, wording.duplicates(found))

    def note_own_rows(self) -> None:
        """Record the target's current state, if its rows will become part of held rows."""
        if self._reads_own_table:
            self.changes.note_own_rows()

    def _publish(
        self,
        sql: str,
        then: FollowUp | None,
        check: Check | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> Published:
        try:
            return self._apply(sql, then, check or self._check, settings)
        except StatementError as error:
            if _NOT_DETERMINISTIC not in str(error):
                raise
            raise model_errors.not_deterministic(self._plan.model, error.msg.splitlines()[0]) from error

    def _apply(
        self, sql: str, then: FollowUp | None, check: Check, settings: Mapping[str, str] = MappingProxyType({})
    ) -> Published:
        needed = {**session_settings.needed_by(self._plan.policy.strategy.value), **settings}
        return self._publisher.apply(self._run, sql, needed, then, check)

    def _check(self) -> None:
        self.changes.require_own_rows()
        self._audit()

    def _apply_changelog(self, given: Statement, source: str) -> Published:
        """Insert the kept rows of a changelog, and delete the rows that they replace."""
        self.note_own_rows()
        with self.changes.view(source, given.columns, IS_KEPT_SQL) as changes:
            found = self.changes.summary(changes)
            if found.most_kept > 1:
                keys = changes.replacement.unique_key
                repeated = wording.duplicates(self._spark.rows(repeated_sql(changes)))
                raise model_errors.duplicate_keys(self._plan.model, keys, repeated)
            if self._plan.policy.sequence_by and found.gone:
                self.changes.remember(changes, given.columns)

            def delete(target: History, commit: Snapshot) -> str:
                if added(commit)[1] != found.kept:
                    raise race_errors.rows_changed(self._plan.model)
                self.changes.require_compared(target, commit)
                bounds = useful(found.bounds, files_at(self._reader, target, commit.parent_id))
                new = self._inserted(target, commit)
                return changelog.delete_sql(new, changes, replace(found, bounds=bounds), self._plan.model)

            def check() -> None:
                self.changes.require_same(changes, found)
                self._audit()

            return replace(self._apply(given.sql, delete, check), rows=found.kept + found.gone)

    def _apply_versions(self, given: Statement, source: str) -> Published:
        """Merge the versions that a changelog creates, ends or changes into a history table."""
        self.note_own_rows()
        with self.history.merge(source, given.columns, given.added) as statements:

            def check() -> None:
                statements.check()
                self._check()

            return self._publish(statements.sql, statements.then, check, statements.settings)

    def _apply_newest(self, given: Statement, source: str) -> Published:
        """Insert the newest of the new rows, unless the table's rows are newer, and delete the old rows."""
        self.note_own_rows()
        self.changes.can_hold(source)  # always true with sequence_by
        deletion = self._deletion(given.columns)
        with self.changes.view(source, given.columns, "true") as changes:
            found = self.changes.summary(changes)

            def delete(target: History, commit: Snapshot) -> str:
                self.changes.require_compared(target, commit)
                return deletion(target, commit)

            def check() -> None:
                self.changes.require_same(changes, found)
                self._audit()

            return self._apply(given.sql, delete, check)

    def _deletion(self, columns: Sequence[Typed]) -> FollowUp:
        """The function that returns the DELETE of the rows that a commit replaces."""
        replacement = replacement_of(self._plan, columns)

        def delete(target: History, commit: Snapshot) -> str:
            new = self._judged(target, commit)
            self._require_sound(new, replacement)
            return delete_sql(new, replacement, self._spark.scans)

        return delete

    def _inserted(self, target: History, commit: Snapshot) -> Inserted:
        """A commit of the target that inserted rows, with its files if they are needed."""
        new = self._judged(target, commit)
        if new.by_sequence or (new.files is not None and new.files.files is not None):
            return new
        return with_paths(new, [str(path) for (path,) in self._spark.rows(paths_sql(new))])

    def _judged(self, target: History, commit: Snapshot) -> Inserted:
        files = self._reader.data_files(target, FilesAt(commit.snapshot_id, added_by=(commit.snapshot_id,)))
        return inserted(target, commit, files, lambda: self._reader.live_specs(target, commit.snapshot_id))

    def _require_sound(self, new: Inserted, replacement: Replacement) -> None:
        """Check the inserted rows with one query, and find the keys to report only if it finds a flaw.

        Raises DuplicateKeyError if more than one of them has the same key, and ConfigError for a row of an unchanged
        group, because not all rows of that group were read.
        """
        if not self._spark.rows(flaws_sql(new, replacement, self._spark.scans)):
            return
        groups, checks = self._plan.groups, [duplicates_of(new, replacement)]
        if groups is not None and groups.changes:
            checks.append(unchanged_groups_sql(new, groups, self._spark.scans))
        rows = self._spark.rows(
            " union all ".join(f"select {number} as flaw, * from ({sql})" for number, sql in enumerate(checks))
        )
        repeated, strays = ([row[1:] for row in rows if int(row[0]) == flaw] for flaw in range(2))
        if repeated:
            raise model_errors.duplicate_keys(self._plan.model, replacement.unique_key, wording.duplicates(repeated))
        if strays and groups is not None:
            raise group_errors.unchanged_groups(self._plan.model, groups.keys, wording.keys(strays))

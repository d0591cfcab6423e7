"""Writing one run of a history table: its versions, and the checks before they are published."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ..capture.history_run import CommitTime, commits_of, require_same_end, source_of
from ..capture.run import Run
from ..explain import history_errors, model_errors, wording
from ..metadata import MetadataReader
from ..spark.port import Spark, holding
from ..sql import sql_name
from .changelog import ChangesView, useful
from .columns import Typed
from .held_changes import HeldChanges
from .history import COPIES, HistoryRows, built_sql, events_sql, latest_sql, merge_sql, repeated_sql, versions_sql
from .replacement import Replacement
from .versioned import current_end_sql

_MILLISECONDS = 1000
_DAY = 24 * 60 * 60


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
        )

    @contextmanager
    def merge(
        self, log: str, columns: Sequence[Typed], added: Sequence[str]
    ) -> Iterator[tuple[str, Callable[[], None]]]:
        """The MERGE of the versions that a changelog creates, ends or changes, and a check of its changes.

        Raises ConfigError for changes that are not deterministic, and DuplicateKeyError if a key has more than one row
        after a commit.
        """
        plan = self._plan
        if not self._changes.can_hold(log):
            raise history_errors.needs_same_changes(plan.model)
        table = f"{plan.name.sql}.{sql_name(f'branch_{plan.branch}')}"
        self._note_end(self.rows(columns))
        self._set_clock(self.rows(columns))
        rows, view = self.rows(columns, added), f"{plan.branch}_events"
        with holding(self._spark, view, events_sql(log, rows, view)):
            changes = ChangesView(view, Replacement(rows.keys, rows.key_types), copies=COPIES)
            found = self._changes.summary(changes)
            if found.most_copies > 1:
                repeated = self._spark.rows(repeated_sql(view, rows))
                raise model_errors.duplicate_keys(plan.model, rows.keys, wording.duplicates(repeated))
            target = self._reader.load(plan.name)
            files = None if target is None else self._changes.files_at(target, target.current_snapshot_id)
            bounds = () if plan.keeps_versions else useful(found.bounds, files)
            versions = versions_sql(
                table,
                view,
                rows,
                changed=found.keys,
                nulls=found.has_nulls,
                bounds=bounds,
                compares=plan.keeps_versions,
            )
            yield merge_sql(table, versions, rows, bounds), lambda: self._changes.require_same(changes, found)

    def built_sql(self, log: str, columns: Sequence[Typed]) -> str:
        """The query of the versions of a table that is built as a whole."""
        rows = self.rows(columns)
        self._note_end(rows)
        return built_sql(log, rows)

    def statement_sql(self, target: str, log: str, columns: Sequence[Typed], added: Sequence[str]) -> str:
        """The MERGE of a run, without the bounds of its keys, which are known only when it is executed."""
        rows = self.rows(columns, added)
        compares = self._plan.keeps_versions
        versions = versions_sql(target, log, rows, changed=0, nulls=True, bounds=(), compares=compares)
        return merge_sql(target, versions, rows, ())

    def _note_end(self, rows: HistoryRows) -> None:
        """Record in the checkpoint the end of valid versions, if they have one.

        Raises ConfigError if it differs from earlier runs.
        """
        if rows.config.valid_to_current is not None and self._run.state.current_end is None:
            ((end,),) = self._spark.rows(current_end_sql(rows))
            self._run.state.current_end = str(end)
            require_same_end(self._plan, str(end))

    def _set_clock(self, rows: HistoryRows) -> None:
        """If no checkpoint records the latest time, let no version begin before existing ones."""
        known = self._plan.checkpoint or self._plan.replaced
        if known is None or known.history is None:
            ((latest,),) = self._spark.rows(latest_sql(self._plan.name.sql, rows))
            if int(latest) > (time.time() + _DAY) * _MILLISECONDS:
                # versions that are valid by another dbt_valid_to_current would count as ended
                now = rows.config.valid_to_current or "NULL"
                differing = {"dbt_valid_to_current": ("a time in the future", now)}
                raise history_errors.other_history(self._plan.name, self._plan.model, differing)
            self._run.state.clock_ms = int(latest)

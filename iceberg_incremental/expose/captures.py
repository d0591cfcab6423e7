"""The captures of a run as SQL, with one method for each way to read a source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..capture.cuts import Cuts
from ..capture.reads import capture, capture_groups
from ..capture.run import Run
from ..capture.run_plan import Read
from ..explain import group_errors, model_errors
from ..plan.groups import ChangedGroups
from ..plan.policy import Strategy
from ..plan.ranges import PER_COMMIT, NetChanges, Nothing, PerCommit, Range
from ..spark.port import ExactScans, Spark, require_settings
from ..sql import plain_name
from ..table.history import TableName
from . import per_commit, relations
from .groups import keys_sql, rows_sql
from .parts import readings_of
from .value_range import ValueRange, capture_range, from_query

ColumnTypes = Callable[[TableName], Mapping[str, str]]
"""Returns the names and types of a table's columns, as reported by Spark."""


class Captures:
    """Captures sources for one run, and adds them to its plan. ``macro``: the calling macro, for errors.

    ``shows_sql``: whether the SQL is only shown, and not executed on this connection. Each method that captures a
    source raises ConfigError if the source is the run's target, and the errors of the functions in ``capture.reads``.
    """

    def __init__(
        self, macro: str, run: Run, cuts: Cuts, spark: Spark, columns: ColumnTypes, *, shows_sql: bool = False
    ) -> None:
        self.macro = macro
        self._run = run
        self._cuts = cuts
        self._spark = spark
        self._columns = columns
        self._shows_sql = shows_sql

    @property
    def model(self) -> str:
        """The model that the run builds."""
        return self._run.plan.model

    @property
    def _exact(self) -> ExactScans | None:
        """The reader of individual data files. None if the connection has none, or if the SQL is only shown.

        The first use opens the connection of a dbt model.
        """
        return None if self._shows_sql else self._spark.scans

    def _exact_for(self, planned: Range) -> ExactScans | None:
        """``_exact`` for a range. A range without rows reads no files, so its run opens no connection."""
        return None if isinstance(planned, Nothing) else self._exact

    def changes(self, source: TableName) -> str:
        """``ip_changes``."""
        self._require_other(source)
        planned = self._captured(source, Read.CHANGES)
        self._note_reading(Read.CHANGES, planned)
        return relations.changes_sql(planned, self._exact_for(planned))

    def as_of(self, source: TableName) -> str:
        """``ip_as_of``."""
        self._require_other(source)
        return relations.as_of_sql(self._captured(source, Read.AS_OF))

    def changelog(self, source: TableName, unique_key: Sequence[str], per: str | None = None) -> str:
        """``ip_changelog``. Raises ConfigError if the relation does not have a column of ``unique_key``.

        ``per``: whether changes are netted over the range (the default) or within each commit. For a history, the
        changes of a range have the columns of its last commit.
        """
        self._require_other(source)
        if per == PER_COMMIT:
            return self._per_commit(source, unique_key)
        planned, plan = self._captured(source, Read.CHANGELOG), self._run.plan
        self._note_reading(Read.CHANGELOG, planned)
        if isinstance(planned, NetChanges):
            model_errors.require_columns(self.macro, unique_key, planned.net.changed.end, source, self.model)
        elif unique_key and plan.is_rebuild:
            self._types_of(source, unique_key)
        sql = relations.changelog_sql(planned, unique_key, self._exact_for(planned))
        return sql if plan.policy.history is None else relations.with_commit_sql(sql, planned.end)

    def _per_commit(self, source: TableName, unique_key: Sequence[str]) -> str:
        planned, plan = self._captured(source, Read.PER_COMMIT), self._run.plan
        if isinstance(planned, PerCommit):
            columns = planned.shown_as.columns
            model_errors.require_columns(self.macro, unique_key, columns, source, self.model)
            reading = f"{per_commit.reading_of(planned, self._exact)}, commit by commit"
            self._run.plan = plan.with_capture(Read.PER_COMMIT, source, planned, reading)
        elif unique_key and plan.is_rebuild:
            self._types_of(source, unique_key)
        return relations.per_commit_sql(planned, unique_key, self._exact_for(planned))

    def signed_changes(self, source: TableName) -> str:
        """``ip_signed_changes``."""
        self._require_other(source)
        planned = self._captured(source, Read.SIGNED)
        self._note_reading(Read.SIGNED, planned)
        return relations.signed_sql(planned, self._exact_for(planned))

    def changed_groups(self, source: TableName, keys: Sequence[str], changing: Sequence[TableName]) -> str:
        """``ip_changed_groups``. Raises ConfigError if the model cannot replace whole groups by these ``keys``."""
        plan, policy = self._run.plan, self._run.plan.policy
        self._require_other(source)
        in_key = {plain_name(name).lower() for name in policy.unique_key}
        replaces = policy.strategy is Strategy.MERGE and policy.replaces_rows and not policy.sequence_by
        if not replaces or not keys or not in_key.issuperset(name.lower() for name in keys):
            raise group_errors.groups_need_merge(plan.model, policy, list(keys))
        self._require_other(*changing)
        both = list(dict.fromkeys([source, *changing]))
        pinned, plan = self._captured(source, Read.AS_OF), self._run.plan
        self._run.plan, groups = capture_groups(plan, self._cuts, keys, changing, lambda: self._key_types(keys, both))
        if plan.is_rebuild:
            # The keys are not used yet, but the next run would fail on a column that does not exist.
            for table in both:
                self._types_of(table, keys)
            return relations.as_of_sql(pinned)
        if not groups.changes:
            return relations.no_rows_sql(pinned)
        for each in groups.changes:
            self._note_reading(Read.NET, each.planned)
        if pinned.end is None:
            return relations.as_of_sql(pinned)
        return rows_sql(relations.as_of_sql(pinned), pinned.counts.records, self._held(groups), self._exact)

    def _held(self, groups: ChangedGroups) -> ChangedGroups:
        """The groups with their keys in a view that Spark holds, because three statements of a run read them.

        Unchanged if the connection cannot read individual data files.
        """
        plan = self._run.plan
        if self._exact is None or (plan.groups is not None and plan.groups.held is not None):
            return plan.groups or groups
        held = replace(groups, held=f"{plan.branch}_groups")
        self._spark.hold(str(held.held), keys_sql(groups, self._exact))
        self._run.plan = replace(plan, groups=held)
        return held

    def value_range(self, sources: Sequence[TableName], column: str) -> ValueRange:
        """``ip_range``."""
        self._require_other(*sources)
        self._run.plan, found = capture_range(
            self._run.plan, self._cuts, column, sources, self._first_row, lambda: self._exact
        )
        return found

    def value_range_of(self, rows: Sequence[str], column: str) -> ValueRange:
        """``ip_range`` of some relations as they are, without capturing them."""
        return from_query(rows, column, self._first_row)

    def _first_row(self, sql: str) -> Sequence[Any]:
        """The first row of a SELECT. Raises ConfigError if a session setting would change its meaning."""
        require_settings(self._spark, self.macro)
        return self._spark.rows(sql)[0]

    def _captured(self, source: TableName, read: Read) -> Range:
        self._run.plan = capture(self._run.plan, self._cuts, source, read)
        return self._run.plan.captures[read, source].planned

    def _note_reading(self, read: Read, planned: Range) -> None:
        """Record for the log how a range's net changes are read."""
        if isinstance(planned, NetChanges):
            reading = " and ".join(each.value for each in readings_of(planned.net, self._exact))
            self._run.plan = self._run.plan.with_capture(read, planned.table, planned, reading)

    def _require_other(self, *tables: TableName) -> None:
        """Raise ConfigError if one of the tables is the run's target."""
        if self._run.plan.name in tables:
            raise model_errors.reads_itself(self.macro, self.model)

    def _key_types(self, names: Sequence[str], tables: Sequence[TableName]) -> tuple[str, ...]:
        """The types of key columns. Raises ConfigError if they differ between the tables."""
        types = {str(table): self._types_of(table, names) for table in tables}
        if len(set(types.values())) > 1:
            raise group_errors.other_key_types(self.model, types, names)
        return next(iter(types.values()))

    def _types_of(self, table: TableName, names: Sequence[str]) -> tuple[str, ...]:
        """The types of some columns of a table. Raises ConfigError if the table does not have one of them."""
        columns = self._columns(table)
        types = {name.lower(): kind for name, kind in columns.items()}
        unknown = [name for name in names if name.lower() not in types]
        if unknown:
            expected = f"columns of {table}: {', '.join(columns)}"
            raise model_errors.unknown_columns(self.macro, unknown, expected, table, self.model)
        return tuple(types[name.lower()] for name in names)

"""Writes the DataFrame of a job's run to its table, with the statements of its strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..capture.run import Run
from ..explain import column_errors, job_errors, model_errors
from ..metadata import MetadataReader
from ..metadata.describe import describe
from ..plan.policy import Strategy
from ..plan.ranges import CHANGE_TYPE
from ..publish.publisher import Published
from ..spark.session import SessionSpark
from ..sql import sql_name, sql_properties
from ..table.layout import columns_of
from ..write.auto.auto_runs import Synced
from ..write.columns.alter import alter_statements, altered_columns
from ..write.columns.table_columns import (
    Column,
    require_comparable,
    require_readable,
    require_recorded_types,
    schema_changes,
    types_of,
    written_columns,
)
from ..write.order.held_changes import changes_view, replacement_of
from ..write.strategies.append import append_sql, insert_overwrite_sql
from ..write.strategies.apply_changes import insert_kept_sql, kept_rows_sql
from ..write.strategies.statement import Statement, Then
from ..write.writer import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class TableOptions:
    """Options for creating a job's table, and for altering it if new rows have other columns."""

    on_schema_change: str
    partitioned_by: tuple[str, ...] = ()
    properties: Mapping[str, str] | None = None


class Output:
    """Writes the rows of one run of a job."""

    def __init__(
        self, run: Run, writer: Writer, spark: SessionSpark, reader: MetadataReader, layout: TableOptions
    ) -> None:
        self._run = run
        self._plan = run.plan
        self._writer = writer
        self._spark = spark
        self._reader = reader
        self._layout = layout

    def build(self, frame: DataFrame) -> Published | None:
        """Build the whole table from a DataFrame's rows."""
        policy, target = self._plan.policy, self._plan.name
        log, rows = self._views(frame)
        returned = [Column(name, "") for name in frame.columns]
        require_readable(returned, self._plan.model, replaces_rows=policy.strategy.replaces_rows)
        query = f"select * from {rows}"
        fields = self.fields
        if policy.strategy.replaces_partitions and not fields:
            raise job_errors.not_partitioned(self._plan.model, target)
        if policy.strategy.is_keyed:
            query = self._writer.built_rows(
                rows, self._columns_of(rows), self._compared((), ()), log=log, sorts=not fields
            )
        return self.created(query, fields)

    def created(self, query: str, fields: Sequence[str]) -> Published | None:
        """Build the whole table from the rows of a query. ``fields``: the partition fields in Spark's notation."""
        plan = self._plan
        properties = {**plan.policy.strategy.table_defaults, **(self._layout.properties or {})}
        partitioned = f"\npartitioned by ({', '.join(fields)})" if fields else ""
        with_properties = f"\ntblproperties {sql_properties(properties)}" if properties else ""
        return self._writer.rebuild(
            f"create or replace table {plan.name.sql} using iceberg{partitioned}{with_properties}\nas\n{query}",
            self._layout.properties or {},
        )

    def apply(self, frame: DataFrame) -> Published:
        """Apply a DataFrame's rows to the table."""
        plan, strategy = self._plan, self._plan.policy.strategy
        log, rows = self._views(frame)
        fields = self._partition_fields() if strategy.replaces_partitions else []
        if strategy.replaces_partitions and not fields:
            raise job_errors.not_partitioned(plan.model, plan.name)
        synced = self.synced(self._columns_of(rows), fields)
        statement = self._statement(log or rows, rows, synced.written, synced.columns)
        self.alter(synced)
        return self._writer.apply(statement, log or rows)

    def synced(self, given: Sequence[Column], fields: Sequence[str] = ()) -> Synced:
        """The columns of the table under on_schema_change. Nothing is altered yet.

        ``given``: the columns of the new rows. ``fields``: the partition fields, if partitions are replaced.
        """
        plan, strategy = self._plan, self._plan.policy.strategy
        columns = self._columns_of(plan.name.sql)
        require_readable(columns, plan.model, replaces_rows=strategy.replaces_rows)
        compared = self._compared([column.name for column in columns], fields)
        require_comparable(given, columns, compared, plan.name, plan.model)
        self._run.state.types = types_of(given, compared)
        require_recorded_types(self._run.state.types, plan.recorded_types, plan.name, plan.model)
        changes = schema_changes(self._layout.on_schema_change, given, columns, plan.name, plan.model)
        require_readable(changes.added, plan.model, replaces_rows=strategy.replaces_rows)
        target = altered_columns(changes, columns)
        return Synced(changes, written_columns(given, target), target)

    def alter(self, synced: Synced) -> None:
        """Change the columns of the table. Raises the errors of Spark."""
        for statement in alter_statements(self._plan.name.sql, synced.changes):
            self._spark.send(statement)

    def _statement(self, source: str, rows: str, columns: Sequence[Column], target: Sequence[Column]) -> Statement:
        plan, strategy = self._plan, self._plan.policy.strategy
        staged = plan.name.branch_sql(plan.branch)
        if strategy is Strategy.APPEND:
            return Statement(append_sql(staged, rows, columns))
        if strategy is Strategy.INSERT_OVERWRITE:
            values = [sql_name(column.name) for column in columns]
            return Statement(insert_overwrite_sql(staged, rows, columns, values))
        missing = [column.name for column in target if column not in columns]
        if missing:  # whole rows are replaced
            raise column_errors.columns_missing(plan.name, plan.model, missing, [], self._layout.on_schema_change)
        if plan.groups is not None:
            replacement_of(plan, columns)
        self._writer.changes.can_hold(source)
        if strategy is Strategy.APPLY_CHANGES:
            return Statement(insert_kept_sql(staged, changes_view(plan), columns), Then.DELETE_CHANGED, tuple(columns))
        rows = changes_view(plan) if plan.policy.sequence_by else rows
        return Statement(append_sql(staged, rows, columns), Then.DELETE_REPLACED, tuple(columns))

    def _views(self, frame: DataFrame) -> tuple[str | None, str]:
        """Creates temporary views of a DataFrame: of the changelog, if it is one, and of the rows for the table."""
        rows = f"{self._plan.branch}_rows"
        if self._plan.policy.strategy is not Strategy.APPLY_CHANGES:
            frame.createOrReplaceTempView(rows)
            return None, rows
        if CHANGE_TYPE not in (name.lower() for name in frame.columns):
            raise model_errors.no_change_type(self._plan.model, frame.columns)
        log = f"{self._plan.branch}_log"
        frame.createOrReplaceTempView(log)
        self._spark.send(f"create or replace temporary view {rows} as {kept_rows_sql(log)}")
        return log, rows

    @property
    def fields(self) -> Sequence[str]:
        """The partition fields of a table that is built, in Spark's notation."""
        return self._layout.partitioned_by or self._partition_fields()

    def _columns_of(self, relation: str) -> list[Column]:
        return [Column(name, type_) for name, type_ in self._spark.columns(f"select * from {relation}")]

    def _partition_fields(self) -> list[str]:
        """The current partition fields of the table, in Spark's notation. Empty if the table does not exist."""
        if self._plan.target is None:
            return []
        return list(describe(self._spark.rows(f"describe table {self._plan.name.sql}")).partition_fields)

    def _compared(self, columns: Sequence[str], fields: Sequence[str]) -> dict[str, list[str]]:
        """The columns that are compared with existing rows, as in ``strategy_config.compared_columns``."""
        policy = self._plan.policy
        if policy.strategy.replaces_partitions:
            return {"partition_by": columns_of(fields, columns)}
        return {"unique_key": list(policy.unique_key), "sequence_by": list(policy.sequence_by)}

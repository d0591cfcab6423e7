"""The table of recorded deletions. With ``sequence_by``, a row that arrives late may be older than a deletion.

For a history from a log, this table also contains the events that created no version.

A checkpoint names a snapshot of this separate table. Rows that an unpublished run wrote are not in that snapshot, so
the next run continues without them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...capture.run import Run
from ...explain import sequence_errors
from ...metadata import MetadataReader
from ...plan.session_settings import SUMMARY_SETTING
from ...publish.commit_conflicts import explaining_refusals
from ...spark.port import Spark, under
from ...sql import sql_name, sql_names, sql_properties
from ...table.checkpoint import Deletions
from ...table.commits import PART_KEY, same_rows
from ...table.history import History, TableName
from ...table.types import compares_alike
from ..columns.table_columns import Typed
from .ordered import casts_sql

BESIDE_KEY = "ip.deletions-of"
"""The property of a table of recorded deletions that names its target."""


class RememberedDeletions:
    """The table of recorded deletions of one run."""

    def __init__(self, run: Run, spark: Spark, reader: MetadataReader) -> None:
        self._run = run
        self._spark = spark
        self._reader = reader

    def remember(self, columns: Sequence[Typed], deletions: str) -> None:
        """Record the deletions of a query, in addition to those of the checkpoint, before the run is published.

        ``columns``: the columns to record.

        Raises ConcurrentRunError if another run has written at the same time, and ConfigError if another kind of table
        has this name.
        """
        plan, before = self._run.plan, self._run.known_deletions
        table = deletions_table(plan.name)
        now = self._reader.load(table)
        if now is not None and BESIDE_KEY not in now.properties:
            raise sequence_errors.table_in_the_way(plan.model, table)
        continues = (
            before is not None
            and now is not None
            and before == Deletions(str(table), now.current_snapshot_id or 0)
            and self.types_of(table, columns) == [str(column.dtype) for column in columns]
        )
        if continues:
            sql = remember_more_sql(table, columns, deletions)
        else:
            kept = () if before is None else self.kept_of(before, columns)
            sql = remember_sql(table, plan.name, columns, deletions, before, kept)
        mark = plan.branch
        with under(self._spark, {SUMMARY_SETTING + PART_KEY: mark}), explaining_refusals(table, plan.model):
            self._spark.send(sql)
        now = self._reader.load(table)
        head = None if now is None else now.current
        parent = before.snapshot_id if continues and before is not None else None
        if head is None or head.summary.get(PART_KEY) != mark or head.parent_id != parent:
            raise sequence_errors.deletions_overtaken(plan.model, table)
        self._run.state.deletions = Deletions(str(table), head.snapshot_id)

    def known(self, columns: Sequence[Typed]) -> Deletions | None:
        """The deletions of earlier runs, at the newest snapshot with the same rows, such as that of a compaction.

        ``columns``: the columns that must have been recorded. Raises CheckpointError if the deletions no longer exist,
        and ConfigError if they have other columns.
        """
        plan, known = self._run.plan, self._run.known_deletions
        if known is None:
            return None
        table = TableName.parse(known.table)
        history = None if table is None else self._reader.load(table)
        if table is None or history is None:
            raise sequence_errors.deletions_lost(plan.model, known, "no such table")
        found = readable(known, history)
        if found is None:
            raise sequence_errors.deletions_lost(plan.model, known, "no such snapshot of it")
        self._run.state.deletions = found
        kept = self.types_of(table, columns, found.snapshot_id)
        types = [(column.name, str(column.dtype), type_) for column, type_ in zip(columns, kept, strict=True)]
        others = [each for each in types if not compares_alike(*each[1:])]
        if others:
            raise sequence_errors.deletions_of_other_columns(plan.model, known, others)
        return found

    def kept_of(self, deletions: Deletions, columns: Sequence[Typed]) -> tuple[str, ...]:
        """The names of the columns that are recorded for deletions."""
        table = TableName.parse(deletions.table)
        assert table is not None
        types = self.types_of(table, columns, deletions.snapshot_id)
        return tuple(column.name for column, type_ in zip(columns, types, strict=True) if type_)

    def types_of(self, table: TableName, columns: Sequence[Typed], snapshot_id: int | None = None) -> list[str]:
        """The types of columns in the table of recorded deletions. '' for a column that it lacks."""
        pinned = "" if snapshot_id is None else f" VERSION AS OF {snapshot_id}"
        types = {name.lower(): type_ for name, type_ in self._spark.columns(f"select * from {table.sql}{pinned}")}
        return [types.get(column.name.lower(), "") for column in columns]


def deletions_table(target: TableName) -> TableName:
    """The name of a target's table of recorded deletions."""
    return TableName(target.catalog, target.namespace, f"{target.name}__ip_deleted")


def readable(deletions: Deletions, history: History) -> Deletions | None:
    """The deletions at the newest existing snapshot with the same rows. None if there is none.

    A compaction creates a new snapshot with the same rows, and the previous one expires.
    """
    head, known = history.current_snapshot_id, deletions.snapshot_id
    if head is not None and same_rows(history, known, head):
        return Deletions(deletions.table, head)
    if known in history.snapshots:
        return deletions
    # for example, a branch keeps a snapshot for a clone
    later = [each for each in history.snapshots if same_rows(history, known, each)]
    return Deletions(deletions.table, later[0]) if later else None


def remember_sql(
    table: TableName,
    target: TableName,
    columns: Sequence[Typed],
    deletions: str,
    before: Deletions | None,
    kept: Collection[str],
) -> str:
    """The statement that creates or replaces the table, with the deletions of a query and earlier deletions.

    ``before``: the earlier deletions. ``kept``: the names of the columns that were recorded for them.
    """
    rows = f"({deletions})"
    if before is not None:
        rows = f"({deletions} union all {remembered_sql(before, columns, kept)})"
    return (
        f"create or replace table {table.sql} using iceberg"
        f" tblproperties {sql_properties({BESIDE_KEY: target})} as\nselect {casts_sql(columns)} from {rows}"
    )


def remember_more_sql(table: TableName, columns: Sequence[Typed], deletions: str) -> str:
    """The INSERT of a query's deletions. It names the columns, because the order of the key may have changed."""
    return f"insert into {table.sql} ({sql_names([column.name for column in columns])})\n{deletions}"


def remembered_sql(deletions: Deletions, columns: Sequence[Typed], kept: Collection[str]) -> str:
    """The query for the deletions at a checkpoint. ``kept``: the recorded columns; other columns are NULL."""
    values = ", ".join(
        sql_name(column.name) if column.name in kept else f"null as {sql_name(column.name)}" for column in columns
    )
    return f"select {values} from {recorded_sql(deletions)}"


def recorded_sql(deletions: Deletions) -> str:
    """The deletions at a checkpoint."""
    table = TableName.parse(deletions.table)
    assert table is not None
    return f"{table.sql} VERSION AS OF {deletions.snapshot_id}"

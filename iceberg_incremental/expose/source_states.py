"""The states of the sources of plain SQL: before and after the captured ranges, and the rows that differ."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.ranges import CHANGE_SIGN, CHANGE_TYPE, Appends, NetChanges, Range, Whole
from ..query.states import TableStates
from ..spark.port import ExactScans
from ..table.commits import total
from ..table.history import History, TableName
from .relations import as_of_sql, changelog_sql, empty_sql, signed_sql, uncompared_sql


@dataclass(frozen=True)
class Source:
    """A source of a run.

    ``history``: the history in its cut. ``has_same_columns``: whether it still has the columns of the checkpoint, by
    field id, because a name may now refer to another column.
    """

    planned: Range
    history: History
    has_same_columns: bool = True

    @property
    def table(self) -> TableName:
        """The source's table."""
        return self.planned.table

    @property
    def has_changed(self) -> bool:
        """Whether its rows may differ from those at the checkpoint."""
        return self.planned.brings_rows

    @property
    def rows_searched(self) -> int:
        """The number of rows that are read to find those that differ."""
        planned = self.planned
        files = planned.net.read.files if isinstance(planned, NetChanges) else None
        return planned.counts.records if files is None else files.records

    @property
    def rows_compared(self) -> int:
        """The number of added and removed rows that are compared by all of their values to find those that differ.

        0 if row lineage identifies the unchanged rows. If it then identifies none, a run learns what comparing costs.
        """
        planned = self.planned
        is_by_value = isinstance(planned, NetChanges) and planned.net.untouched_since is None
        return self._most_changes if is_by_value and not self.only_adds_rows else 0

    @property
    def _most_changes(self) -> int:
        """The maximum number of rows that differ."""
        rows = self.planned.net.rows if isinstance(self.planned, NetChanges) else None
        return self.rows_searched if rows is None else rows

    def states(self, changes: str) -> TableStates:
        """The source's states. ``changes``: the relation of the rows that differ. Ignored for an unchanged source."""
        new, end = as_of_sql(self.planned), self.planned.end
        rows = None if end is None else total(end)[1]
        if not self.has_changed:
            return TableStates(new, rows=rows)
        return TableStates(new, self._old_sql(), changes, self.only_adds_rows, rows, self._most_changes)

    @property
    def only_adds_rows(self) -> bool:
        """Whether the range added rows and deleted none."""
        planned = self.planned
        return isinstance(planned, (Appends, Whole)) or (
            isinstance(planned, NetChanges) and planned.net.start_id is None
        )

    def changes_sql(self, exact: ExactScans | None) -> str:
        """The rows that differ, each with its ``_change_type``."""
        return changelog_sql(self.planned, (), exact)

    def signed_sql(self, exact: ExactScans | None) -> str:
        """The added and removed rows in the form of ``changes_sql``, but with pairs of rows that cancel out.

        Rows are not compared, and Spark reads only the columns that the caller uses.
        """
        return _typed_sql(signed_sql(self.planned, exact))

    def touched_sql(self, exact: ExactScans | None) -> str | None:
        """The added and removed rows in the form of ``changes_sql``, including updates that changed no value.

        Spark reads only the columns that the caller uses. None if rows have to be compared to find those that differ,
        or if the range wrote so many rows that most of them may be unchanged.
        """
        return self._uncompared_sql(exact, at_ends=False) if self._writes_few else None

    def ends_sql(self, exact: ExactScans | None) -> str | None:
        """``touched_sql`` for any number of written rows. Each added row is in the table at the range's end."""
        return self._uncompared_sql(exact, at_ends=True)

    def _uncompared_sql(self, exact: ExactScans | None, *, at_ends: bool) -> str | None:
        signed = uncompared_sql(self.planned, exact, at_ends=at_ends)
        return None if signed is None else _typed_sql(signed)

    @property
    def _writes_few(self) -> bool:
        """Whether the range wrote few of the table's rows. For example, False if it replaced all rows."""
        planned = self.planned
        files = planned.net.read.files if isinstance(planned, NetChanges) else None
        if files is None or planned.end is None:
            return False
        return sum(file.records for file in files.at_end) * _FEW_OF <= total(planned.end)[1]

    def _old_sql(self) -> str | None:
        """The source at the checkpoint. None without a checkpoint, or if its snapshot has expired."""
        start = self.planned.start
        if start is None:
            return None
        if start.snapshot_id is None:
            return empty_sql(self.table)
        found = self.history.snapshots.get(start.snapshot_id)
        return None if found is None else self.table.at_sql(found.snapshot_id, has_other_names=found.has_other_names)


_FEW_OF = 8
"""A range wrote few rows if it wrote at most one row for each of this many rows of the table."""


def _typed_sql(signed: str) -> str:
    """Rows with their change type instead of their sign."""
    type_ = f"if({CHANGE_SIGN} > 0, 'INSERT', 'DELETE') as {CHANGE_TYPE}"
    return f"(select * except ({CHANGE_SIGN}), {type_} from {signed})"

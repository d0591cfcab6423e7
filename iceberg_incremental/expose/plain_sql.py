"""The sources of plain SQL in their states: before the captured ranges, after them, and the rows that differ."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.ranges import CHANGE_SIGN, CHANGE_TYPE, Appends, NetChanges, Range, Whole
from ..query.states import TableStates
from ..spark.scans import ExactScans
from ..table.commits import total
from ..table.history import History, TableName
from .relations import as_of_sql, changelog_sql, empty_sql, signed_sql, uncompared_sql


@dataclass(frozen=True)
class Source:
    """A source of a run.

    ``history``: as its cut has it. ``has_same_columns``: whether it has the columns that it had at the checkpoint, by
    their field ids, since a name may mean another column now.
    """

    planned: Range
    history: History
    has_same_columns: bool = True

    @property
    def table(self) -> TableName:
        """Its table."""
        return self.planned.table

    @property
    def has_changed(self) -> bool:
        """Whether it has other rows than at the checkpoint."""
        return self.planned.brings_rows

    @property
    def rows_searched(self) -> int:
        """How many rows are read to find those that differ."""
        planned = self.planned
        files = planned.net.read.files if isinstance(planned, NetChanges) else None
        return planned.counts.records if files is None else files.records

    @property
    def _most_changes(self) -> int:
        """How many rows differ at most."""
        rows = self.planned.net.rows if isinstance(self.planned, NetChanges) else None
        return self.rows_searched if rows is None else rows

    def states(self, changes: str) -> TableStates:
        """The source's states. ``changes``: the relation of the rows that differ, if any do."""
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
        """The rows that came and went, as ``changes_sql``, with rows of both kinds that cancel out.

        Rows need not be compared for them, and Spark reads only the columns that the caller uses.
        """
        return _typed_sql(signed_sql(self.planned, exact))

    def touched_sql(self, exact: ExactScans | None) -> str | None:
        """The rows that came and went, as ``changes_sql``, with some that were set to what they were.

        Spark reads only the columns that the caller uses. None where rows have to be compared to know which differ, or
        so many were written that most of them may be the same.
        """
        return self._uncompared_sql(exact, at_ends=False) if self._writes_few else None

    def ends_sql(self, exact: ExactScans | None) -> str | None:
        """As ``touched_sql``, however many rows were written, but each row that came is one of the table now."""
        return self._uncompared_sql(exact, at_ends=True)

    def _uncompared_sql(self, exact: ExactScans | None, *, at_ends: bool) -> str | None:
        signed = uncompared_sql(self.planned, exact, at_ends=at_ends)
        return None if signed is None else _typed_sql(signed)

    @property
    def _writes_few(self) -> bool:
        """Whether the range wrote few of the table's rows, unlike the replacement of all rows by nearly the same."""
        planned = self.planned
        files = planned.net.read.files if isinstance(planned, NetChanges) else None
        if files is None or planned.end is None:
            return False
        return sum(file.records for file in files.at_end) * _FEW_OF <= total(planned.end)[1]

    def _old_sql(self) -> str | None:
        """The source at the checkpoint; None where that snapshot has expired."""
        start = self.planned.start
        if start is None:
            return None
        if start.snapshot_id is None:
            return empty_sql(self.table)
        return (
            f"{self.table.sql} VERSION AS OF {start.snapshot_id}"
            if start.snapshot_id in self.history.snapshots
            else None
        )


_FEW_OF = 8
"""Of this many rows of a table, few are at most one."""


def _typed_sql(signed: str) -> str:
    """Rows with their change type in the place of their sign."""
    type_ = f"if({CHANGE_SIGN} > 0, 'INSERT', 'DELETE') as {CHANGE_TYPE}"
    return f"(select * except ({CHANGE_SIGN}), {type_} from {signed})"

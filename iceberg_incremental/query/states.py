"""The states of a relation that a query reads, as relations for FROM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from ..names import sql_name


class State(Enum):
    """A state of a relation, or the rows that differ between states."""

    NEW = "new"
    """The rows at the captured snapshot."""

    OLD = "old"
    """The rows at the checkpoint."""

    REMOVED = "removed"
    """The old rows that were removed or changed, and possibly other old rows."""

    ADDED = "added"
    """The new rows that were added or changed, and possibly other new rows."""

    BOTH = "both"
    """REMOVED and ADDED together."""

    EITHER = "either"
    """NEW and OLD together. A row that is in both occurs at least once."""

    @property
    def changes(self) -> State:
        """The changed rows of OLD or NEW. Other states are returned as they are."""
        return {State.OLD: State.REMOVED, State.NEW: State.ADDED}.get(self, self)

    @property
    def each(self) -> list[State]:
        """OLD and NEW for BOTH. Other states are returned as they are."""
        return [State.OLD, State.NEW] if self is State.BOTH else [self]


@dataclass(frozen=True)
class TableStates:
    """A base table in the states that a run reads.

    ``old``: None if nothing has changed, or if the snapshot has expired. ``changes``: the rows that differ, with
    ``_change_type`` INSERT or DELETE; None if none do. ``only_adds_rows``: whether all changes are INSERT. ``rows``:
    the number of rows in ``new``. ``most_changes``: the maximum number of changes. Both are None if unknown.
    """

    new: str
    old: str | None = None
    changes: str | None = None
    only_adds_rows: bool = False
    rows: int | None = None
    most_changes: int | None = None

    def sql(self, state: State) -> str | None:
        """The rows of a state, except EITHER. None if it has none. Raises OldSnapshotExpiredError."""
        if state is State.NEW:
            return self.new
        if state is State.OLD:
            if self.changes is None:
                return self.new
            if self.old is None:
                raise OldSnapshotExpiredError
            return self.old
        if self.changes is None or (state is State.REMOVED and self.only_adds_rows):
            return None
        type_ = {State.REMOVED: "DELETE", State.ADDED: "INSERT"}.get(state)
        where = (
            ""
            if type_ is None or (state is State.ADDED and self.only_adds_rows)
            else f" where _change_type = '{type_}'"
        )
        return f"(select * except (_change_type) from {self.changes}{where})"


Broadcast = Callable[[str, int, Sequence[str]], str]
"""Returns the hint to broadcast a relation, given its alias, its maximum number of rows, and its columns' types."""


@dataclass(frozen=True)
class KeyView:
    """A view of keys, which is created before the statements that read it. ``sql``: its query."""

    name: str
    sql: str
    columns: tuple[str, ...]


class OldSnapshotExpiredError(Exception):
    """A relation's state at the checkpoint is needed, but its snapshot has expired."""


@dataclass(frozen=True)
class Keys:
    """A view of keys. ``columns``: the names of its columns. ``nulls``: whether a key may be NULL.

    ``bound``: returns a condition on a column of a source by which Iceberg can skip files, or None, given the key
    column, the source's name and the column. ``hint``: the hint for the join.
    """

    view: str
    columns: tuple[str, ...] = ()
    nulls: bool = True
    bound: Callable[[str, str, str], str | None] = lambda key, source, column: None
    hint: str = ""

    def exists_sql(self, pairs: Sequence[tuple[str, str]]) -> str:
        """The condition that some values are those of a key. ``pairs``: the key columns with the SQL of the values."""
        sign = "<=>" if self.nulls else "="
        same = " and ".join(f"ip_keys.{sql_name(key)} {sign} {value}" for key, value in pairs)
        return f"exists (select {self.hint}1 from {self.view} as ip_keys{f' where {same}' if same else ''})"

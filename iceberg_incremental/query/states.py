"""The states of a relation that a query reads, as SQL that stands after FROM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """Which rows of a relation are meant."""

    NEW = "new"
    """Those that it has now."""

    OLD = "old"
    """Those that it had at the checkpoint."""

    GONE = "gone"
    """Those that it had and may have no more; maybe others of its old rows too."""

    CAME = "came"
    """Those that it has and may not have had; maybe others of its new rows too."""

    BOTH = "both"
    """The last two together."""

    EITHER = "either"
    """Those that it has now and those that it had, together; a row of both is there once."""

    @property
    def changes(self) -> State:
        """The changed rows of a whole state; of both, for ``BOTH``."""
        return {State.OLD: State.GONE, State.NEW: State.CAME}.get(self, self)


@dataclass(frozen=True)
class TableStates:
    """A base table in the states that a run reads.

    ``old`` is None where that state cannot be read any more. ``changes``: the rows that differ, with ``_change_type``
    INSERT or DELETE; None where none do. ``only_adds_rows``: whether all of these are INSERT. ``rows`` and
    ``most_changes``: how many rows it has, and how many of them differ at most; None if unknown.
    """

    new: str
    old: str | None = None
    changes: str | None = None
    only_adds_rows: bool = False
    rows: int | None = None
    most_changes: int | None = None

    def sql(self, state: State) -> str | None:
        """The rows of a state; None where it has none."""
        if state is State.NEW:
            return self.new
        if state is State.OLD:
            if self.changes is None:
                return self.new
            if self.old is None:
                raise OldSnapshotExpiredError
            return self.old
        if self.changes is None or (state is State.GONE and self.only_adds_rows):
            return None
        type_ = {State.GONE: "DELETE", State.CAME: "INSERT"}.get(state)
        where = (
            "" if type_ is None or (state is State.CAME and self.only_adds_rows) else f" where _change_type = '{type_}'"
        )
        return f"(select * except (_change_type) from {self.changes}{where})"


Broadcast = Callable[[str, int, Sequence[str]], str]
"""Gives the hint to broadcast a relation, by its alias, the most rows that it can have, and its columns' types."""


@dataclass(frozen=True)
class KeyView:
    """A view of keys that is made before the statements that read it: its name, and its query."""

    name: str
    sql: str
    columns: tuple[str, ...]


class OldSnapshotExpiredError(Exception):
    """A relation's state at the checkpoint is needed, but its snapshot has expired."""

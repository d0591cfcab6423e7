"""What other runs of a model read from its sources, which determines the positions that this run records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ..table.history import TableName

_T = TypeVar("_T")


@dataclass(frozen=True)
class Reads(Generic[_T]):
    """The reads of changes in a model's SQL, by reference or by table.

    ``changes``: by ``ip_changes``. ``net_changes``: by the macros that read net changes. ``every``: whether the SQL may
    read relations that its text does not name. ``only_incremental``: reads by calls under ``is_incremental()``.
    ``has_incremental_calls``: whether there are such calls. ``always``: the relations whose changes every run is known
    to read. ``always_rows``: the relations to which unconditional calls of ``ip_changes`` may refer. ``whole``: the
    relations that every run is known to read as a whole.
    """

    changes: frozenset[_T] = frozenset()
    net_changes: frozenset[_T] = frozenset()
    every: bool = False
    only_incremental: frozenset[_T] = frozenset()
    has_incremental_calls: bool = False
    always: frozenset[_T] = frozenset()
    always_rows: frozenset[_T] = frozenset()
    whole: frozenset[_T] = frozenset()


@dataclass(frozen=True)
class ConditionalReads(Reads[TableName]):
    """The reads in a model's SQL, by table."""

    def include(self, table: TableName) -> bool:
        """Whether some run of the model may read the changes of a table."""
        return self.every or table in self.changes or table in self.net_changes

    def are_net(self, table: TableName) -> bool:
        """Whether all reads of a table's changes are reads of net changes."""
        return table in self.net_changes and table not in self.changes

    def are_always_net(self, table: TableName) -> bool | None:
        """Whether every run reads a table's net changes, and none reads it by ``ip_changes``. None if uncertain."""
        if self.every or table not in self.always:
            return None
        return table not in self.always_rows and table not in self.changes

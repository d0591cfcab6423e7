"""What other runs of a model read of its sources, which decides the positions that this one records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ..table.history import TableName

_T = TypeVar("_T")


@dataclass(frozen=True)
class Reads(Generic[_T]):
    """The conditional reads of changes, by references or by tables.

    ``changes``: by ``ip_changes``. ``net_changes``: by the macros that read net changes. ``every``: also of relations
    that the text does not name. ``only_incremental``: by calls that stand under ``is_incremental()``, of which
    ``has_incremental_calls`` says whether there are any. ``always``: the relations whose changes every run reads, as
    far as that is certain; ``always_rows``: those that every run may read by ``ip_changes``; ``whole``: those that
    every run reads as a whole, as far as that is certain.
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
    """The conditional reads by the tables that are meant."""

    def include(self, table: TableName) -> bool:
        """Whether some run of the model may read the changes of a table."""
        return self.every or table in self.changes or table in self.net_changes

    def are_net(self, table: TableName) -> bool:
        """Whether the model reads a table's net changes where it reads its changes at all."""
        return table in self.net_changes and table not in self.changes

    def are_always_net(self, table: TableName) -> bool | None:
        """Whether every run reads a table's net changes, and none its rows by ``ip_changes``; None if not certain."""
        if self.every or table not in self.always:
            return None
        return table not in self.always_rows and table not in self.changes

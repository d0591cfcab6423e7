"""Changed groups: which groups of rows some captured ranges changed.

A group is all rows of a relation that share the values of some key columns, NULL being a value like any other. It has
changed if a row of it came, went or changed; a row that moved from one group to another changes both.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..table.changed_files import ChangedFiles
from ..table.history import TableName
from .ranges import Range


@dataclass(frozen=True)
class Changes:
    """The changes of one relation. ``files``: those that hold them; None where they cannot be listed."""

    planned: Range
    files: ChangedFiles | None


@dataclass(frozen=True)
class ChangedGroups:
    """The groups, by the columns ``keys`` of these ``types``, in which one of the ``relations`` changed.

    ``changes``: of those that did. The types are Spark's names. ``held``: a view that holds the groups' keys, each
    once, so that several statements read them and do not compute them; None where there is none.
    """

    keys: tuple[str, ...]
    changes: tuple[Changes, ...]
    relations: frozenset[TableName] = frozenset()
    types: tuple[str, ...] = ()
    held: str | None = None

    @property
    def records(self) -> int:
        """How many rows the changes have at most."""
        return sum(each.planned.counts.records for each in self.changes)

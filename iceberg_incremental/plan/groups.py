"""Changed groups: the groups of rows that captured ranges changed.

A group consists of all rows of a relation with the same values in the key columns, where NULL equals NULL. It has
changed if a row was added, deleted or changed. A row that moves to another group changes both groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..table.files import ChangedFiles
from ..table.history import TableName
from .ranges import Range


@dataclass(frozen=True)
class Changes:
    """The changes of one relation. ``files``: the files that contain them. None if they cannot be listed."""

    planned: Range
    files: ChangedFiles | None


@dataclass(frozen=True)
class ChangedGroups:
    """The groups, by the columns ``keys`` of the Spark types ``types``, in which one of the ``relations`` changed.

    ``changes``: the changes of these relations. ``held``: a view with each key of a changed group once, so that several
    statements share one computation; None without it.
    """

    keys: tuple[str, ...]
    changes: tuple[Changes, ...]
    relations: frozenset[TableName] = frozenset()
    types: tuple[str, ...] = ()
    held: str | None = None

    @property
    def records(self) -> int:
        """The maximum number of rows in the changes."""
        return sum(each.planned.counts.records for each in self.changes)

"""The result of a strategy: the statement that writes a run's rows, and the kind of the second statement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..columns.table_columns import Typed


class Then(Enum):
    """The second statement, which is published with the first."""

    NOTHING = "nothing"
    DELETE_REPLACED = "delete replaced"
    """Delete the rows with the same keys, or in the changed groups, that the inserted rows replace."""
    DELETE_CHANGED = "delete changed"
    """Delete the rows of all keys of the changelog, except for rows that were just inserted. The keys are read from the
    view of the changes, whose rows Spark holds."""
    MERGE_VERSIONS = "merge versions"
    """The statement is a MERGE of versions. It is rendered again with the bounds of their keys when Spark holds the
    changes."""


@dataclass(frozen=True)
class Statement:
    """A statement as SQL.

    ``columns``: the columns of the inserted rows, if a second statement follows. ``added``: the columns among them that
    the run adds to the table.
    """

    sql: str
    then: Then = Then.NOTHING
    columns: tuple[Typed, ...] = ()
    added: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.sql

"""What a strategy gives: the statement that writes a run's rows, and what is to follow it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .columns import Typed


class Then(Enum):
    """What follows a statement, in a second one that is published with it."""

    NOTHING = "nothing"
    DELETE_REPLACED = "delete replaced"
    """The rows of the same keys, or of the changed groups, that the inserted rows replace are deleted."""
    DELETE_CHANGED = "delete changed"
    """The rows of all keys of the changelog are deleted, apart from those just inserted. They are read from the view of
    the changes, whose rows are held."""
    MERGE_VERSIONS = "merge versions"
    """The statement is a MERGE of versions. It is made again, with bounds of their keys, when the changes are held."""


@dataclass(frozen=True)
class Statement:
    """A statement by its SQL.

    ``columns``: of the rows that it inserts, where something is to follow; ``added``: those of them that the table gets
    in this run.
    """

    sql: str
    then: Then = Then.NOTHING
    columns: tuple[Typed, ...] = ()
    added: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.sql

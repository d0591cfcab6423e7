"""Refusals: why a source cannot be read from a position on, as facts; ``explain`` has the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..table.changed_files import METADATA_COLUMNS, ChangedFiles
from ..table.history import Snapshot
from ..table.types import is_comparable
from .breaks import Break
from .changes import Rewritten
from .ranges import CHANGE_TYPE, COMMIT_COLUMNS


class Unreadable(Enum):
    """Why the rows that a rewrite left cannot be compared with those before."""

    TYPES = "types"
    """Spark cannot compare values of their types."""

    OWN_CHANGE_TYPE = "own change type"
    """They have the names of columns that the changelog adds."""

    METADATA_COLUMNS = "metadata columns"
    """They have the names of Iceberg's metadata columns, by which rows are found."""


@dataclass(frozen=True)
class Incomparable:
    """The range changed or deleted rows, and the table has ``columns`` that keep its net changes from being read."""

    why: Unreadable
    columns: tuple[tuple[str, str], ...]
    """Names and types."""


@dataclass(frozen=True)
class UnreadableOverwrite:
    """The range has an overwrite that only added rows, which neither of Iceberg's scans can return."""

    commit: Snapshot


@dataclass(frozen=True)
class TooManyAdditions:
    """The range has more separate overwrites that only added rows than one statement can read."""

    found: int


Refusal = Break | Rewritten | Incomparable | UnreadableOverwrite | TooManyAdditions
"""Why a source cannot be read from a position on."""


def incomparable(changed: ChangedFiles, *, changelog: bool = False, per_commit: bool = False) -> Incomparable | None:
    """What keeps the rows at the end from being compared.

    ``changelog``: beside a column that says what happened; ``per_commit``: and beside those of its commit.
    """
    columns = [(column.name, str(column.type)) for column in changed.end]
    own = {*((CHANGE_TYPE,) if changelog else ()), *(COMMIT_COLUMNS if per_commit else ())}
    kinds = {
        Unreadable.TYPES: {column.name for column in changed.end if not is_comparable(column.type)},
        Unreadable.OWN_CHANGE_TYPE: {name for name, _ in columns if name.lower() in own},
        Unreadable.METADATA_COLUMNS: {name for name, _ in columns if name.lower() in METADATA_COLUMNS},
    }
    for why, names in kinds.items():
        if names:
            return Incomparable(why, tuple(column for column in columns if column[0] in names))
    return None

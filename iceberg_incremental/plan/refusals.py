"""Refusals: why a source cannot be read from a position, as facts. ``explain`` contains the messages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..table.files import METADATA_COLUMNS, ChangedFiles
from ..table.history import Snapshot
from ..table.types import is_comparable
from .breaks import Break
from .changes import Rewritten
from .ranges import CHANGE_TYPE, COMMIT_COLUMNS


class Unreadable(Enum):
    """Why the rows after a rewrite cannot be compared with those before it."""

    TYPES = "types"
    """Spark cannot compare values of the columns' types."""

    OWN_CHANGE_TYPE = "own change type"
    """The columns have names that the changelog adds."""

    METADATA_COLUMNS = "metadata columns"
    """The columns have the names of Iceberg's metadata columns, by which rows are located."""


@dataclass(frozen=True)
class Incomparable:
    """The range changed or deleted rows, and its net changes cannot be read because of ``columns``."""

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
"""Why a source cannot be read from a position."""


def incomparable(changed: ChangedFiles, *, changelog: bool = False, per_commit: bool = False) -> Incomparable | None:
    """Why the rows at the end cannot be compared. None if they can.

    ``changelog``: whether the result has a column with the type of change. ``per_commit``: whether it also has the
    columns of the commit.
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

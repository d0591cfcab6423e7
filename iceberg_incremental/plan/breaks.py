"""Breaks: why a source's history does not lead from a position to the end that is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..table.checkpoint import Position, is_later
from ..table.history import History, Snapshot
from .policy import Cause


class Reason(Enum):
    """What the metadata show of a break; the cause that policies know is coarser."""

    DROPPED = "dropped"
    """The table was dropped and created again."""

    EMPTIED = "emptied"
    """It has no snapshot any more."""

    REPLACED = "replaced"
    """Its history begins after the position."""

    UNDONE = "undone"
    """The position is on a branch of the history that a rollback left."""

    AHEAD = "ahead"
    """The position is later than the table's head."""

    UNKNOWN = "unknown"
    """The history goes back to the time of the position, which is not in it."""

    COMMITS_EXPIRED = "commits expired"
    """Snapshots after the position have expired."""

    START_EXPIRED = "start expired"
    """The snapshot of the position has expired, with which net changes are compared."""


class Obstacle(Enum):
    """Why what happened in an expired stretch cannot be recovered."""

    COMMITS_UNKNOWN = "commits unknown"
    """No older metadata file knows all commits."""

    ROWS_CHANGED = "rows changed"
    """Commits changed or deleted rows, and the model does not merge such rows."""

    NO_LINEAGE = "no lineage"
    """The rows carry no lineage of format v3 that can be trusted."""

    FILES_UNLISTED = "files unlisted"
    """The reader cannot list the data files."""

    NOT_PARQUET = "not parquet"
    """Data files are of a format whose row lineage is not read."""

    FILE_TWICE = "file twice"
    """A file that was added since is in the table twice."""

    RESERVED_COLUMNS = "reserved columns"
    """Columns hide metadata columns of Iceberg's."""


@dataclass(frozen=True)
class Break:
    """The history does not lead from the position to ``end``.

    ``ancestor``: the newest snapshot that both the position and ``end`` come from, where that is known.
    ``oldest``: the oldest snapshot that the source still knows on the way to ``end``.
    ``obstacle``: why there is no way around an expiry; ``columns``: those that it is about.
    """

    cause: Cause
    history: History
    position: Position
    end: Snapshot | None
    reason: Reason
    ancestor: Snapshot | None = None
    oldest: Snapshot | None = None
    obstacle: Obstacle | None = None
    columns: tuple[str, ...] = ()


def is_other_table(history: History, position: Position) -> bool:
    """Whether a position is known to be one in another table than this."""
    uuids = (history.table_uuid, position.table_uuid)
    return None not in uuids and uuids[0] != uuids[1]


def break_before(history: History, position: Position, end: Snapshot) -> Break:
    """Why ``end`` does not come from the position, by what the metadata still know."""
    chain = list(history.ancestors(end.snapshot_id))
    oldest = chain[-1]
    known = history.snapshots.get(position.snapshot_id or 0)
    on_chain = {snapshot.snapshot_id for snapshot in chain}
    ancestor = None
    if known is not None:
        ancestor = next((s for s in history.ancestors(known.snapshot_id) if s.snapshot_id in on_chain), None)

    def broken(cause: Cause, reason: Reason) -> Break:
        return Break(cause, history, position, end, reason, ancestor, oldest)

    if ancestor is not None:
        return broken(Cause.ROLLED_BACK, Reason.UNDONE)
    if is_later(oldest, position) is not False:
        replaced = oldest.parent_id is None
        return broken(*((Cause.REBUILT, Reason.REPLACED) if replaced else (Cause.EXPIRED, Reason.COMMITS_EXPIRED)))
    if known is None and is_later(position, end):
        return broken(Cause.ROLLED_BACK, Reason.AHEAD)
    return broken(Cause.ROLLED_BACK, Reason.UNKNOWN)

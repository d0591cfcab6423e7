"""Breaks: why a source's history does not lead from a position to the end that is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..table.checkpoint import Position, is_later
from ..table.commits import is_first
from ..table.history import History, Snapshot
from .policy import Cause


class Reason(Enum):
    """What the metadata show of a break, in words; the cause that policies know is coarser."""

    DROPPED = "the table was dropped and created again"
    EMPTIED = "the table no longer has a snapshot"
    REPLACED = "the table was replaced: its history begins after the checkpoint"
    UNDONE = "the snapshot was undone by a rollback"
    AHEAD = "the checkpoint is ahead of the table, as after a restore from a backup"
    UNKNOWN = "the snapshot is not in the table's history, although the history goes back to its time"
    COMMITS_EXPIRED = "snapshots after the checkpoint have expired"
    START_EXPIRED = (
        "the snapshot of the checkpoint has expired, and rows that changed since can only be found by comparing with it"
    )
    COMMIT_STARTS_EXPIRED = (
        "the snapshot of the checkpoint has expired, and what each commit changed can only be found by comparing it "
        "with the snapshot before"
    )


class Obstacle(Enum):
    """Why what happened in an expired stretch cannot be recovered, in words."""

    COMMITS_UNKNOWN = "no older metadata file knows all commits since"
    ROWS_CHANGED = (
        "commits since changed or deleted rows, which can be recovered only under on_source_rewrite: upserts with "
        "incremental_strategy: merge"
    )
    NO_LINEAGE = (
        "the rows carry no lineage (format version 3, written by Spark with Iceberg 1.12 or later) that identifies"
        " the new ones"
    )
    FILES_UNLISTED = "the data files since cannot be listed"
    NOT_PARQUET = "row lineage is read only from Parquet files"
    FILE_TWICE = "a file that was added since is in the table twice"
    RESERVED_COLUMNS = "hides a metadata column of Iceberg, by which rows are found"
    """After the columns that do."""


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
        replaced = is_first(oldest)
        return broken(*((Cause.REBUILT, Reason.REPLACED) if replaced else (Cause.EXPIRED, Reason.COMMITS_EXPIRED)))
    if known is None and is_later(position, end):
        return broken(Cause.ROLLED_BACK, Reason.AHEAD)
    return broken(Cause.ROLLED_BACK, Reason.UNKNOWN)

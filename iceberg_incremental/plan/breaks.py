"""Breaks: why a source's history does not lead from a position to the end of a range."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..table.checkpoint import Position, is_later
from ..table.commits import is_first
from ..table.history import History, Snapshot
from .policy import Cause


class Reason(Enum):
    """What the metadata shows about a break, as error text. Policies only know its coarser ``Cause``."""

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
    """Why the commits since an expired position cannot be recovered, as error text."""

    COMMITS_UNKNOWN = "no older metadata file lists all commits since then"
    ROWS_CHANGED = (
        "commits since then changed or deleted rows, which can be recovered only under on_source_rewrite: upserts with "
        "incremental_strategy: merge"
    )
    NO_LINEAGE = (
        "the rows have no lineage (format version 3, written by Spark with Iceberg 1.12 or later) that identifies the "
        "new rows"
    )
    FILES_UNLISTED = "the data files added since then cannot be listed"
    NOT_PARQUET = "row lineage is read only from Parquet files"
    FILE_TWICE = "a file that was added since then is in the table twice"
    RESERVED_COLUMNS = "has the name of an Iceberg metadata column, which is needed to find rows"
    """In the error, this text follows the names of these columns."""


@dataclass(frozen=True)
class Break:
    """The history does not lead from the position to ``end``.

    ``ancestor``: the newest common ancestor of the position and ``end``, if known. ``oldest``: the oldest known
    ancestor of ``end``. ``obstacle``: why the rows cannot be recovered after an expiry. ``columns``: the columns that
    the obstacle refers to.
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
    """Whether a position is known to belong to another table.

    Without UUIDs, which Spark's metadata tables lack, this is the case if the table was created after the position's
    snapshot, which it does not have.
    """
    if history.table_uuid is not None and position.table_uuid is not None:
        return history.table_uuid != position.table_uuid
    if history.created_ms is None or position.timestamp_ms is None or position.snapshot_id in history.snapshots:
        return False
    return history.created_ms > position.timestamp_ms


def break_before(history: History, position: Position, end: Snapshot) -> Break:
    """Why the history does not lead from the position to ``end``, from the snapshots that are still known."""
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

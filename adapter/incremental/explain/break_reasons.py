"""What is said of a break, and of why it cannot be recovered from."""

from __future__ import annotations

from ..plan.breaks import Break, Obstacle, Reason

_REASONS = {
    Reason.DROPPED: "the table was dropped and created again",
    Reason.EMPTIED: "the table has no snapshot any more",
    Reason.REPLACED: "the table was replaced: its history begins after the checkpoint",
    Reason.UNDONE: "the snapshot was undone by a rollback",
    Reason.AHEAD: "the checkpoint is ahead of the table, as after a restore from a backup",
    Reason.UNKNOWN: "the snapshot is not in the table's history, though it goes back to its time",
    Reason.COMMITS_EXPIRED: "snapshots after the checkpoint have expired",
    Reason.START_EXPIRED: (
        "the snapshot of the checkpoint has expired, and rows that changed since can only be found by comparing with it"
    ),
}
_OBSTACLES = {
    Obstacle.COMMITS_UNKNOWN: "no older metadata file knows all commits since",
    Obstacle.ROWS_CHANGED: (
        "commits since changed or deleted rows, which can only be made up for under on_source_rewrite: upserts with "
        "incremental_strategy: merge"
    ),
    Obstacle.NO_LINEAGE: (
        "the rows carry no lineage (format version 3, written by Iceberg 1.12 or later) that identifies the new ones"
    ),
    Obstacle.FILES_UNLISTED: "the data files since cannot be listed",
    Obstacle.NOT_PARQUET: "row lineage is only read of Parquet files",
    Obstacle.FILE_TWICE: "a file that was added since is in the table twice",
}


def reason_text(broken: Break) -> str:
    """Why the history does not lead on, and why the rows since cannot be recovered."""
    said = _REASONS[broken.reason]
    if broken.obstacle is Obstacle.RESERVED_COLUMNS:
        return f"{said}, and {', '.join(broken.columns)} hides a metadata column of Iceberg's, by which rows are found"
    return said if broken.obstacle is None else f"{said}, and {_OBSTACLES[broken.obstacle]}"

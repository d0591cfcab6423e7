"""The sentences on why a history breaks, and why a run cannot recover from the break."""

from __future__ import annotations

from ..plan.breaks import Break, Obstacle, Reason

_REASONS = {
    Reason.DROPPED: "the table was dropped and created again",
    Reason.EMPTIED: "the table no longer has a snapshot",
    Reason.REPLACED: "the table was replaced: its history begins after the checkpoint",
    Reason.UNDONE: "the snapshot was undone by a rollback",
    Reason.AHEAD: "the checkpoint is ahead of the table, as after a restore from a backup",
    Reason.UNKNOWN: "the snapshot is not in the table's history, although the history goes back to its time",
    Reason.COMMITS_EXPIRED: "snapshots after the checkpoint have expired",
    Reason.START_EXPIRED: (
        "the snapshot of the checkpoint has expired, and rows that changed since can only be found by comparing with it"
    ),
}
_OBSTACLES = {
    Obstacle.COMMITS_UNKNOWN: "no older metadata file knows all commits since",
    Obstacle.ROWS_CHANGED: (
        "commits since changed or deleted rows, which can be recovered only under on_source_rewrite: upserts with "
        "incremental_strategy: merge"
    ),
    Obstacle.NO_LINEAGE: (
        "the rows carry no lineage (format version 3, written by Spark with Iceberg 1.12 or later) that identifies"
        " the new ones"
    ),
    Obstacle.FILES_UNLISTED: "the data files since cannot be listed",
    Obstacle.NOT_PARQUET: "row lineage is read only from Parquet files",
    Obstacle.FILE_TWICE: "a file that was added since is in the table twice",
}


def reason_text(broken: Break) -> str:
    """Why the history does not lead on, and why the rows since cannot be recovered."""
    said = _REASONS[broken.reason]
    if broken.obstacle is Obstacle.RESERVED_COLUMNS:
        return f"{said}, and {', '.join(broken.columns)} hides a metadata column of Iceberg, by which rows are found"
    return said if broken.obstacle is None else f"{said}, and {_OBSTACLES[broken.obstacle]}"

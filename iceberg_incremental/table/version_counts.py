"""How many versions a run wrote to the table of a history or dbt snapshot, from the summaries of its commits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .checkpoint import Checkpoint, carried_by
from .commits import PART_KEY, added, merged_rows, removed
from .history import History, Snapshot
from .row_counts import rows_gone


@dataclass(frozen=True)
class VersionCounts:
    """``added``: the number of new versions. ``updated``: the number of existing versions that the run changed.

    Most updated versions have ended. ``updated``: None if the summaries do not contain it, because a copy-on-write
    commit also counts the rows that it copied.
    """

    added: int
    updated: int | None


def versions_written(target: History, checkpoint: Checkpoint, commit: Snapshot | None) -> VersionCounts | None:
    """How many versions a run wrote. None for tables without versions, and for runs that wrote no rows.

    ``commit``: the commit with the run's checkpoint.
    """
    if commit is None or (checkpoint.history is None and not checkpoint.model.startswith("snapshot.")):
        return None
    counts = [_of_commit(part) for part in _parts(target, commit, checkpoint.epoch)]
    updated = [each.updated for each in counts if each.updated is not None]
    return VersionCounts(sum(each.added for each in counts), sum(updated) if len(updated) == len(counts) else None)


def last_versions(target: History) -> VersionCounts | None:
    """How many versions the newest run that wrote rows added and updated. Raises UnreadableCheckpoint."""
    for commit in target.ancestors(target.current_snapshot_id):
        checkpoint = carried_by(commit, target.table)
        if checkpoint is not None:
            return versions_written(target, checkpoint, commit)
    return None


def _parts(target: History, commit: Snapshot, epoch: int) -> Iterator[Snapshot]:
    """The commits of a run, newest first."""
    yield commit
    for each in target.ancestors(commit.parent_id):
        if each.summary.get(PART_KEY) != str(epoch):
            return
        yield each


def _of_commit(commit: Snapshot) -> VersionCounts:
    merged = merged_rows(commit)
    if merged is not None:
        inserted, updated, deleted = merged
        return VersionCounts(inserted, updated + deleted)
    gone = rows_gone(commit)
    copies = removed(commit)[0] > 0
    return VersionCounts(max(0, added(commit)[1] - gone), None if copies else gone)

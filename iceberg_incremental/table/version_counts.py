"""The number of versions that a run wrote to the table of a history or dbt snapshot, from its commits' summaries."""

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

    Most updated versions have ended. ``updated`` is None if the summaries do not show it, because a copy-on-write
    commit also counts the rows that it copied.
    """

    added: int
    updated: int | None


def versions_written(target: History, checkpoint: Checkpoint, commit: Snapshot | None) -> VersionCounts | None:
    """The number of versions that a run wrote. None for tables without versions, and for runs that wrote no rows.

    ``commit``: the commit with the run's checkpoint. None if the run wrote no rows.
    """
    if commit is None or (checkpoint.history is None and not checkpoint.model.startswith("snapshot.")):
        return None
    parts = list(_parts(target, commit, checkpoint.epoch))
    merged = [counts for part in parts if (counts := merged_rows(part)) is not None]
    others = [part for part in parts if merged_rows(part) is None]
    gone = sum(rows_gone(part) for part in others)
    copies = any(removed(part)[0] > 0 for part in others)
    # A version that one commit of the run deletes and another inserts again was changed by the run.
    inserted = max(0, sum(added(part)[1] for part in others) - gone)
    changed = sum(updated + deleted for _, updated, deleted in merged)
    return VersionCounts(inserted + sum(each[0] for each in merged), None if copies else gone + changed)


def last_versions(target: History) -> VersionCounts | None:
    """The versions that the newest run with rows added and updated. Raises UnreadableCheckpoint."""
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

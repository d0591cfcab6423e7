"""The number of rows of a table at a snapshot, and of written versions, from summaries alone.

``total-records`` counts the rows of data files, including rows that delete files have removed. Keys are those of
Iceberg's ``SnapshotSummary``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .checkpoint import Checkpoint, carried_by
from .commits import PART_KEY, added, has_only_own_files, merged_rows, removed, total, writes_new_files
from .history import History, Snapshot


@dataclass(frozen=True)
class RowCount:
    """A number of rows. ``at_most``: the actual number may be lower."""

    rows: int
    at_most: bool = False


def rows_at(history: History, snapshot: Snapshot) -> RowCount:
    """The number of rows of a table at a snapshot.

    Position deletes are subtracted if each one is known to remove a row of an existing file. Summaries do not count the
    rows that equality deletes remove.
    """
    _, records, _ = total(snapshot)
    deleted = _count(snapshot, "total-position-deletes")
    others = _count(snapshot, "total-equality-deletes")
    if not _count(snapshot, "total-delete-files") and not deleted and not others:
        return RowCount(records, at_most=_may_count_too_many(history, snapshot))
    if deleted and _all_apply(history, snapshot):
        # If the table has a file twice, one position delete removes two rows but counts once.
        once = has_only_own_files(history, snapshot.snapshot_id)
        return RowCount(records - deleted, at_most=others > 0 or not once)
    return RowCount(records, at_most=True)


def _may_count_too_many(history: History, snapshot: Snapshot) -> bool:
    """Whether files may have been added twice and then removed: both entries are removed, but count once."""
    removed_later = False
    for commit in history.ancestors(snapshot.snapshot_id):
        if removed_later and not writes_new_files(commit):
            return True
        removed_later = removed_later or _count(commit, "deleted-data-files") > 0
    return False


def touched_rows(commit: Snapshot) -> int:
    """The maximum number of rows that a commit added and removed. 0 if its summary has no counts."""
    merged = merged_rows(commit)
    if merged is not None:
        inserted, updated, deleted = merged
        return inserted + 2 * updated + deleted
    found = added(commit)[1] + removed(commit)[1]
    found += _count(commit, "added-position-deletes") + _count(commit, "removed-position-deletes")
    return found + (total(commit)[1] if _count(commit, "added-equality-deletes") else 0)


def rows_gone(commit: Snapshot) -> int:
    """The number of rows that a commit removed, by removing files and by position deletes.

    Rows of a removed file that were already deleted count once, because their deletes are removed with the file.
    """
    by_position = _count(commit, "added-position-deletes") - _count(commit, "removed-position-deletes")
    return max(0, removed(commit)[1] + by_position)


def _all_apply(history: History, snapshot: Snapshot) -> bool:
    """Whether every position delete removes a row of an existing file.

    A deletion vector is removed with its data file. A file of position deletes (format v2) may outlive its data files,
    and then still counts in the totals.
    """
    vectors_only, keeps_files, complete = True, True, False
    for commit in history.ancestors(snapshot.snapshot_id):
        if not _count(commit, "total-position-deletes"):
            complete = True
            break
        if _count(commit, "added-position-delete-files") or (
            _count(commit, "added-position-deletes") and not _count(commit, "added-dvs")
        ):
            vectors_only = False
        keeps_files = keeps_files and not _count(commit, "deleted-data-files")
        complete = commit.parent_id is None
    return (vectors_only and (complete or history.format_version >= 3)) or (keeps_files and complete)


def _count(snapshot: Snapshot, key: str) -> int:
    return snapshot.number(key) or 0


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

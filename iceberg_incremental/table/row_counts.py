"""The number of rows of a table at a snapshot, from the totals in summaries alone.

``total-records`` counts the rows of data files, including rows that delete files have removed. Keys are those of
Iceberg's ``SnapshotSummary``.
"""

from __future__ import annotations

from dataclasses import dataclass

from .commits import added, has_only_own_files, merged_rows, removed, total, writes_new_files
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

"""How many rows a table has at a snapshot, by the totals in summaries alone.

``total-records`` counts the rows of data files, those included that delete files have removed. Keys: Iceberg's
``SnapshotSummary``.
"""

from __future__ import annotations

from dataclasses import dataclass

from .commits import added, merged_rows, removed, total, writes_new_files
from .history import History, Snapshot


@dataclass(frozen=True)
class RowCount:
    """A number of rows; ``at_most``: there may be fewer."""

    rows: int
    at_most: bool = False


def rows_at(history: History, snapshot: Snapshot) -> RowCount:
    """The rows of a table at a snapshot.

    Position deletes are subtracted where each is known to remove a row of a file that is there. What equality deletes
    remove stands in no summary.
    """
    _, records, _ = total(snapshot)
    deleted = _count(snapshot, "total-position-deletes")
    others = _count(snapshot, "total-equality-deletes")
    if not _count(snapshot, "total-delete-files") and not deleted and not others:
        return RowCount(records, at_most=_may_count_too_many(history, snapshot))
    if deleted and _all_apply(history, snapshot):
        # A position of a file that the table has twice takes two rows, and counts once.
        once = all(map(writes_new_files, history.ancestors(snapshot.snapshot_id)))
        return RowCount(records - deleted, at_most=others > 0 or not once)
    return RowCount(records, at_most=True)


def _may_count_too_many(history: History, snapshot: Snapshot) -> bool:
    """Whether files were removed after one may have been added a second time: both entries go, and count once."""
    removed_later = False
    for commit in history.ancestors(snapshot.snapshot_id):
        if removed_later and not writes_new_files(commit):
            return True
        removed_later = removed_later or _count(commit, "deleted-data-files") > 0
    return False


def touched_rows(commit: Snapshot) -> int:
    """How many rows a commit brought and took at most, each time a row came or went; 0 where no summary says."""
    merged = merged_rows(commit)
    if merged is not None:
        inserted, updated, deleted = merged
        return inserted + 2 * updated + deleted
    found = added(commit)[1] + removed(commit)[1]
    found += _count(commit, "added-position-deletes") + _count(commit, "removed-position-deletes")
    return found + (total(commit)[1] if _count(commit, "added-equality-deletes") else 0)


def rows_gone(commit: Snapshot) -> int:
    """How many rows a commit took, by whole files and by position deletes.

    Those of a removed file that were deleted before go only once: their deletes are removed with it.
    """
    by_position = _count(commit, "added-position-deletes") - _count(commit, "removed-position-deletes")
    return max(0, removed(commit)[1] + by_position)


def _all_apply(history: History, snapshot: Snapshot) -> bool:
    """Whether every position delete removes a row of a file that is there.

    A deletion vector goes with its data file. A file of position deletes (format v2) may outlive the data files that it
    is about, and stays in the totals then.
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

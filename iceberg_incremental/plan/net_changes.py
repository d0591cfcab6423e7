"""Planning net changes: the rows that differ between a position and the end."""

from __future__ import annotations

from collections.abc import Sequence

from ..table.commits import (
    Effect,
    added,
    changes_delete_files,
    effect,
    has_counts,
    has_only_own_files,
    keeps_row_ids,
    may_undelete,
    removed,
    total,
)
from ..table.files import ChangedFiles, FileDifference
from ..table.history import Snapshot
from ..table.row_counts import touched_rows
from .breaks import Break, Reason
from .changes import Rewritten, net_changes, nothing_new, sums
from .policy import Cause
from .ranges import NetChanges, NetRange, Nothing


def break_of_net(found: Rewritten) -> Break | None:
    """Why net changes cannot be read, although the history leads from the position to the end. None if they can."""
    if found.position.snapshot_id in found.history.snapshots:
        return None
    history, position = found.history, found.position
    oldest = next(iter(found.commits or ()), None)
    return Break(Cause.EXPIRED, history, position, found.end, Reason.START_EXPIRED, oldest=oldest)


def plan_net(found: Rewritten, changed: ChangedFiles) -> NetChanges | Nothing:
    """The rows that differ between the position and the end. ``changed``: the columns and files that differ."""
    history, position, end = found.history, found.position, found.end
    assert position.snapshot_id is not None
    if changed.files is not None and not changed.files.all:
        return nothing_new(history, position, end)
    moving = [commit for commit in found.commits or () if _moves_rows(commit)]
    if changed.files is None:
        sizes = [count(commit) for commit in moving for count in (added, removed)]
        counts = [(files, 0, size) for files, _, size in sizes] + [(0, touched_rows(commit), 0) for commit in moving]
    else:
        counts = [(1, 0, file.size) for file in changed.files.all]
        counts += [(0, _rows_at_most(None if found.commits is None else moving, changed.files), 0)]
    by_ends = _by_ends(found, changed)
    counted = sums(counts, len(moving), at_most=True)
    net = NetRange(
        history.table,
        position.snapshot_id,
        end.snapshot_id,
        changed,
        by_ends=by_ends,
        untouched_since=None if by_ends else _untouched_since(found, changed),
        has_log=_reads_each_file_once(found, changed),
        changes_most_files=_changes_most_files(found, changed),
        rows=counted.records,
    )
    return net_changes(history, position, end, counted, net)


def _rows_at_most(moving: Sequence[Snapshot] | None, files: FileDifference) -> int:
    """The maximum number of rows added and removed, from the differing files or from the commits."""
    known = files.records
    if moving is None or not all(map(has_counts, moving)):
        return known
    return min(known, sum(map(touched_rows, moving)))


def _moves_rows(commit: Snapshot) -> bool:
    return effect(commit) is not Effect.NONE


def _by_ends(found: Rewritten, changed: ChangedFiles) -> bool:
    """Whether the table has, or may have, a file twice, or may contain deleted rows again."""
    files = changed.files
    return files is None or files.has_repeated or found.commits is None or any(map(may_undelete, found.commits))


def _changes_most_files(found: Rewritten, changed: ChangedFiles) -> bool:
    """Whether at least half of the files at the end differ from the start."""
    files = changed.files
    return files is not None and 2 * len((*files.at_end, *files.with_other_deletes)) >= total(found.end)[0] > 0


def _keeps_row_ids(found: Rewritten, changed: ChangedFiles) -> bool:
    """Whether every row had an id of its own at the start, and every commit since has preserved the ids.

    A file that was written for another table may contain ids that rows of this table also have.
    """
    files = changed.files is None or changed.files.keep_row_ids
    commits = found.commits is not None and all(map(keeps_row_ids, found.commits))
    at_start = changed.start_has_row_ids and has_only_own_files(found.history, found.position.snapshot_id)
    return files and commits and at_start


def _untouched_since(found: Rewritten, changed: ChangedFiles) -> int | None:
    """The sequence number of the start, if row lineage identifies the rows that were moved to other files.

    None otherwise.
    """
    files = changed.files
    if not _keeps_row_ids(found, changed):
        return None
    start = found.history.snapshots.get(found.position.snapshot_id or 0)
    return start.sequence_number if start and files and files.at_start and files.at_end else None


def _reads_each_file_once(found: Rewritten, changed: ChangedFiles) -> bool:
    """Whether Iceberg's changelog scan returns the range and reads only files that differ between its ends.

    The scan reads the files that each commit added or removed, by name.
    """
    if changed.files is None or not changed.has_changelog or not found.is_whole or found.commits is None:
        return False
    counts = [count(commit)[0] for commit in found.commits if _moves_rows(commit) for count in (added, removed)]
    in_place = any(changes_delete_files(commit) for commit in found.commits)
    return not in_place and sum(counts) <= len(changed.files.at_start) + len(changed.files.at_end)

"""Planning net changes: the rows by which a source differs between a position and the end."""

from __future__ import annotations

from ..table.changed_files import ChangedFiles
from ..table.commits import Effect, added, changes_delete_files, effect, keeps_row_ids, removed, writes_new_files
from ..table.history import Snapshot
from ..table.row_counts import touched_rows
from .breaks import Break, Reason
from .changes import Rewritten, nothing_new, sums
from .policy import Cause
from .ranges import NetChanges, NetRange, Nothing


def break_of_net(found: Rewritten) -> Break | None:
    """Why net changes cannot be read, although the history leads from the position to the end; None where they can."""
    if found.position.snapshot_id in found.history.snapshots:
        return None
    history, position = found.history, found.position
    return Break(Cause.EXPIRED, history, position, found.end, Reason.START_EXPIRED, oldest=found.commits[0])


def plan_net(found: Rewritten, changed: ChangedFiles) -> NetChanges | Nothing:
    """The rows by which the end differs from the position. ``changed``: what differs between the two."""
    history, position, end = found.history, found.position, found.end
    assert position.snapshot_id is not None
    if changed.files is not None and not changed.files.all:
        return nothing_new(history, position, end)
    moving = [commit for commit in found.commits if _moves_rows(commit)]
    if changed.files is None:
        sizes = [count(commit) for commit in moving for count in (added, removed)]
        counts = [(files, 0, size) for files, _, size in sizes] + [(0, touched_rows(commit), 0) for commit in moving]
    else:
        counts = [(1, file.records, file.size) for file in changed.files.all]
    net = NetRange(
        history.table,
        position.snapshot_id,
        end.snapshot_id,
        changed,
        untouched_since=_untouched_since(found, changed),
        by_changelog=_reads_each_file_once(found, changed),
        new_files=all(map(writes_new_files, found.commits)),
    )
    return NetChanges(
        table=history.table,
        table_uuid=history.table_uuid,
        start=position,
        end=end,
        counts=sums(counts, len(moving), at_most=True),
        net=net,
    )


def _moves_rows(commit: Snapshot) -> bool:
    return effect(commit) is not Effect.NONE


def _untouched_since(found: Rewritten, changed: ChangedFiles) -> int | None:
    """The sequence number up to which row lineage identifies untouched rows; None where it does not, or does not pay.

    Every row must have had its id at the start, and every commit since must have carried the ids along. It saves the
    comparison of rows that were moved to other files, for one more scan; where no file went, no row was moved.
    """
    if changed.files is not None and not (changed.files.at_start and changed.files.keep_row_ids):
        return None
    start = found.history.snapshots.get(found.position.snapshot_id or 0)
    if start is None or not changed.start_has_row_ids or not all(keeps_row_ids(commit) for commit in found.commits):
        return None
    return start.sequence_number


def _reads_each_file_once(found: Rewritten, changed: ChangedFiles) -> bool:
    """Whether Iceberg's changelog scan shows the range, and reads no more files than differ between its ends.

    It reads what every commit added or removed, by the files' names, whatever lies between their bounds.
    """
    if changed.files is None or not changed.has_changelog:
        return False
    counts = [count(commit)[0] for commit in found.commits if _moves_rows(commit) for count in (added, removed)]
    in_place = any(changes_delete_files(commit) for commit in found.commits)
    return not in_place and sum(counts) <= len(changed.files.at_start) + len(changed.files.at_end)

"""The snapshots that the readers of a table still need, and those that a model's own table needs."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.breaks import is_other_table
from ..plan.ranges import MOST_SEGMENTS
from ..table.checkpoint import KEY, PARTIAL_BUILD_KEY, Position
from ..table.commits import moves_files
from ..table.history import History, Snapshot


@dataclass(frozen=True)
class Reader:
    """A model that reads a table, with its position. ``nets``: whether it reads net changes."""

    model: str
    position: Position
    nets: bool = False


def needed_by(history: History, position: Position) -> frozenset[int]:
    """The snapshots of a table that a model at a position still needs, including the start of its next range."""
    if position.as_of or is_other_table(history, position):
        return frozenset()
    start = position.snapshot_id
    before = {start, *(each.snapshot_id for each in history.ancestors(start))}
    found: list[Snapshot] = []
    for snapshot in history.ancestors(history.current_snapshot_id):
        found.append(snapshot)
        if snapshot.snapshot_id in before:
            break  # the position, or its newest ancestor on main after a rollback
    leads_back = bool(found) and bool({found[-1].snapshot_id, found[-1].parent_id} & before)
    if not leads_back and position.timestamp_ms is not None:
        # all snapshots from the newest to the last one that is not older, because an expiry works in this order
        newer = [number for number, each in enumerate(found, start=1) if each.timestamp_ms >= position.timestamp_ms]
        found = found[: max(newer, default=0)]
    kept = {each.snapshot_id for each in found}
    return frozenset(kept if start is None or start not in history.snapshots else {*kept, start})


def needed_by_itself(target: History, mirrored_at: int | None) -> frozenset[int]:
    """The snapshots of a model's table that prove its checkpoint: from the current one back to the one with it.

    ``mirrored_at``: the snapshot at which the table's property was written, which is also needed as proof.
    """
    found = {mirrored_at} & target.snapshots.keys()
    for snapshot in target.ancestors(target.current_snapshot_id):
        found.add(snapshot.snapshot_id)
        if KEY in snapshot.summary or PARTIAL_BUILD_KEY in snapshot.summary:
            break
    return frozenset(each for each in found if each is not None)


def hinders_compaction(history: History, reader: Reader) -> bool:
    """Whether a compaction now would cost a reader more than it saves.

    Net changes are read in segments between compactions, up to a maximum number of segments. With more compactions, all
    moved files are compared. In format v2, if the history since the position has a gap, added files are identified by
    their names, which a compaction changes.
    """
    position, end = reader.position, history.current
    if position.as_of or end is None or is_other_table(history, position):
        return False
    commits = history.commits_since(position.snapshot_id, end)
    if commits is None:
        return history.format_version < 3
    return reader.nets and sum(map(moves_files, commits)) + 2 > MOST_SEGMENTS

"""The readers of a table: the snapshots that models have still to read, and those that a model's own table needs."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.breaks import is_other_table
from ..plan.ranges import MOST_SEGMENTS
from ..table.checkpoint import KEY, PARTIAL_BUILD_KEY, Position
from ..table.commits import moves_files
from ..table.history import History, Snapshot


@dataclass(frozen=True)
class Reader:
    """A model that reads a table, and how far it has. ``nets``: whether it reads net changes."""

    model: str
    position: Position
    nets: bool = False


def needed_by(history: History, position: Position) -> frozenset[int]:
    """The snapshots of a table that a model at a position has still to read, those included with which it compares."""
    if position.as_of or is_other_table(history, position):
        return frozenset()
    start = position.snapshot_id
    before = {start, *(each.snapshot_id for each in history.ancestors(start))}
    found: list[Snapshot] = []
    for snapshot in history.ancestors(history.current_snapshot_id):
        found.append(snapshot)
        if snapshot.snapshot_id in before:
            break  # the position, or where it was left by a rollback
    leads_back = bool(found) and bool({found[-1].snapshot_id, found[-1].parent_id} & before)
    if not leads_back and position.timestamp_ms is not None:
        # down to the last that is not older, with what lies between: an expiry walks from the head, too
        newer = [number for number, each in enumerate(found, start=1) if each.timestamp_ms >= position.timestamp_ms]
        found = found[: max(newer, default=0)]
    kept = {each.snapshot_id for each in found}
    return frozenset(kept if start is None or start not in history.snapshots else {*kept, start})


def needed_by_itself(target: History, mirrored_at: int | None) -> frozenset[int]:
    """The snapshots of a model's table that show its checkpoint: from the head to the one that carries it.

    ``mirrored_at``: the head at which the table's property was written, which the property's proof needs too.
    """
    found = {mirrored_at} & target.snapshots.keys()
    for snapshot in target.ancestors(target.current_snapshot_id):
        found.add(snapshot.snapshot_id)
        if KEY in snapshot.summary or PARTIAL_BUILD_KEY in snapshot.summary:
            break
    return frozenset(each for each in found if each is not None)


def hinders_compaction(history: History, reader: Reader) -> bool:
    """Whether a compaction now would cost a reader more than it saves.

    Net changes are read between the compactions of a range, up to a number of them; with more, all files that were
    moved are compared. In format v2, where the way from the position is not known any more, files that were added
    are found by their names, which a compaction changes.
    """
    position, end = reader.position, history.current
    if position.as_of or end is None or is_other_table(history, position):
        return False
    commits = history.commits_since(position.snapshot_id, end)
    if commits is None:
        return history.format_version < 3
    return reader.nets and sum(map(moves_files, commits)) + 2 > MOST_SEGMENTS

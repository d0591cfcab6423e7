"""Segments: net changes across compactions, as the sum of the changes between them.

A compaction moves rows to other files without changing them, so the commits before and after it contain all changes.
Each segment is read from the files that differ between its own ends. These are far fewer than the files of a
compaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..table.commits import Effect, effect, moves_files
from ..table.history import Snapshot
from .changes import Rewritten, sums
from .ranges import MOST_SEGMENTS, NetChanges, NetRange, Nothing, position_at

_MOVED_BY_LINEAGE, _MOVED_BY_VALUE = 3, 8
"""Measured cost per byte of a file with rows that may have been moved, relative to a file with only new rows."""


def segments_of(found: Rewritten) -> list[Rewritten]:
    """The segments of a range between its compactions.

    Empty if there are no compactions, if there are too many segments, or if snapshots have expired.
    """
    if found.commits is None:
        return []
    history, start = found.history, found.position
    stretches: list[Rewritten] = []
    commits: list[Snapshot] = []
    for commit in (*found.commits, None):
        if commit is not None and not moves_files(commit):
            commits.append(commit)
            continue
        if any(effect(each) is not Effect.NONE for each in commits):
            rewrites = tuple(each for each in commits if effect(each) is Effect.REWRITE)
            stretches.append(Rewritten(history, start, commits[-1], rewrites, tuple(commits)))
        if commit is not None:
            start, commits = position_at(history.table_uuid, commit), []
    ends = [id_ for each in stretches for id_ in (each.position.snapshot_id, each.end.snapshot_id)]
    moved = any(map(moves_files, found.commits))
    return stretches if moved and len(stretches) <= MOST_SEGMENTS and history.snapshots.keys() >= {*ends} else []


def by_segments(planned: NetChanges, segments: Sequence[NetChanges | Nothing]) -> NetChanges:
    """The same changes, read segment by segment if this costs less."""
    parts = [each for each in segments if isinstance(each, NetChanges)]
    columns = planned.net.changed.end
    same_columns = all(each.net.changed.start == columns == each.net.changed.end for each in (planned, *parts))
    if not parts or not same_columns or sum(_work(each.net) for each in parts) >= _work(planned.net):
        return planned
    counts = [(each.counts.files, each.counts.records, each.counts.size) for each in parts]
    counted = sums(counts, planned.counts.snapshots, at_most=True)
    net = replace(planned.net, segments=tuple(each.net for each in parts), rows=counted.records)
    return replace(planned, counts=counted, net=net)


def _work(net: NetRange) -> float:
    """The cost of reading a range, in bytes of its files, weighted for moved rows. Infinite if unknown."""
    files = net.changed.files
    if files is None:
        return float("inf")
    moved = sum(file.size for file in (*files.at_start, *files.at_end))
    in_place = sum(file.size for file in files.with_other_deletes)
    if net.by_ends:
        return _MOVED_BY_VALUE * (moved + 2 * in_place)
    if not (files.at_start and files.at_end):
        return moved + in_place
    return in_place + moved * (_MOVED_BY_VALUE if net.untouched_since is None else _MOVED_BY_LINEAGE)

"""Limits of what one run takes of a source, so that a backlog drains over several runs."""

from __future__ import annotations

from dataclasses import dataclass

from .checkpoint import Position
from .commits import Effect, added, effect, removed
from .history import History, Snapshot
from .plan import commits_since


@dataclass(frozen=True)
class Limits:
    """At most so many ``snapshots`` that touched rows, and so many bytes of data files (``size``); None is no limit."""

    snapshots: int | None = None
    size: int | None = None


def limited(history: History, position: Position, end: Snapshot, limits: Limits) -> tuple[Snapshot, int]:
    """The snapshot up to which a run reads, and how many commits that touched rows wait behind it.

    It takes at least one such commit, however large. Commits that touched no row cost nothing. Where the history does
    not lead from the position to ``end``, that is ``end``, and planning says what is wrong.
    """
    if position.snapshot_id is None:
        commits: list[Snapshot] | None = list(history.ancestors(end.snapshot_id))[::-1]
    else:
        commits = commits_since(history, position.snapshot_id, end)
    taken, size = 0, 0
    last: Snapshot | None = None
    for place, snapshot in enumerate(commits or ()):
        if effect(snapshot) is not Effect.NONE:
            size += added(snapshot)[2] + removed(snapshot)[2]
            if taken and (_exceeds(taken + 1, limits.snapshots) or _exceeds(size, limits.size)):
                waiting = (commits or ())[place:]
                return last or end, sum(effect(each) is not Effect.NONE for each in waiting)
            taken += 1
        last = snapshot
    return end, 0


def _exceeds(value: int, limit: int | None) -> bool:
    return limit is not None and value > limit

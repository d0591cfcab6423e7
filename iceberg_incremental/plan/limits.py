"""Limits on what one run reads from a source, so that several runs process a backlog."""

from __future__ import annotations

from ..table.checkpoint import Position
from ..table.commits import Effect, added, effect, removed, units
from ..table.history import History, Snapshot
from .policy import Policy


def limited(history: History, position: Position, end: Snapshot, policy: Policy) -> tuple[Snapshot, int]:
    """The last snapshot that a run reads, and the number of later commits that changed rows.

    A run reads at least one commit that changed rows, regardless of its size, and never only a part of the commits of
    another run. Commits without rows do not count. If the history does not lead from the position to ``end``, the
    result is ``end``, and planning reports the break.
    """
    if position.snapshot_id is None:
        commits: list[Snapshot] | None = list(history.ancestors(end.snapshot_id))[::-1]
    else:
        commits = history.commits_since(position.snapshot_id, end)
    taken, size = 0, 0
    last: Snapshot | None = None
    judged = [(unit, [each for each in unit if effect(each) is not Effect.NONE]) for unit in units(commits or ())]
    for index, (unit, touching) in enumerate(judged):
        if touching:
            size += sum(added(each)[2] + removed(each)[2] for each in touching)
            if taken and (_exceeds(taken + len(touching), policy.max_snapshots) or _exceeds(size, policy.max_bytes)):
                return last or end, sum(len(others) for _, others in judged[index:])
            taken += len(touching)
        last = unit[-1]
    return end, 0


def _exceeds(value: int, limit: int | None) -> bool:
    return limit is not None and value > limit

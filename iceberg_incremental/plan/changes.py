"""Planning a capture: the range to read, from a source's history and a model's position, or why there is none.

All functions in this folder are pure functions of frozen values, and use no catalog, Spark or dbt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..table.checkpoint import Position
from ..table.commits import Effect, added, begins_table, effect, removed, total, units
from ..table.history import History, Snapshot
from ..table.row_counts import rows_at
from .breaks import Break, Reason, break_before, is_other_table
from .event_window import WindowOf
from .policy import Cause, Policy
from .ranges import Addition, Appends, Counts, NetChanges, NetRange, Nothing, Whole, Windowed


@dataclass(frozen=True)
class Rewritten:
    """The range has commits that change or delete rows, which an append scan cannot return.

    ``rewrites``: these commits. ``commits``: all commits of the range. Both are ordered oldest first. If snapshots
    between the position and the end have expired, ``rewrites`` may be empty, and ``commits`` is None if they are
    unknown.
    """

    history: History
    position: Position
    end: Snapshot
    rewrites: tuple[Snapshot, ...]
    commits: tuple[Snapshot, ...] | None = ()

    @property
    def is_whole(self) -> bool:
        """Whether Iceberg still has every snapshot of the range."""
        return self.commits is not None and all(each.snapshot_id in self.history.snapshots for each in self.commits)


def plan_whole(history: History, end: Snapshot | None, start: Position | None = None) -> Whole | Nothing:
    """The whole table at ``end``, for a first build, a full refresh, or a relation that is not captured."""
    if end is None:
        return nothing_new(history, start, None)
    files, _, size = total(end)
    count = rows_at(history, end)
    snapshots = sum(1 for _ in history.ancestors(end.snapshot_id))
    counts = Counts(snapshots, files, count.rows, size, count.at_most)
    return Whole(table=history.table, table_uuid=history.table_uuid, start=start, end=end, counts=counts)


def plan_window(history: History, end: Snapshot | None, start: Position, window: WindowOf) -> Windowed | Nothing:
    """The rows of an event-time window, at the snapshot up to which the model has read the table."""
    whole = plan_whole(history, end, start)
    if isinstance(whole, Nothing):
        return whole
    return Windowed(
        table=history.table,
        table_uuid=history.table_uuid,
        start=start,
        end=whole.end,
        counts=replace(whole.counts, at_most=True),
        window=window,
    )


def plan_as_of(history: History, position: Position | None, end: Snapshot | None) -> Whole | Nothing:
    """The whole table at ``end``, for a consumer that last read it at ``position``. Breaks in between do not matter."""
    whole = plan_whole(history, end, position)
    if position is None:
        return whole
    return replace(whole, brings_rows=not isinstance(plan_changes(history, position, end), Nothing))


def plan_changes(
    history: History, position: Position, end: Snapshot | None, *, ignore_rewrites: bool = False
) -> Nothing | Whole | Appends | Rewritten | Break:
    """The rows added by commits after ``position``, up to and including ``end``.

    With ``ignore_rewrites``, commits that change or delete rows are skipped.
    """
    if is_other_table(history, position):
        return Break(Cause.REBUILT, history, position, end, Reason.DROPPED)
    if end is None:
        if position.snapshot_id is None:
            return nothing_new(history, position, None)
        return Break(Cause.REBUILT, history, position, end, Reason.EMPTIED)
    if position.snapshot_id is None:
        return _since_creation(history, position, end)
    commits = history.commits_since(position.snapshot_id, end)
    if commits is None:
        return break_before(history, position, end)
    judged = [(snapshot, effect(snapshot)) for snapshot in commits]
    rewrites = tuple(snapshot for snapshot, its_effect in judged if its_effect is Effect.REWRITE)
    if rewrites and not ignore_rewrites:
        return Rewritten(history, position, end, rewrites, tuple(commits))
    return _appends(history, position, end, judged)


def nothing_new(history: History, position: Position | None, end: Snapshot | None) -> Nothing:
    """A range without new rows. It may contain commits without rows."""
    return Nothing(table=history.table, table_uuid=history.table_uuid, start=position, end=end)


def net_changes(history: History, position: Position, end: Snapshot, counts: Counts, net: NetRange) -> NetChanges:
    """A range that is read as net changes."""
    return NetChanges(
        table=history.table, table_uuid=history.table_uuid, start=position, end=end, counts=counts, net=net
    )


def sums(counts: Iterable[tuple[int, int, int]], snapshots: int, *, at_most: bool = False) -> Counts:
    """The counts of a range, from those of its parts: (files, rows, bytes)."""
    listed = list(counts)
    files, records, size = (sum(each[part] for each in listed) for part in range(3))
    return Counts(snapshots, files, records, size, at_most)


def _since_creation(history: History, position: Position, end: Snapshot) -> Whole | Nothing:
    """The range from an empty table: its net effect is the whole table at ``end``."""
    # The summary's totals are not used, because Iceberg starts them at zero if a write creates a branch.
    commits = list(history.ancestors(end.snapshot_id))
    if begins_table(commits[-1]) and all(effect(snapshot) is Effect.NONE for snapshot in commits):
        return nothing_new(history, position, end)
    return plan_whole(history, end, position)


def _appends(
    history: History, position: Position, end: Snapshot, judged: list[tuple[Snapshot, Effect]]
) -> Appends | Nothing:
    bringing = [snapshot for snapshot, its_effect in judged if its_effect in (Effect.APPEND, Effect.ADDITION)]
    if not bringing:
        return nothing_new(history, position, end)
    return Appends(
        table=history.table,
        table_uuid=history.table_uuid,
        start=position,
        end=end,
        counts=sums(map(added, bringing), len(bringing)),
        append_scan=any(its_effect is Effect.APPEND for _, its_effect in judged),
        additions=_additions(judged),
        brought_by=tuple(snapshot.snapshot_id for snapshot in bringing),
    )


def _additions(judged: list[tuple[Snapshot, Effect]]) -> tuple[Addition, ...]:
    """The commits that an append scan skips, with adjacent ones combined."""
    found: list[Addition] = []
    for snapshot, its_effect in judged:
        if its_effect is not Effect.ADDITION or snapshot.parent_id is None:
            continue
        if found and found[-1].end_id == snapshot.parent_id:
            found[-1] = Addition(found[-1].start_id, snapshot.snapshot_id)
        else:
            found.append(Addition(snapshot.parent_id, snapshot.snapshot_id))
    return tuple(found)


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

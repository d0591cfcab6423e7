"""Planning a capture: from a source's history and a model's position to the range to read, or to why there is none.

Everything here is a pure function of frozen values: no catalog, no Spark, no dbt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from ..expose.net import NetRange
from ..table.changed_files import ChangedFiles
from ..table.checkpoint import Position
from ..table.commits import Effect, added, changes_delete_files, effect, keeps_row_ids, removed, total, writes_new_files
from ..table.history import History, Snapshot, TableName
from ..table.row_counts import rows_at, touched_rows
from .event_window import WindowOf
from .policy import Cause


class Kind(str, Enum):
    """What is read of a source."""

    FULL = "full"
    APPEND = "append"
    NET = "net"
    WINDOW = "window"
    EMPTY = "empty"


@dataclass(frozen=True)
class Range:
    """The snapshots (start, end] of a source, and how their rows are read.

    ``start`` is the position that the range continues from, None where there is none. ``end`` is None while the source
    has no snapshot. ``additions``: the (parent, snapshot) ranges inside it whose new rows the append scan skips.
    ``snapshots``, ``files``, ``records``, ``size`` (bytes): what is read, by the summaries; for net changes, the files
    that differ between the ends. ``at_most``: the range may have fewer rows than ``records``. ``brings_rows``: whether
    anything in it is new to a consumer at ``start``.
    ``net``: how net changes are read. ``brought_by``: the commits whose rows an append range is.
    ``waiting``: how many later commits the limits of the run leave to the next one. ``window``: which rows of the table
    at the end are read, where a window is processed again. ``netted``: additions that are read as net changes, by
    where they begin.
    """

    table: TableName
    table_uuid: str | None
    kind: Kind
    start: Position | None
    end: Snapshot | None
    append_scan: bool = False
    additions: tuple[tuple[int, int], ...] = ()
    snapshots: int = 0
    files: int = 0
    records: int = 0
    size: int = 0
    at_most: bool = False
    brings_rows: bool = True
    net: NetRange | None = None
    brought_by: tuple[int, ...] = ()
    waiting: int = 0
    window: WindowOf | None = None
    netted: Mapping[int, NetRange] = field(default_factory=dict)

    @property
    def position(self) -> Position:
        """Where the source stands once this range has been consumed."""
        return position_at(self.table_uuid, self.end)

    @property
    def has_moved(self) -> bool:
        """Whether the source was committed to since the position, if only by commits that brought no rows."""
        return self.start is None or self.start.snapshot_id != self.position.snapshot_id


@dataclass(frozen=True)
class Rewritten:
    """The range holds commits that change or delete rows, which an append scan cannot show.

    ``rewrites``: these commits; ``commits``: all of the range. Oldest first.
    """

    history: History
    position: Position
    end: Snapshot
    rewrites: tuple[Snapshot, ...]
    commits: tuple[Snapshot, ...] = ()


@dataclass(frozen=True)
class Break:
    """The history does not lead from the position to ``end``.

    ``ancestor``: the newest snapshot that both the position and ``end`` come from, where that is known.
    ``oldest``: the oldest snapshot that the source still knows on the way to ``end``.
    """

    cause: Cause
    history: History
    position: Position
    end: Snapshot | None
    reason: str
    ancestor: Snapshot | None = None
    oldest: Snapshot | None = None


def position_at(table_uuid: str | None, snapshot: Snapshot | None) -> Position:
    """The position of a consumer that has read a table up to and including a snapshot."""
    if snapshot is None:
        return Position(table_uuid, None, None, None)
    return Position(table_uuid, snapshot.snapshot_id, snapshot.sequence_number, snapshot.timestamp_ms)


def plan_whole(history: History, end: Snapshot | None, start: Position | None = None) -> Range:
    """The whole table at ``end``: for a first build, a full refresh, and relations that are read as they are."""
    if end is None:
        return nothing_new(history, start, None)
    files, _, size = total(end)
    count = rows_at(history, end)
    return Range(
        history.table, history.table_uuid, Kind.FULL, start, end,
        snapshots=sum(1 for _ in history.ancestors(end.snapshot_id)),
        files=files, records=count.rows, size=size, at_most=count.at_most,
    )  # fmt: skip


def plan_window(history: History, end: Snapshot | None, start: Position, window: WindowOf) -> Range:
    """The rows of the table at ``end``, where its consumer stands, that are to be processed again."""
    whole = plan_whole(history, end, start)
    return whole if end is None else replace(whole, kind=Kind.WINDOW, window=window, at_most=True)


def plan_as_of(history: History, position: Position | None, end: Snapshot | None) -> Range:
    """The whole table at ``end``, for a consumer that has seen it at ``position``; its history may break in between."""
    whole = plan_whole(history, end, position)
    if position is None:
        return whole
    changes = plan_changes(history, position, end)
    return replace(whole, brings_rows=not isinstance(changes, Range) or changes.brings_rows)


def plan_changes(
    history: History, position: Position, end: Snapshot | None, *, ignore_rewrites: bool = False
) -> Range | Rewritten | Break:
    """The rows that commits after ``position``, up to and including ``end``, newly brought.

    With ``ignore_rewrites`` the range is planned as if commits that change or delete rows were not there.
    """
    if _is_other_table(history, position):
        return Break(Cause.REBUILT, history, position, end, "the table was dropped and created again")
    if end is None:
        if position.snapshot_id is None:
            return nothing_new(history, position, None)
        return Break(Cause.REBUILT, history, position, end, "the table has no snapshot any more")
    if position.snapshot_id is None:
        return _since_creation(history, position, end)
    commits = commits_since(history, position.snapshot_id, end)
    if commits is None:
        return _explain_break(history, position, end)
    judged = [(snapshot, effect(snapshot)) for snapshot in commits]
    rewrites = tuple(snapshot for snapshot, its_effect in judged if its_effect is Effect.REWRITE)
    if rewrites and not ignore_rewrites:
        return Rewritten(history, position, end, rewrites, tuple(commits))
    return _appends(history, position, end, judged)


def break_of_net(found: Rewritten) -> Break | None:
    """Why net changes cannot be read, although the history leads from the position to the end; None where they can."""
    if found.position.snapshot_id in found.history.snapshots:
        return None
    reason = (
        "the snapshot of the checkpoint has expired, and rows that changed since can only be told by comparing with it"
    )
    return Break(Cause.EXPIRED, found.history, found.position, found.end, reason, oldest=found.commits[0])


def plan_net(found: Rewritten, changed: ChangedFiles | None) -> Range:
    """The rows by which the end differs from the position.

    ``changed``: what differs between the two; None for a preview, which counts what the commits in between did.
    """
    history, position, end = found.history, found.position, found.end
    assert position.snapshot_id is not None
    if changed is not None and changed.files is not None and not changed.files.all:
        return nothing_new(history, position, end)
    if changed is None or changed.files is None:
        moving = [commit for commit in found.commits if _moves_rows(commit)]
        sizes = [count(commit) for commit in moving for count in (added, removed)]
        counts = [(files, 0, size) for files, _, size in sizes] + [(0, touched_rows(commit), 0) for commit in moving]
    else:
        counts = [(1, file.records, file.size) for file in changed.files.all]
    return Range(
        history.table, history.table_uuid, Kind.NET, position, end,
        snapshots=sum(1 for commit in found.commits if _moves_rows(commit)),
        files=sum(files for files, _, _ in counts),
        records=sum(records for _, records, _ in counts),
        size=sum(size for _, _, size in counts),
        at_most=True,
        net=None if changed is None else NetRange(
            history.table, position.snapshot_id, end.snapshot_id, changed, _untouched_since(found, changed),
            _reads_each_file_once(found, changed), all(map(writes_new_files, found.commits)),
        ),
    )  # fmt: skip


def _moves_rows(commit: Snapshot) -> bool:
    return effect(commit) is not Effect.NONE


def _untouched_since(found: Rewritten, changed: ChangedFiles) -> int | None:
    """The sequence number up to which row lineage tells untouched rows; None where it does not, or does not pay.

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


def nothing_new(history: History, position: Position | None, end: Snapshot | None) -> Range:
    """A range that brings no rows, though commits without any may lie in it."""
    return Range(history.table, history.table_uuid, Kind.EMPTY, position, end, brings_rows=False)


def _is_other_table(history: History, position: Position) -> bool:
    uuids = (history.table_uuid, position.table_uuid)
    return None not in uuids and uuids[0] != uuids[1]


def _since_creation(history: History, position: Position, end: Snapshot) -> Range:
    """The position is the empty table: whatever happened since, its net effect is the table as it is at ``end``."""
    # Not by the totals in the summary: Iceberg starts them at zero where a write begins a branch.
    commits = list(history.ancestors(end.snapshot_id))
    if commits[-1].parent_id is None and all(effect(snapshot) is Effect.NONE for snapshot in commits):
        return nothing_new(history, position, end)
    return plan_whole(history, end, position)


def commits_since(history: History, snapshot_id: int, end: Snapshot) -> list[Snapshot] | None:
    """The commits after a snapshot up to ``end``, oldest first; None where the parents do not lead back to it.

    The snapshot itself may be expired, as long as the commit whose parent it was is known.
    """
    commits: list[Snapshot] = []
    for snapshot in history.ancestors(end.snapshot_id):
        if snapshot.snapshot_id == snapshot_id:
            return commits[::-1]
        commits.append(snapshot)
    if commits and commits[-1].parent_id == snapshot_id:
        return commits[::-1]
    return None


def _appends(history: History, position: Position, end: Snapshot, judged: list[tuple[Snapshot, Effect]]) -> Range:
    bringing = [snapshot for snapshot, its_effect in judged if its_effect in (Effect.APPEND, Effect.ADDITION)]
    if not bringing:
        return nothing_new(history, position, end)
    counts = [added(snapshot) for snapshot in bringing]
    return Range(
        history.table, history.table_uuid, Kind.APPEND, position, end,
        append_scan=any(its_effect is Effect.APPEND for _, its_effect in judged),
        additions=_addition_ranges(judged),
        snapshots=len(bringing),
        files=sum(files for files, _, _ in counts),
        records=sum(records for _, records, _ in counts),
        size=sum(size for _, _, size in counts),
        brought_by=tuple(snapshot.snapshot_id for snapshot in bringing),
    )  # fmt: skip


def _addition_ranges(judged: list[tuple[Snapshot, Effect]]) -> tuple[tuple[int, int], ...]:
    """The additions as (parent, snapshot) ranges; neighbours make one range."""
    ranges: list[tuple[int, int]] = []
    for snapshot, its_effect in judged:
        if its_effect is not Effect.ADDITION or snapshot.parent_id is None:
            continue
        if ranges and ranges[-1][1] == snapshot.parent_id:
            ranges[-1] = (ranges[-1][0], snapshot.snapshot_id)
        else:
            ranges.append((snapshot.parent_id, snapshot.snapshot_id))
    return tuple(ranges)


def _explain_break(history: History, position: Position, end: Snapshot) -> Break:
    """Tell apart why ``end`` does not come from the position, from what the metadata still knows."""
    chain = list(history.ancestors(end.snapshot_id))
    oldest = chain[-1]
    known = history.snapshots.get(position.snapshot_id or 0)
    on_chain = {snapshot.snapshot_id for snapshot in chain}
    ancestor = None
    if known is not None:
        ancestor = next((s for s in history.ancestors(known.snapshot_id) if s.snapshot_id in on_chain), None)

    def broken(cause: Cause, reason: str) -> Break:
        return Break(cause, history, position, end, reason, ancestor, oldest)

    if ancestor is not None:
        return broken(Cause.ROLLED_BACK, "the snapshot was undone by a rollback")
    if oldest.parent_id is not None and not _not_after(oldest, position):
        return broken(Cause.EXPIRED, "snapshots after the checkpoint have expired")
    if oldest.parent_id is None and not _not_after(oldest, position):
        return broken(Cause.REBUILT, "the table was replaced: its history begins after the checkpoint")
    if known is None and _is_ahead(end, position):
        return broken(Cause.ROLLED_BACK, "the checkpoint is ahead of the table, as after a restore from a backup")
    return broken(Cause.ROLLED_BACK, "the snapshot is not in the table's history, though it goes back to its time")


def _not_after(snapshot: Snapshot, position: Position) -> bool:
    """Whether a snapshot was committed no later than the position, by sequence numbers, else by times."""
    if snapshot.sequence_number and position.sequence_number:
        return snapshot.sequence_number <= position.sequence_number
    return position.timestamp_ms is not None and snapshot.timestamp_ms <= position.timestamp_ms


def _is_ahead(end: Snapshot, position: Position) -> bool:
    if end.sequence_number and position.sequence_number:
        return position.sequence_number > end.sequence_number
    return position.timestamp_ms is not None and position.timestamp_ms > end.timestamp_ms

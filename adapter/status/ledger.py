"""The ledger of a model: the source commits that each of its commits read, and whether each of them was read once.

Each checkpoint contains the position from which its run continued. If each range of a source begins at the position of
the previous checkpoint, the ranges are contiguous. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from iceberg_incremental.quantities import counted, instant, size_text
from iceberg_incremental.table.checkpoint import Checkpoint, Position, carried_by, mirrored_by
from iceberg_incremental.table.checkpoint_state import ancestry
from iceberg_incremental.table.commits import PART_KEY, Effect, added, effect, removed
from iceberg_incremental.table.history import History, Snapshot
from iceberg_incremental.table.row_counts import rows_gone
from iceberg_incremental.table.shares import Share, share_at, sum_of, whole_of

_ROWS = "total-records"
"""The summary key for the number of rows in all data files."""


class Finding(str, Enum):
    """The problem with the start of a range."""

    GAP = "gap"
    """The start is after the previous position, so commits in between were never read."""

    OVERLAP = "overlap"
    """The start is before the previous position, so commits were read twice."""

    UNRELATED = "break"
    """The start differs from the previous position. The source's history does not show which one is earlier."""

    UNPROVEN = "not proven"
    """The previous checkpoint is unknown. This is not an error."""


@dataclass(frozen=True)
class Entry:
    """A checkpoint of a target. ``snapshot``: the commit that contains it; None if only a property contains it."""

    checkpoint: Checkpoint
    snapshot: Snapshot | None


@dataclass(frozen=True)
class Line:
    """The rows that one commit of the target read from one source.

    ``kind``: ``whole`` (a build of the whole table), ``range``, ``as_of`` (read as a whole each time) or ``by_hand`` (a
    position that was set manually). ``snapshots``, ``records``: the number of commits in the range that changed rows,
    and the number of rows that they added, from the source's history; None if unknown. ``share``: the share of the
    source that the run read, from its checkpoint or, if missing, from the source's history; None if unknown.
    ``finding``: the problem with the start of the range.
    """

    epoch: int
    source: str
    kind: str
    from_snapshot_id: int | None
    to_snapshot_id: int | None
    snapshots: int | None
    records: int | None
    finding: Finding | None = None
    share: Share | None = None


@dataclass(frozen=True)
class Totals:
    """The rows that one run added to and removed from the target, from the summaries of its commits.

    Rows that equality deletes removed are not counted. ``adds_up``: whether each commit's total of rows in data files
    equals the previous total plus the added rows minus the removed rows. ``broken_at``: the first snapshot for which
    this is not the case.
    """

    epoch: int
    rows_added: int
    rows_removed: int
    adds_up: bool = True
    broken_at: int | None = None


@dataclass(frozen=True)
class Ledger:
    """All known commits of a target, oldest first.

    ``foreign``: the commits of other writers that changed rows. ``uncounted``: the epochs for which the numbers of
    added and removed rows are unknown, because their snapshots have expired.
    """

    target: str
    lines: Sequence[Line]
    totals: Sequence[Totals]
    foreign: Sequence[int]
    uncounted: Sequence[int] = ()

    @property
    def read(self) -> Share:
        """The rows and bytes that all runs read, out of those that the sources contained at the times of the runs."""
        return sum_of(line.share for line in self.lines if line.share is not None)

    @property
    def first_wrong(self) -> Line | None:
        """The first line whose range does not begin where the previous one ended."""
        wrong = (Finding.GAP, Finding.OVERLAP, Finding.UNRELATED)
        return next((line for line in self.lines if line.finding in wrong), None)

    @property
    def first_broken(self) -> Totals | None:
        """The first run for which the counts do not add up."""
        return next((totals for totals in self.totals if not totals.adds_up), None)


def entries(target: History, older: Sequence[History]) -> list[Entry]:
    """The checkpoints in the target's current history, oldest first, one per epoch.

    ``older``: the table's earlier histories, newest first. Raises UnreadableCheckpoint.
    """
    chain = list(ancestry(target, older))
    found: dict[int, Entry] = {}
    for snapshot in chain:
        checkpoint = carried_by(snapshot, target.table)
        if checkpoint is not None:
            found.setdefault(checkpoint.epoch, Entry(checkpoint, snapshot))
    present = {snapshot.snapshot_id for snapshot in chain}
    for history in (target, *older):
        mirrored = mirrored_by(history)
        if mirrored is not None and mirrored.target_snapshot_id in present:
            found.setdefault(mirrored.epoch, Entry(mirrored, None))
    return [found[epoch] for epoch in sorted(found)]


def ledger(target: History, known: Sequence[Entry], sources: Mapping[str, History]) -> Ledger:
    """Check the checkpoints of a target against the known histories of its sources."""
    lines: list[Line] = []
    before: dict[str, Position] = {}
    last_epoch = 0
    for entry in known:
        follows = entry.checkpoint.epoch == last_epoch + 1
        positions = entry.checkpoint.sources
        for name, position in positions.items():
            line = _line(entry, name, position, before.get(name), sources.get(name), follows=follows)
            lines.append(replace(line, share=_share(entry, name, line, sources.get(name))))
        before = {**before, **positions} if entry.snapshot is None else dict(positions)
        last_epoch = entry.checkpoint.epoch
    totals, foreign = _counts(target, known)
    counted_epochs = {each.epoch for each in totals}
    committed = [entry.checkpoint.epoch for entry in known if entry.snapshot is not None]
    uncounted = [epoch for epoch in committed if epoch not in counted_epochs]
    return Ledger(str(target.table), lines, totals, foreign, uncounted)


def _line(
    entry: Entry, name: str, position: Position, before: Position | None, source: History | None, *, follows: bool
) -> Line:
    """The line of a position. ``before``: the previous position. ``follows``: whether no epoch is missing between."""
    epoch, end = entry.checkpoint.epoch, position.snapshot_id
    if position.as_of:
        return Line(epoch, name, "as_of", None, end, None, None)
    if not position.continues and entry.snapshot is None:
        start = None if before is None else before.snapshot_id
        return Line(epoch, name, "by_hand", start, end, *_contents(source, start, end))
    if not position.continues:  # it read all rows, so it has left out none
        return Line(epoch, name, "whole", None, end, *_contents(source, None, end))
    start = position.from_snapshot_id
    finding = None
    if before is None:
        finding = Finding.UNPROVEN
    elif start != before.snapshot_id:
        finding = _relation(source, start, before.snapshot_id) if follows else Finding.UNPROVEN
    return Line(epoch, name, "range", start, end, *_contents(source, start, end), finding)


def _relation(source: History | None, start: int | None, before: int | None) -> Finding:
    if start is None:
        return Finding.OVERLAP
    if before is None:
        return Finding.GAP
    if source is not None and source.is_ancestor(before, of=start):
        return Finding.GAP
    if source is not None and source.is_ancestor(start, of=before):
        return Finding.OVERLAP
    return Finding.UNRELATED


def _contents(source: History | None, start: int | None, end: int | None) -> tuple[int | None, int | None]:
    """The number of commits in a range that changed rows, and the number of rows that they added. None if unknown."""
    last = None if source is None or end is None else source.snapshots.get(end)
    if source is None or last is None:
        return (0, 0) if end is None else (None, None)
    if start is None:
        commits: list[Snapshot] | None = list(source.ancestors(end))
        if commits and commits[-1].parent_id is not None:
            return None, None
    else:
        commits = source.commits_since(start, last)
    if commits is None:
        return None, None
    touched = [snapshot for snapshot in commits if effect(snapshot) is not Effect.NONE]
    return len(touched), sum(added(snapshot)[1] for snapshot in touched)


def _share(entry: Entry, name: str, line: Line, source: History | None) -> Share | None:
    """The share of a source that a run read. A position that was set manually has none."""
    known = entry.checkpoint.shares.get(name)
    if known is not None or line.kind == "by_hand":
        return known
    end = None if source is None else source.snapshots.get(line.to_snapshot_id or 0)
    if end is None and line.to_snapshot_id is not None:
        return None
    if entry.snapshot is None:
        return share_at(end, 0, 0)  # the run only moved the checkpoint
    if line.kind != "range":
        return whole_of(end)
    commits = None if source is None or end is None else source.commits_since(line.from_snapshot_id, end)
    if commits is None:
        return None
    read = [added(commit) for commit in commits if effect(commit) is not Effect.NONE]
    return share_at(end, sum(rows for _, rows, _ in read), sum(size for _, _, size in read))


def _counts(target: History, known: Sequence[Entry]) -> tuple[list[Totals], list[int]]:
    """The counts of the target's commits by checkpoint, and the commits of other writers that changed rows."""
    own = {entry.snapshot.snapshot_id: entry.checkpoint.epoch for entry in known if entry.snapshot is not None}
    totals: list[Totals] = []
    foreign: list[int] = []
    since: list[Snapshot] = []
    before: Snapshot | None = None
    for snapshot in reversed(list(target.ancestors(target.current_snapshot_id))):
        since.append(snapshot)
        if snapshot.snapshot_id not in own:
            continue
        epoch = own[snapshot.snapshot_id]
        parts = [s for s in since if s is snapshot or s.summary.get(PART_KEY) == str(epoch)]
        foreign += [s.snapshot_id for s in since if s not in parts and effect(s) is not Effect.NONE]
        broken = _first_broken(before, since)
        rows_added, rows_removed = sum(added(s)[1] for s in parts), sum(map(rows_gone, parts))
        totals.append(Totals(epoch, rows_added, rows_removed, broken is None, broken))
        before, since = snapshot, []
    foreign += [s.snapshot_id for s in since if effect(s) is not Effect.NONE]
    return totals, foreign


def _first_broken(before: Snapshot | None, commits: Sequence[Snapshot]) -> int | None:
    for snapshot in commits:
        total, start = snapshot.number(_ROWS), None if before is None else before.number(_ROWS)
        if before is not None and snapshot.parent_id == before.snapshot_id and None not in (total, start):
            expected = (start or 0) + added(snapshot)[1] - removed(snapshot)[1]
            if total != expected:
                return snapshot.snapshot_id
        before = snapshot
    return None


def to_document(found: Ledger) -> Mapping[str, Any]:
    """The ledger as JSON values."""
    return {**asdict(found), "read": asdict(found.read)}


def as_text(found: Ledger, known: Sequence[Entry]) -> str:
    """The ledger as text."""
    counts = {totals.epoch: totals for totals in found.totals}
    lines = [f"{found.target}: {counted(len(known), 'checkpoint')}"]
    for entry in known:
        epoch = entry.checkpoint.epoch
        rows = counts.get(epoch)
        when = "" if entry.snapshot is None else f" of {instant(entry.snapshot.timestamp_ms)}"
        if rows is not None:
            what = f"+{rows.rows_added:,} -{rows.rows_removed:,} rows"
        elif epoch in found.uncounted:
            what = "rows written are unknown, because the snapshot has expired"
        else:
            what = "moved the checkpoint only"
        lines.append(f"epoch {epoch}{when}: {what}")
        lines += [f"  {_shown(line)}" for line in found.lines if line.epoch == epoch]
    read = found.read
    if read.table_records:
        lines.append(f"read in total: {_read(read)}")
    if found.foreign:
        lines.append(f"commits of other writers: {', '.join(str(each) for each in found.foreign)}")
    return "\n".join(lines)


def _shown(line: Line) -> str:
    to = "an empty table" if line.to_snapshot_id is None else str(line.to_snapshot_id)
    start = "its beginning" if line.from_snapshot_id is None else str(line.from_snapshot_id)
    shown = {
        "whole": f"the whole table at {to}",
        "as_of": f"as of {to}",
        "by_hand": f"set by hand from {start} to {to}",
        "range": f"({start}, {to}]",
    }[line.kind]
    if line.kind == "by_hand":
        if line.snapshots:
            shown += f", past {counted(line.snapshots, 'commit')}"
    elif line.snapshots is not None and line.records is not None:
        shown += f", {counted(line.snapshots, 'commit')}, which added {counted(line.records, 'row')}"
    elif line.kind != "as_of":
        shown += ", whose commits have expired"
    if line.share is not None and line.share.of_records is not None:
        shown += f"; read {_read(line.share)}"
    return f"{line.source}: {shown}" + (f"  <- {line.finding.value}" if line.finding else "")


def _read(share: Share) -> str:
    """The text of a share, for example ``20 of 80 rows (25.0%), 1.0 KiB of 3.9 KiB``."""
    return (
        f"{'at most ' if share.at_most else ''}{share.records:,} of {counted(share.table_records, 'row')} "
        f"({share.of_records or 0:.1%}), {size_text(share.bytes)} of {size_text(share.table_bytes)}"
    )

"""Recovery from expiry: the rows that are new since a position whose snapshots are gone, where they can be identified.

Older metadata files still know expired snapshots, so that every commit since the position can be judged. The rows that
the commits brought are then found in the table as it is at the end: by format v3's row lineage, in which each row has
the sequence number of its last change; or, where files were only added and none rewritten, by the files themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..table.changed_files import ChangedFiles
from ..table.commits import Effect, added, effect, keeps_row_ids, moves_files
from ..table.history import History, Snapshot
from .breaks import Break, Obstacle
from .changes import Rewritten, net_changes, nothing_new, plan_changes, sums
from .policy import Cause
from .ranges import NetChanges, NetRange, Nothing

MOST_FILES = 5_000
"""How many files a statement names where only their names identify the new rows."""


@dataclass(frozen=True)
class Recovered:
    """The commits since a position, oldest first, whose rows can be found at the end although snapshots have expired.

    ``by_lineage``: by the rows' own sequence numbers, else by the files that were added.
    """

    broken: Break
    commits: tuple[Snapshot, ...]
    by_lineage: bool

    @property
    def since(self) -> int:
        """The sequence number of the position."""
        assert self.broken.position.sequence_number is not None
        return self.broken.position.sequence_number


def completed(broken: Break, older: Iterable[History]) -> History:
    """The history with what older ones know of the way from the position to the end; asks for no more than needed."""
    known, position, end = broken.history, broken.position.snapshot_id, broken.end
    if position is None or end is None:
        return known
    for earlier in older:
        known = known.with_older(earlier)
        if known.is_ancestor(position, of=end.snapshot_id):
            break
    return known


def recover(
    broken: Break, known: History, *, upserts: bool, nets: bool = False, any_way: bool = False
) -> Recovered | Rewritten | Nothing | Break:
    """The way around an expiry; the break itself with its obstacle where there is none.

    Where the completed history shows that the position was undone or the table replaced, it is that break instead.
    Where a tag or a branch has kept the snapshot of the position, the range's two ends can be compared: it is
    ``Rewritten``.

    ``known``: the completed history. ``upserts``: whether rows that changed may come with the new ones, also such as
    were set to what they were, because the consumer merges them. ``nets``: whether the consumer takes net changes;
    ``any_way``: and by whatever commits they came about, also if these undid the position.
    """
    position, end = broken.position, broken.end
    if end is None:
        return broken
    commits = None if position.snapshot_id is None else known.commits_since(position.snapshot_id, end)
    if commits is None and (other := _undone_or_replaced(broken, known)) is not None:
        return other
    if commits is not None and all(effect(commit) is Effect.NONE for commit in commits):
        return nothing_new(broken.history, position, end)
    by_ends = _by_ends(broken, commits)
    if by_ends is not None and (any_way or (nets and commits is not None)):
        return by_ends
    if commits is None or not position.sequence_number:
        return replace(broken, obstacle=Obstacle.COMMITS_UNKNOWN)
    found = _by_rows(broken, known, commits, upserts=upserts)
    if isinstance(found, Break) and by_ends is not None and not by_ends.rewrites:
        return by_ends
    return found


def _undone_or_replaced(broken: Break, known: History) -> Break | None:
    """The break that the completed history shows to be another one than an expiry; None where it does not."""
    found = plan_changes(known, broken.position, broken.end)
    if not isinstance(found, Break) or found.cause is Cause.EXPIRED:
        return None
    ancestor = None if found.ancestor is None else broken.history.snapshots.get(found.ancestor.snapshot_id)
    return replace(found, history=broken.history, ancestor=ancestor)


def _by_ends(broken: Break, commits: list[Snapshot] | None) -> Rewritten | None:
    """The range as what differs between its ends; None where the snapshot of the position has expired."""
    if broken.end is None or broken.position.snapshot_id not in broken.history.snapshots:
        return None
    rewrites = tuple(commit for commit in commits or () if effect(commit) is Effect.REWRITE)
    known = None if commits is None else tuple(commits)
    return Rewritten(broken.history, broken.position, broken.end, rewrites, known)


def _by_rows(broken: Break, known: History, commits: list[Snapshot], *, upserts: bool) -> Recovered | Break:
    """The range as the rows of the end that are new since the position; the break with its obstacle if it has none."""
    start = known.snapshots.get(broken.position.snapshot_id or 0)
    has_lineage = start is not None and start.has_row_ids and all(map(keeps_row_ids, commits))
    if any(effect(commit) is Effect.REWRITE for commit in commits):
        if not upserts:
            return replace(broken, obstacle=Obstacle.ROWS_CHANGED)
    elif not any(map(moves_files, commits)) and sum(added(commit)[0] for commit in commits) <= MOST_FILES:
        return Recovered(broken, tuple(commits), by_lineage=False)
    if has_lineage:
        return Recovered(broken, tuple(commits), by_lineage=True)
    return replace(broken, obstacle=Obstacle.NO_LINEAGE)


def lost(found: Recovered, added_files: ChangedFiles, *, has_twice: bool) -> Break | None:
    """Why the rows cannot be found after all, given the files that were added since; None where they can.

    ``has_twice``: one of these files, by which alone the rows are found, is in the table a second time.
    """
    if added_files.reserved:
        return replace(found.broken, obstacle=Obstacle.RESERVED_COLUMNS, columns=tuple(added_files.reserved))
    if found.by_lineage and added_files.files is not None and not added_files.files.keep_row_ids:
        return replace(found.broken, obstacle=Obstacle.NOT_PARQUET)
    if has_twice:
        return replace(found.broken, obstacle=Obstacle.FILE_TWICE)
    return None


def plan_recovered(found: Recovered, changed: ChangedFiles) -> NetChanges:
    """The rows that are new since the position. ``changed``: the files that were added since and are there at the end.

    Where the reader lists no files, the counts are what the commits added.
    """
    broken, end = found.broken, found.commits[-1]
    bringing = [commit for commit in found.commits if effect(commit) is not Effect.NONE]
    if changed.files is None:
        counts = [added(commit) for commit in bringing]
    else:
        counts = [(1, file.records, file.size) for file in changed.files.all]
    since = found.since if found.by_lineage else None
    net = NetRange(broken.history.table, None, end.snapshot_id, changed, untouched_since=since)
    return net_changes(broken.history, broken.position, end, sums(counts, len(bringing), at_most=True), net)

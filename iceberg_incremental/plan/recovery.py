"""Recovery from expiry: finding the rows that are new since a position whose snapshots have expired.

Older metadata files still list expired snapshots, so every commit since the position can be classified. The rows that
these commits added are then identified in the table at the end: by the row lineage of format v3, in which each row has
the sequence number of its last change, or, if files were only added, by the files themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..table.commits import Effect, added, effect, has_only_own_files, keeps_sequence_numbers, moves_files
from ..table.files import ChangedFiles
from ..table.history import History, Snapshot
from .breaks import Break, Obstacle
from .changes import Rewritten, net_changes, nothing_new, plan_changes, sums
from .policy import Cause
from .ranges import NetChanges, NetRange, Nothing

MOST_FILES = 5_000
"""The maximum number of files that a statement lists, if only their names identify the new rows."""


@dataclass(frozen=True)
class Recovered:
    """The commits since a position, oldest first, whose rows can be identified at the end despite an expiry.

    ``by_lineage``: whether the rows' own sequence numbers identify them. Otherwise, the added files do.
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
    """The history, completed with older ones back to the position. Reads no more of them than needed."""
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
    """The range after an expiry, or the break with its obstacle if it cannot be recovered.

    If the completed history shows that the position was undone or the table was replaced, the result is that break. If
    a tag or branch has kept the snapshot of the position, both ends can be compared, and the result is ``Rewritten``.

    ``known``: the completed history. ``upserts``: whether changed rows may be returned with the new ones, including
    rows that were set to their current values, because the consumer merges them. ``nets``: whether the consumer accepts
    net changes. ``any_way``: whether it also accepts them if the commits since the position are unknown.
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
    """The break that the completed history shows instead of an expiry. None if it shows no other break."""
    found = plan_changes(known, broken.position, broken.end)
    if not isinstance(found, Break) or found.cause is Cause.EXPIRED:
        return None
    ancestor = None if found.ancestor is None else broken.history.snapshots.get(found.ancestor.snapshot_id)
    return replace(found, history=broken.history, ancestor=ancestor)


def _by_ends(broken: Break, commits: list[Snapshot] | None) -> Rewritten | None:
    """The range as the difference between its ends. None if the snapshot of the position has expired."""
    if broken.end is None or broken.position.snapshot_id not in broken.history.snapshots:
        return None
    rewrites = tuple(commit for commit in commits or () if effect(commit) is Effect.REWRITE)
    known = None if commits is None else tuple(commits)
    return Rewritten(broken.history, broken.position, broken.end, rewrites, known)


def _by_rows(broken: Break, known: History, commits: list[Snapshot], *, upserts: bool) -> Recovered | Break:
    """The range as the rows of the end that are new since the position. Otherwise, the break with its obstacle."""
    start = known.snapshots.get(broken.position.snapshot_id or 0)
    # A file that was written for another table may contain later sequence numbers, which a compaction copies.
    own = has_only_own_files(known, broken.position.snapshot_id)
    has_lineage = start is not None and start.has_row_ids and own and all(map(keeps_sequence_numbers, commits))
    if any(effect(commit) is Effect.REWRITE for commit in commits):
        if not upserts:
            return replace(broken, obstacle=Obstacle.ROWS_CHANGED)
    elif not any(map(moves_files, commits)) and sum(added(commit)[0] for commit in commits) <= MOST_FILES:
        return Recovered(broken, tuple(commits), by_lineage=False)
    if has_lineage:
        return Recovered(broken, tuple(commits), by_lineage=True)
    return replace(broken, obstacle=Obstacle.NO_LINEAGE)


def lost(found: Recovered, added_files: ChangedFiles, *, has_twice: bool) -> Break | None:
    """Why the rows cannot be identified, given the files that were added since. None if they can.

    ``has_twice``: whether the table has one of these files twice, so that its name does not identify the rows.
    """
    if added_files.reserved:
        return replace(found.broken, obstacle=Obstacle.RESERVED_COLUMNS, columns=tuple(added_files.reserved))
    if found.by_lineage and added_files.files is not None and not added_files.files.keep_row_ids:
        return replace(found.broken, obstacle=Obstacle.NOT_PARQUET)
    if has_twice:
        return replace(found.broken, obstacle=Obstacle.FILE_TWICE)
    return None


def plan_recovered(found: Recovered, changed: ChangedFiles) -> NetChanges:
    """The rows that are new since the position. ``changed``: the added files that still exist at the end.

    If the reader lists no files, the counts are those of the commits.
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

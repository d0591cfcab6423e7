"""Recovery from expiry: the rows that are new since a position whose snapshots are gone, where they can be told.

Older metadata files still know expired snapshots, so that every commit since the position can be judged. What the
commits brought is then told in the table as it is at the end: by format v3's row lineage, in which each row has the
sequence number of its last change; or, where files were only added and none rewritten, by the files themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..expose.net import NetRange
from ..table.changed_files import ChangedFiles
from ..table.commits import Effect, added, effect, keeps_row_ids, moves_files
from ..table.history import History, Snapshot
from .changes import Break, Kind, Range, commits_since, nothing_new, plan_changes
from .policy import Cause

MOST_FILES = 5_000
"""How many files a statement names where nothing but their names tells the new rows."""


@dataclass(frozen=True)
class Recovered:
    """The commits since a position, oldest first, whose rows can be told at the end although snapshots have expired.

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
        if earlier.table_uuid == known.table_uuid:
            known = replace(known, snapshots={**earlier.snapshots, **known.snapshots})
        if known.is_ancestor(position, of=end.snapshot_id):
            break
    return known


def recover(broken: Break, known: History, *, upserts: bool) -> Recovered | Range | Break:
    """The way around an expiry; the break itself with one reason more where there is none.

    Where the completed history tells that the position was undone or the table replaced, it is that break instead.
    ``known``: the completed history. ``upserts``: whether rows that changed may come with the new ones, also such as
    were set to what they were, because the consumer merges them.
    """
    position, end = broken.position, broken.end
    commits = None
    if position.snapshot_id is not None and end is not None:
        commits = commits_since(known, position.snapshot_id, end)
    if commits is None:
        told = plan_changes(known, position, end)
        if isinstance(told, Break) and told.cause is not Cause.EXPIRED:
            ancestor = None if told.ancestor is None else broken.history.snapshots.get(told.ancestor.snapshot_id)
            return replace(told, history=broken.history, ancestor=ancestor)
    if commits is None or not position.sequence_number:
        return _without(broken, "no older metadata file tells all commits since")
    effects = [effect(commit) for commit in commits]
    if Effect.REWRITE not in effects and not {Effect.APPEND, Effect.ADDITION} & {*effects}:
        return nothing_new(broken.history, position, end)
    start = known.snapshots.get(position.snapshot_id or 0)
    has_lineage = start is not None and start.has_row_ids and all(map(keeps_row_ids, commits))
    if Effect.REWRITE in effects:
        if not upserts:
            return _without(
                broken,
                "commits since changed or deleted rows, which can only be made up for under on_source_rewrite: upserts "
                "with incremental_strategy: merge",
            )
    elif not any(map(moves_files, commits)) and sum(added(commit)[0] for commit in commits) <= MOST_FILES:
        return Recovered(broken, tuple(commits), by_lineage=False)
    if has_lineage:
        return Recovered(broken, tuple(commits), by_lineage=True)
    return _without(
        broken, "the rows carry no lineage (format version 3, written by Iceberg 1.12 or later) that tells the new ones"
    )


def plan_recovered(found: Recovered, changed: ChangedFiles | None) -> Range:
    """The rows that are new since the position.

    ``changed``: the data files that were added since and are there at the end; None for a preview, which counts what
    the commits added.
    """
    broken, end = found.broken, found.commits[-1]
    bringing = [commit for commit in found.commits if effect(commit) is not Effect.NONE]
    if changed is None or changed.files is None:
        counts = [added(commit) for commit in bringing]
    else:
        counts = [(1, file.records, file.size) for file in changed.files.all]
    return Range(
        broken.history.table, broken.history.table_uuid, Kind.NET, broken.position, end,
        snapshots=len(bringing),
        files=sum(files for files, _, _ in counts),
        records=sum(records for _, records, _ in counts),
        size=sum(size for _, _, size in counts),
        at_most=True,
        net=None if changed is None else NetRange(
            broken.history.table, None, end.snapshot_id, changed, found.since if found.by_lineage else None
        ),
    )  # fmt: skip


def _without(broken: Break, reason: str) -> Break:
    return replace(broken, reason=f"{broken.reason}, and {reason}")

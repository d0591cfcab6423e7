"""Planning the net changes of each commit of a range, instead of those of the whole range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..table.checkpoint import Position
from ..table.commits import Effect, changes_delete_files, effect, is_first, units
from ..table.files import ChangedFiles
from ..table.history import History, Snapshot
from .breaks import Break, Reason
from .changes import Rewritten, nothing_new, sums
from .net_changes import plan_net
from .policy import Cause
from .ranges import ColumnsAt, CommitChanges, NetChanges, NetRange, Nothing, PerCommit, position_at


def commits_of(history: History, position: Position, end: Snapshot) -> tuple[Rewritten, ...] | Break:
    """Each commit that may have changed rows, as a separate range.

    The commits of one run of this package form one range.

    A Break if a snapshot of the range has expired, including that of the position, because the changes of a commit are
    determined from the snapshot before it.
    """
    commits = history.commits_since(position.snapshot_id, end)
    if commits and position.snapshot_id is None:
        is_whole = is_first(commits[0])
    else:
        is_whole = commits is not None and position.snapshot_id in history.snapshots
    if commits is None or not is_whole:
        oldest = list(history.ancestors(end.snapshot_id))[-1]
        return Break(Cause.EXPIRED, history, position, end, Reason.COMMIT_STARTS_EXPIRED, oldest=oldest)
    found: list[Rewritten] = []
    start = position
    for unit in units(commits):
        if any(effect(each) is not Effect.NONE for each in unit):
            rewrites = tuple(each for each in unit if effect(each) is Effect.REWRITE)
            found.append(Rewritten(history, start, unit[-1], rewrites, unit))
        start = position_at(history.table_uuid, unit[-1])
    return tuple(found)


def plan_commits(
    history: History,
    position: Position,
    end: Snapshot,
    units: Sequence[Rewritten],
    changed: Callable[[Rewritten], ChangedFiles],
    between: ChangedFiles,
) -> PerCommit | Nothing:
    """The net changes of each of ``units``.

    ``changed``: returns the difference between the ends of a unit. ``between``: the difference between the position and
    the end, or the files at the end for an empty position.
    """
    shown_as = ColumnsAt(end.snapshot_id, between.end)
    found: list[CommitChanges] = []
    counted: list[tuple[int, int, int]] = []
    for unit in units:
        files = changed(unit)
        if unit.position.snapshot_id is None:
            net = NetRange(history.table, None, unit.end.snapshot_id, files, shown_as=shown_as)
            added = () if files.files is None else files.files.all
            counted.append((len(added), sum(file.records for file in added), sum(file.size for file in added)))
        else:
            planned = plan_net(unit, files)
            if not isinstance(planned, NetChanges):
                continue
            net = replace(planned.net, has_log=False, shown_as=shown_as)
            counted.append((planned.counts.files, planned.counts.records, planned.counts.size))
        found.append(CommitChanges(unit.end, tuple(each.snapshot_id for each in unit.commits or ()), net))
    if not found:
        return nothing_new(history, position, end)
    return PerCommit(
        table=history.table,
        table_uuid=history.table_uuid,
        start=position,
        end=end,
        counts=sums(counted, len(found), at_most=True),
        shown_as=shown_as,
        commits=tuple(found),
        has_log=position.snapshot_id is not None and between.has_changelog and _keeps_delete_files(units),
    )


def _keeps_delete_files(units: Sequence[Rewritten]) -> bool:
    return not any(changes_delete_files(commit) for unit in units for commit in unit.commits or ())

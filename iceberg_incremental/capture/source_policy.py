"""The range that a run reads from a source after a position, under the model's policy, or why there is none.

Only this module decides this, for runs, ``ip_status``, ``ip_ledger``, and policies that rebuild. Every step is a pure
function in ``plan``. The cuts read further metadata only if it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import MetadataAccessError
from ..plan.breaks import Break, Obstacle, Reason
from ..plan.changes import Rewritten, nothing_new, plan_changes, sums
from ..plan.net_changes import break_of_net, plan_net
from ..plan.policy import Cause, OnBreak, OnRewrite, Policy, Strategy
from ..plan.ranges import (
    MAX_ADDITIONS,
    MOST_SEGMENTS,
    Addition,
    Appends,
    ColumnsAt,
    CommitChanges,
    NetChanges,
    NetRange,
    Nothing,
    PerCommit,
    Range,
    position_at,
)
from ..plan.recovery import Recovered, lost, plan_recovered, recover
from ..plan.refusals import Incomparable, Refusal, TooManyAdditions, UnreadableOverwrite, incomparable
from ..plan.remaining_additions import only_adds, plan_remaining
from ..table.checkpoint import Position
from ..table.commits import Effect, changes_delete_files, effect, is_first, moves_files, units
from ..table.files import ChangedFiles
from ..table.history import History, Snapshot
from .cuts import Cut, Cuts


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


def outcome(cuts: Cuts, cut: Cut, position: Position, policy: Policy, *, changelog: bool) -> Range | Refusal:
    """The result of reading a source from a position up to a cut.

    ``changelog``: whether the macro reads net changes. Raises MetadataAccessError.
    """
    found = _judged(cuts, cut, position, policy, changelog=changelog)
    match found:
        case Recovered():
            return _recovered(cuts, found)
        case Rewritten() if _is_net(policy, changelog) or not found.rewrites:
            return _net(cuts, found, changelog=changelog)
        case Rewritten() if policy.on_source_rewrite is OnRewrite.FAIL:
            return _remaining(cuts, found) or found
        case Appends():
            return _with_net_additions(cuts, found, cut.history)
    return found


def commits_outcome(cuts: Cuts, cut: Cut, position: Position) -> Range | Refusal:
    """The result of reading a source's changes by commit, from a position up to a cut. Raises MetadataAccessError."""
    found = _judged_by_commit(cuts, cut, position)
    if not isinstance(found, tuple):
        return found
    history, end = cut.history, cut.end
    assert end is not None
    between = _files_between(cuts, history, position, end)
    for changed in (between, *(_files_between(cuts, history, each.position, each.end) for each in found)):
        unreadable = incomparable(changed, changelog=True, per_commit=True)
        if unreadable is not None:
            return unreadable
    return plan_commits(
        history, position, end, found, lambda each: _files_between(cuts, history, each.position, each.end), between
    )


def calls_for_rebuild(
    cuts: Cuts, cut: Cut, position: Position, policy: Policy, *, changelog: bool
) -> Break | Rewritten | None:
    """Why the policy requires a rebuild of the model because of a source. None if not. Raises MetadataAccessError."""
    if position.per_commit:
        broken = _judged_by_commit(cuts, cut, position)
        return broken if isinstance(broken, Break) and _rebuilds(broken, policy) else None
    found = _judged(cuts, cut, position, policy, changelog=changelog)
    if isinstance(found, Recovered) and _rebuilds(found.broken, policy):
        recovered = _recovered(cuts, found)
        return recovered if isinstance(recovered, Break) else None
    if isinstance(found, Break):
        return found if _rebuilds(found, policy) else None
    if isinstance(found, Rewritten) and found.rewrites and not _is_net(policy, changelog):
        return found if policy.on_source_rewrite is OnRewrite.FULL_REFRESH else None
    return None


def _rebuilds(broken: Break, policy: Policy) -> bool:
    return policy.on_history_break[broken.cause] is OnBreak.FULL_REFRESH


def _is_net(policy: Policy, changelog: bool) -> bool:
    return changelog or policy.nets_rewrites


def _judged(
    cuts: Cuts, cut: Cut, position: Position, policy: Policy, *, changelog: bool
) -> Range | Rewritten | Recovered | Break:
    """The result from the commits alone, before any files are compared."""
    net = _is_net(policy, changelog)
    found = plan_changes(cut.history, position, cut.end, ignore_rewrites=policy.ignores_rewrites and not net)
    if isinstance(found, Break) and (consumed := _consumed(cuts, cut, position)):
        return consumed
    broken = break_of_net(found) if isinstance(found, Rewritten) and net else found
    if isinstance(broken, Break) and broken.cause is Cause.EXPIRED:
        merges_changed_rows = policy.nets_rewrites and policy.strategy is Strategy.MERGE and not changelog
        known = cuts.completed(broken)
        return recover(broken, known, upserts=merges_changed_rows, nets=net, any_way=changelog)
    return broken or found


def _judged_by_commit(cuts: Cuts, cut: Cut, position: Position) -> Nothing | Break | tuple[Rewritten, ...]:
    """The commits to read, or why there are none."""
    found = plan_changes(cut.history, position, cut.end)
    if isinstance(found, Break):
        return _consumed(cuts, cut, position) or found
    if isinstance(found, Nothing) or cut.end is None:
        return nothing_new(cut.history, position, cut.end)
    return commits_of(cut.history, position, cut.end)


def _consumed(cuts: Cuts, cut: Cut, position: Position) -> Nothing | None:
    """An empty range if another invocation has already read the source beyond this cut. None otherwise."""
    if cut.end is None or position.snapshot_id is None:
        return None
    ahead = ahead_of_cut(cuts.reload(cut.history.table), cut.end, position)
    return None if ahead is None else nothing_new(ahead.history, position, ahead.end)


def ahead_of_cut(now: History | None, end: Snapshot, position: Position) -> Cut | None:
    """The source up to a position, if another invocation has read it beyond this invocation's cut. None otherwise.

    ``now``: the source's current history. ``end``: the snapshot of the cut.
    """
    if now is None or position.snapshot_id is None:
        return None
    reached = now.snapshots.get(position.snapshot_id)
    beyond = now.is_ancestor(end.snapshot_id, of=position.snapshot_id)
    if reached is None or not beyond or not now.is_ancestor(position.snapshot_id, of=now.current_snapshot_id):
        return None
    return Cut(now, reached)


def _recovered(cuts: Cuts, found: Recovered) -> Range | Break:
    added = cuts.added_files(found)
    if added is None:
        return replace(found.broken, obstacle=Obstacle.FILES_UNLISTED)
    twice = not found.by_lineage and cuts.has_twice(found.broken.history, found.commits, added)
    return lost(found, added, has_twice=twice) or plan_recovered(found, added)


def _net(cuts: Cuts, found: Rewritten, *, changelog: bool) -> Range | Incomparable:
    changed = _changed(cuts, found)
    unreadable = incomparable(changed, changelog=changelog)
    if unreadable is not None:
        return unreadable
    planned = plan_net(found, changed)
    if not isinstance(planned, NetChanges):
        return planned
    return by_segments(planned, [plan_net(each, _changed(cuts, each)) for each in segments_of(found)])


def _remaining(cuts: Cuts, found: Rewritten) -> NetChanges | Nothing | None:
    """The rows that the range adds, if the metadata proves that it changes and deletes no older row. None otherwise."""
    if found.commits is None or found.position.snapshot_id not in found.history.snapshots:
        return None
    try:
        changed = _changed(cuts, found)
        proven = only_adds(changed) and not cuts.has_twice(found.history, found.commits, changed)
    except MetadataAccessError:
        return None  # a reader that cannot compare the two ends proves nothing
    if not proven:
        return None
    return plan_remaining(found, changed)


def _files_between(cuts: Cuts, history: History, position: Position, end: Snapshot) -> ChangedFiles:
    """The difference between a position and a later snapshot. For an empty position, all files of the snapshot."""
    if position.snapshot_id is None:
        return cuts.files_at(history, end.snapshot_id)
    return cuts.changed_files(history, position.snapshot_id, end.snapshot_id)


def _changed(cuts: Cuts, found: Rewritten) -> ChangedFiles:
    assert found.position.snapshot_id is not None
    return cuts.changed_files(found.history, found.position.snapshot_id, found.end.snapshot_id)


def _with_net_additions(
    cuts: Cuts, planned: Appends, history: History
) -> Appends | TooManyAdditions | UnreadableOverwrite | Incomparable:
    """The range with its additions as net changes, if Iceberg's changelog scan cannot return them.

    The scan does not support delete files and columns with the names of its own columns.
    """
    if len(planned.additions) > MAX_ADDITIONS:
        return TooManyAdditions(len(planned.additions))
    additions: list[Addition] = []
    for each in planned.additions:
        refined = each
        if each.start_id in history.snapshots:
            changed = cuts.changed_files(history, each.start_id, each.end_id)
            if changed.names_changelog_columns or not (changed.without_deletes or changed.files is None):
                unreadable = incomparable(changed)
                if unreadable is not None:
                    return unreadable
                if not changed.has_present_columns:
                    return UnreadableOverwrite(history.snapshots[each.end_id])
                refined = replace(each, net=NetRange(history.table, each.start_id, each.end_id, changed))
        additions.append(refined)
    return replace(planned, additions=tuple(additions))

"""The range that a run reads from a source after a position, under the model's policy, or why there is none.

Only this module decides this, for runs, ``ip_status``, ``ip_ledger``, and policies that rebuild. Every step is a pure
function in ``plan``. The cuts read further metadata only if it is needed.
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import MetadataAccessError
from ..plan.breaks import Break, Obstacle
from ..plan.changes import Rewritten, nothing_new, plan_changes
from ..plan.net_changes import break_of_net, plan_net
from ..plan.per_commit import commits_of, plan_commits
from ..plan.policy import Cause, OnBreak, OnRewrite, Policy, Strategy
from ..plan.ranges import MAX_ADDITIONS, Addition, Appends, NetChanges, NetRange, Nothing, Range
from ..plan.recovery import Recovered, lost, plan_recovered, recover
from ..plan.refusals import Incomparable, Refusal, TooManyAdditions, UnreadableOverwrite, incomparable
from ..plan.remaining import only_adds, plan_remaining
from ..plan.segments import by_segments, segments_of
from ..table.checkpoint import Position
from ..table.files import ChangedFiles
from ..table.history import History, Snapshot
from .cuts import Cut, Cuts


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

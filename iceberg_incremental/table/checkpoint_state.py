"""Which checkpoint of a target is current, from its history."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import tee

from .checkpoint import KEY, PARTIAL_BUILD_KEY, Checkpoint, UnreadableCheckpoint, carried_by, mirrored_by
from .commits import PART_KEY, Effect, effect, is_first
from .history import History, Snapshot


@dataclass(frozen=True)
class CheckpointState:
    """What a target's history shows about the runs that built it.

    ``checkpoint``: the current one, or None. ``unproven``: without a current checkpoint, the one in the table property,
    which may belong to a state of the table that was undone. ``partial``: the rows were built under ``--empty`` or
    ``--sample``, so they match no position of a source. ``half_published``: the newest commit that is only a part of a
    run, without the rest of the run. Normally None. ``has_whole_history``: without a checkpoint, whether every ancestor
    of the current snapshot is known. ``newest``: the snapshot that the checkpoint's run committed; None without a
    checkpoint, or if the snapshot is unknown.
    """

    checkpoint: Checkpoint | None
    unproven: Checkpoint | None = None
    partial: bool = False
    half_published: Snapshot | None = None
    has_whole_history: bool = False
    newest: Snapshot | None = field(default=None, compare=False)


def checkpoint_state(target: History, older: Iterable[History] = ()) -> CheckpointState:
    """The checkpoint that matches the target's current rows.

    Follows the ancestors of the current snapshot to the first one with a checkpoint in its summary. The property counts
    only if the snapshot at which it was written is among these ancestors. The one with the higher epoch is used, and
    the summary if both are equal. If a parent has expired, ``older`` histories (newest first, read only as needed)
    complete the ancestors.
    """
    mirrored = mirrored_by(target)
    older, again = tee(older)
    walk = list(_to_checkpoint(target, older))
    half = _half_published(walk, None if mirrored is None else mirrored.target_snapshot_id)
    last = walk[-1] if walk else None
    if last is not None and PARTIAL_BUILD_KEY in last.summary:
        return CheckpointState(None, partial=True, half_published=half)
    found = None if last is None else carried_by(last, target.table)
    proven: set[int | None] = {snapshot.snapshot_id for snapshot in walk}
    if target.current_snapshot_id is None:
        proven = {None}
    newest_epoch = 0 if found is None else found.epoch
    of_property = mirrored
    if mirrored is not None and mirrored.target_snapshot_id not in proven and mirrored.epoch > newest_epoch:
        of_property = _property_at(target, again, proven)
    if of_property is not None and of_property.target_snapshot_id in proven and of_property.epoch > newest_epoch:
        newest = next((each for each in walk if each.snapshot_id == of_property.target_snapshot_id), None)
        return CheckpointState(of_property, half_published=half, newest=newest)
    if found is not None:
        return CheckpointState(found, half_published=half, newest=last)
    is_whole = last is None or is_first(last)
    return CheckpointState(None, unproven=mirrored, half_published=half, has_whole_history=is_whole)


def _property_at(target: History, older: Iterable[History], snapshot_ids: Collection[int | None]) -> Checkpoint | None:
    """The newest earlier checkpoint in the table property that was written at one of these snapshots. None if none."""
    for history in older:
        with suppress(UnreadableCheckpoint):
            found = mirrored_by(history) if history.table_uuid == target.table_uuid else None
            if found is not None and found.target_snapshot_id in snapshot_ids:
                return found
    return None


def is_as_written(target: History) -> bool:
    """Whether only runs of this package have changed the table's rows, as far as its snapshots show.

    Commits of other writers may have left groups that no run has computed since. Later runs record such commits.
    """
    of_runs = False
    for each in target.ancestors(target.current_snapshot_id):
        try:
            found = carried_by(each, target.table)
        except UnreadableCheckpoint:  # an older checkpoint of another release; the current one is readable
            return False
        if found is not None and found.logic is not None and found.logic.others is not None:
            return not found.logic.others  # older snapshots may have expired, or all rows may have been replaced since
        if found is None and PART_KEY not in each.summary and effect(each) is not Effect.NONE:
            return False
        of_runs = of_runs or found is not None or PART_KEY in each.summary
    return of_runs


def _to_checkpoint(target: History, older: Iterable[History]) -> Iterator[Snapshot]:
    """The target's ancestors, newest first, up to the first one with a checkpoint or a partial build."""
    for snapshot in ancestry(target, older):
        yield snapshot
        if KEY in snapshot.summary or PARTIAL_BUILD_KEY in snapshot.summary:
            return


def _half_published(walk: Iterable[Snapshot], looked_at: int | None) -> Snapshot | None:
    """The newest commit that is only a part of a run.

    A run publishes all of its commits at once, the last one with its checkpoint. If a position was set by hand later,
    at the snapshot ``looked_at``, the user has accepted the rows.
    """
    for snapshot in walk:
        if KEY in snapshot.summary or snapshot.snapshot_id == looked_at:
            return None
        if PART_KEY in snapshot.summary:
            return snapshot
    return None


def ancestry(target: History, older: Iterable[History]) -> Iterator[Snapshot]:
    """The target's ancestors, newest first, completed from older metadata if snapshots have expired.

    A cherry-picked snapshot is followed by the snapshot that it names as its source, if that one has a checkpoint.
    """
    remaining = iter(older)
    known: dict[int, Snapshot] = dict(target.snapshots)
    wanted = target.current_snapshot_id
    seen: set[int] = set()
    while wanted is not None and wanted not in seen:
        while wanted not in known:
            history = next(remaining, None)
            if history is None:
                return
            if target.table_uuid is None or history.table_uuid == target.table_uuid:
                known = {**history.snapshots, **known}
        snapshot = known[wanted]
        seen.add(wanted)
        yield snapshot
        picked = known.get(snapshot.number("source-snapshot-id") or 0)
        if picked is not None and picked.snapshot_id not in seen and KEY in picked.summary:
            base, whole = known.get(snapshot.parent_id or 0), replace(target, snapshots=known)
            is_known = base is not None and whole.commits_since(picked.parent_id, base) is not None
            if snapshot.parent_id != picked.parent_id and not is_known:
                return  # the rows on which it was built are not in this table, so no checkpoint is proven
            yield picked
        wanted = snapshot.parent_id

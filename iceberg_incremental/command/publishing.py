"""The subcommands ``commit`` and ``abort``: publish a run if all conditions are met, or drop it.

The job stages the rows itself. If another writer moves main, they cannot be staged again, unlike in PySpark and dbt
runs. A run is therefore refused if main has a new commit since the capture. A rebuild is refused only if main has other
rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..capture.run_plan import Action, RunPlan
from ..capture.target_checkpoint import target_checkpoint
from ..explain import job_errors, race_errors, rebuild_reasons, source_errors
from ..plan.breaks import Break
from ..plan.changes import plan_changes
from ..plan.policy import Cause, Policy
from ..plan.recovery import completed
from ..publish.commit_conflicts import attempts
from ..publish.fence import Fence
from ..table.checkpoint import KEY, Checkpoint
from ..table.commits import Effect, effect, same_rows
from ..table.history import MAIN, History, Snapshot, TableName
from ..table.own_names import is_dead
from .job_catalogs import JobCatalogs
from .run_file import CapturedRun
from .target_commits import Expected, TargetMovedError


@dataclass(frozen=True)
class Committed:
    """The result of a commit.

    ``snapshot_id``: the new snapshot of the target; None if only the checkpoint moved. ``already``: whether an earlier
    call has committed the run.
    """

    checkpoint: Checkpoint
    snapshot_id: int | None
    already: bool = False


def commit(catalogs: JobCatalogs, run: CapturedRun, *, no_rows: bool = False) -> Committed | None:
    """Publish a run at most once. None if it has nothing to commit.

    Raises ConcurrentRunError if another run or writer committed first; StagingError if the branch is not the one that
    the capture created, or if its commits contradict ``no_rows``; OutOfSyncError if the target's columns have changed;
    and HistoryBreakError if a source was rolled back or replaced since the capture. In these cases, nothing is
    published. ``no_rows``: whether the job has no rows to write.
    """
    if run.checkpoint is None:
        return None
    fence = Fence(catalogs.reader)
    plan = _plan(run)
    for is_last in attempts():
        target = fence.loaded(plan)
        if target.table_uuid != run.table_uuid:
            raise job_errors.target_replaced(run.target, run.name)
        done = _committed_before(catalogs, run.checkpoint, target)
        if done is not None:
            return done
        _require_captured(fence, plan, run, target, no_rows=no_rows)
        _require_sources(catalogs, run, run.checkpoint)
        try:
            return _publish(catalogs, run, run.checkpoint, target, no_rows=no_rows)
        except TargetMovedError as error:
            if is_last:
                raise race_errors.target_moved(target, run.name) from error
    raise AssertionError("every attempt returns or raises")


def abort(catalogs: JobCatalogs, run: CapturedRun) -> bool:
    """Drop the branch of a run. False if there is none, for example because the run was already committed.

    Raises ConcurrentRunError if other writers commit during each attempt.
    """
    target = catalogs.reader.load(run.target)
    if run.branch is None or target is None or target.table_uuid != run.table_uuid or run.branch not in target.refs:
        return False
    try:
        catalogs.commits(target).drop_branch(run.branch, Expected(run.table_uuid, {}))
    except TargetMovedError as error:
        raise race_errors.target_moved(target, run.name) from error
    return True


def _plan(run: CapturedRun) -> RunPlan:
    """The part of a captured run's plan that the fence needs."""
    epoch = 0 if run.checkpoint is None else run.checkpoint.epoch - 1
    invocation = "" if run.checkpoint is None else run.checkpoint.invocation_id
    reason = rebuild_reasons.FIRST_BUILD
    return RunPlan(run.name, run.target, Policy(), invocation, None, run.captured_from, reason, last_epoch=epoch)


def _committed_before(catalogs: JobCatalogs, checkpoint: Checkpoint, target: History) -> Committed | None:
    """The result of an earlier successful call with this checkpoint. None if there was none."""
    text = checkpoint.to_json()
    for snapshot in target.ancestors(target.current_snapshot_id):
        if snapshot.summary.get(KEY) == text:
            return Committed(checkpoint, snapshot.snapshot_id, already=True)
    current = target_checkpoint(target, catalogs.reader).checkpoint
    if current is not None and current.mirrored(None).to_json() == text:
        return Committed(checkpoint, None, already=True)
    return None


def _require_captured(fence: Fence, plan: RunPlan, run: CapturedRun, target: History, *, no_rows: bool) -> None:
    """Raise an error unless the target is unchanged since the capture, except for the job's commits on its branch."""
    if run.captured_from is not None:
        fence.require_captured_checkpoint(plan, target, target.current_snapshot_id)
    if run.branch is not None and run.branch not in target.refs:
        raise race_errors.branch_dropped(target, run.name)
    if run.captured_from is None:
        is_unchanged = same_rows(target, run.head, target.current_snapshot_id)
    else:
        is_unchanged = target.current_snapshot_id == run.head
    if not is_unchanged and not no_rows and run.branch is not None and target.refs[run.branch] == run.branch_from:
        raise job_errors.written_elsewhere(target, run.name, run.branch, run.head)
    if not is_unchanged:
        raise job_errors.main_moved(target, run.name, run.head)


def _require_sources(catalogs: JobCatalogs, run: CapturedRun, checkpoint: Checkpoint) -> None:
    """Raise an error if a source no longer has the rows that the run read, because it was rolled back or replaced."""
    for name, position in checkpoint.sources.items():
        table = TableName.parse(name)
        if table is None or position.as_of:
            continue
        history = catalogs.reader.load(table)
        if history is None:
            raise source_errors.source_missing(table, run.name)
        found = plan_changes(history, position, history.current, ignore_rewrites=True)
        if isinstance(found, Break) and found.cause is Cause.EXPIRED:
            known = completed(found, catalogs.reader.older(history))
            found = plan_changes(known, position, history.current, ignore_rewrites=True)
        if isinstance(found, Break) and found.cause is not Cause.EXPIRED:
            raise source_errors.refused(found, table, run.name, Policy())


def _publish(
    catalogs: JobCatalogs, run: CapturedRun, checkpoint: Checkpoint, target: History, *, no_rows: bool
) -> Committed:
    """Commit once. Raises TargetMovedError if the target has changed in the meantime."""
    commits, main = catalogs.commits(target), target.current_snapshot_id
    dead = [name for name in target.refs if is_dead(name, checkpoint.epoch)]
    refs = {MAIN: main, **({} if run.branch is None else {run.branch: target.refs[run.branch]})}
    if run.branch is None:
        commits.advance(checkpoint, dead, Expected(run.table_uuid, refs))
        return Committed(checkpoint, None)
    head = _staged(run, target, run.branch, no_rows=no_rows)
    if no_rows and run.action is Action.APPLY:
        commits.advance(checkpoint, dead, Expected(run.table_uuid, refs))
        return Committed(checkpoint, None)
    expected = Expected(run.table_uuid, refs, run.schema_id if run.keeps_columns else None)
    if expected.schema_id not in (None, commits.schema_id()):
        raise job_errors.columns_changed(run.target, run.name)
    return Committed(checkpoint, commits.publish(head, checkpoint, dead, expected))


def _staged(run: CapturedRun, target: History, branch: str, *, no_rows: bool) -> Snapshot:
    """The newest commit of the run's branch. Raises StagingError if the branch is not in the expected state."""
    head = target.snapshots[target.refs[branch]]
    commits = target.commits_since(run.branch_from, head)
    if commits is None:
        raise job_errors.not_from_capture(target, run.name, branch)
    if no_rows and any(effect(each) is not Effect.NONE for each in commits):
        raise job_errors.rows_staged(target, run.name, branch)
    if not commits and not no_rows:
        raise job_errors.nothing_staged(target, run.name, branch)
    return head

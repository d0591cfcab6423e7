"""Opening the run of a model: finding its checkpoint, and deciding whether its table is continued or rebuilt."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace

from ..errors import CheckpointError, IncrementalError, NotIcebergError, ViewError
from ..explain import (
    clone_errors,
    history_errors,
    model_errors,
    race_errors,
    rebuild_reasons,
    sequence_errors,
    target_errors,
    window_errors,
)
from ..metadata import MetadataReader
from ..plan.conditional_reads import ConditionalReads
from ..plan.event_window import EventWindow
from ..plan.policy import OnBreak, OnSqlChange, Policy
from ..table.checkpoint import Checkpoint, Position
from ..table.checkpoint_state import CheckpointState
from ..table.clone import clone_of, in_clones, may_remove_files
from ..table.commits import Effect, effect
from ..table.history import History, Snapshot, TableName
from ..table.retention import older_metadata_files
from .cuts import Cuts
from .logic_change import Logic, logic_change
from .run_plan import RunPlan, is_changelog, is_only_pinned, sequence_of
from .source_policy import calls_for_rebuild
from .target_checkpoint import last_epoch, target_checkpoint
from .versions_run import require_same_history

_NO_READS = ConditionalReads()


def open_run(
    reader: MetadataReader,
    cuts: Cuts,
    *,
    model: str,
    target: TableName,
    policy: Policy,
    invocation_id: str,
    full_refresh: bool,
    parents: Collection[TableName] | None = None,
    sources: Collection[TableName] = (),
    window: EventWindow | None = None,
    event_times: Mapping[TableName, str] | None = None,
    reads: ConditionalReads = _NO_READS,
    logic: Logic | None = None,
    drops_history: bool = False,
) -> RunPlan:
    """Open the run of a model: find its checkpoint, and decide whether its table is continued or rebuilt.

    ``parents``: the tables that the model's SQL refers to, if known. ``sources``: the tables that it may read,
    including those behind views. In a clone, some of them may also be clones. ``window``: the event-time window to
    process again. ``event_times``: the event-time columns of the parents. ``reads``: the tables whose changes the
    model's code may read. ``logic``: the logic that determines the rows. ``drops_history``: whether a rebuild of a
    history table may drop its versions.

    Raises ConfigError if the run cannot process the window, if the table was built with another ``sequence_by`` or
    ``unique_key``, if the logic has changed and the policy is to fail, or if the table is a clone that may remove files
    of its origin. Raises CheckpointError if the table has no current checkpoint and the policy is to fail, or if a
    policy requires a rebuild that is not allowed. Raises StagingError if the table contains only a part of a run, and
    the errors of the reader.
    """
    if window is not None and (full_refresh or not policy.strategy.may_reprocess):
        raise window_errors.no_window(model, policy, full_refresh=full_refresh)
    first = RunPlan(
        model,
        target,
        policy,
        invocation_id,
        None,
        None,
        rebuild_reasons.FIRST_BUILD,
        last_epoch=0,
        event_times=event_times or {},
        reads=reads,
        logic=logic,
    )
    try:
        history = reader.load(target)
    except ViewError:
        return replace(first, reason=rebuild_reasons.REPLACED_BY_A_VIEW)
    except NotIcebergError as error:
        return replace(first, reason=f"first build: {error}")
    if history is None:
        return first
    clone = clone_of(history)
    if clone is not None and may_remove_files(history):
        raise clone_errors.removes_files(target, clone.origin)
    if full_refresh:
        epoch = last_epoch(history, reader)
        run = replace(first, target=history, reason=rebuild_reasons.FULL_REFRESH, last_epoch=epoch)
    else:
        run = _following(
            replace(first, target=history), history, target_checkpoint(history, reader), cuts, parents, sources
        )
    if run.is_rebuild and not drops_history:
        run = _keeping(run, history, reader, cuts, parents)
    elif not run.is_rebuild:
        require_same_history(run, run.checkpoint, compares=False)
    return run if window is None or run.is_rebuild else replace(run, window=window)


def _following(
    run: RunPlan,
    history: History,
    found: CheckpointState,
    cuts: Cuts,
    parents: Collection[TableName] | None,
    sources: Collection[TableName],
) -> RunPlan:
    """The run for the state of the table: it continues from the checkpoint, or a policy rebuilds the table."""
    if found.half_published is not None:
        raise race_errors.half_published(history, run.model, found.half_published)
    if found.partial:
        return replace(run, reason=rebuild_reasons.PARTIAL_BUILD)
    run, found = _without_snapshots(run, found)
    if found.checkpoint is None:
        if run.policy.on_missing_checkpoint is OnBreak.FULL_REFRESH:
            return _rebuilt_by_policy(run, f"{run.name} has no current checkpoint.")
        raise target_errors.missing_checkpoint(run.name, run.model, found, older_metadata_files(history.properties))
    if found.checkpoint.model != run.model:
        raise target_errors.other_model(run.name, run.model, found.checkpoint)
    checkpoint = _by_present_names(found.checkpoint, history, cuts, sources)
    run = replace(run, last_epoch=checkpoint.epoch)
    change = None if run.logic is None else logic_change(run.logic, checkpoint, history)
    if change is None or run.policy.on_sql_change is not OnSqlChange.FAIL:
        reason = _calls_for_rebuild(checkpoint, cuts, run.policy, parents, run.reads)
        if reason is None and change is not None and run.policy.on_sql_change is OnSqlChange.FULL_REFRESH:
            reason = f"its logic has changed since run {change.after}."
        if reason is not None:
            return _rebuilt_by_policy(run, reason)
    require_same_order(run, checkpoint)
    if change is not None and run.policy.on_sql_change is OnSqlChange.FAIL:
        raise model_errors.logic_changed(run.name, run.model, change.after, change.differences, is_new=change.is_new)
    altered = _altered(history.fields, found.newest)
    left = _is_as_left(history, found.newest)
    return replace(run, checkpoint=checkpoint, logic_change=change, altered=altered, is_as_left=left, reason="")


def _is_as_left(history: History, newest: Snapshot | None) -> bool:
    """``RunPlan.is_as_left`` of a table whose newest run has committed a snapshot."""
    current = history.current
    commits = None if newest is None or current is None else history.commits_since(newest.snapshot_id, current)
    return all(effect(each) is Effect.NONE for each in commits or ())


def _altered(present: Mapping[str, int], written: Snapshot | None) -> tuple[str, ...] | None:
    """``RunPlan.altered`` of a table with these ``present`` columns, whose newest run has ``written`` a snapshot."""
    if written is None or not written.fields:
        return () if written is not None and written.has_other_names else None
    paths = dict.fromkeys((*present, *written.fields))
    return tuple(path for path in paths if written.fields.get(path) != present.get(path)) or None


def _by_present_names(
    checkpoint: Checkpoint, history: History, cuts: Cuts, sources: Collection[TableName]
) -> Checkpoint:
    """The table's checkpoint. If the table is a clone, cloned sources have the names of their clones."""
    if clone_of(history) is None:
        return checkpoint
    found = {}
    for table in sources:
        with suppress(IncrementalError):  # the macro that reads this source reports the error
            cut = cuts.of(table)
            if cut is not None:
                found[table] = cut.history
    return in_clones(checkpoint, found)


def _without_snapshots(run: RunPlan, found: CheckpointState) -> tuple[RunPlan, CheckpointState]:
    """The run and the state without the checkpoint of a dbt snapshot, if the model is a history.

    A history continues the table of a dbt snapshot like a table without a checkpoint.
    """
    known = found.checkpoint
    if known is None or run.policy.history is None or not known.model.startswith("snapshot."):
        return run, found
    return replace(run, last_epoch=known.epoch), replace(found, checkpoint=None)


def _keeping(
    run: RunPlan, history: History, reader: MetadataReader, cuts: Cuts, parents: Collection[TableName] | None
) -> RunPlan:
    """The rebuild of a table. A history keeps all of its existing versions.

    Raises ConfigError if the table is a history and the model is not, or has other configs. Raises CheckpointError if
    the versions come from a log that may no longer have all of their events.
    """
    try:
        found = target_checkpoint(history, reader)
    except CheckpointError:
        if run.policy.history is None:
            return run
        raise
    if run.policy.history is None:
        require_same_history(run, found.checkpoint, compares=True)
        return run
    if found.half_published is not None:
        raise race_errors.half_published(history, run.model, found.half_published)
    if found.partial or history.current_snapshot_id is None:
        return run
    if run.policy.history.is_from_log:
        require_whole_log(run, found.checkpoint, cuts, parents)
        return replace(run, replays=True)
    require_same_history(run, found.checkpoint, compares=True)
    return replace(run, keeps_versions=True, replaced=found.checkpoint)


def require_same_order(run: RunPlan, checkpoint: Checkpoint) -> None:
    """Raise ConfigError if the table was built with another ``sequence_by`` or ``unique_key``."""
    wanted, kept = sequence_of(run.policy, None), checkpoint.sequence
    if wanted is None or run.policy.history is not None:  # a history records its own order
        return
    if kept is None or kept.by != wanted.by:
        raise sequence_errors.other_sequence(run.name, run.model, wanted.by, () if kept is None else kept.by)
    if kept.key and kept.key != wanted.key:
        raise sequence_errors.other_key(run.name, run.model, wanted.key, kept.key)


def _rebuilt_by_policy(run: RunPlan, reason: str) -> RunPlan:
    if not run.policy.may_rebuild:
        raise target_errors.must_not_rebuild(run.model, reason)
    return replace(run, reason=reason, by_policy=True)


def _calls_for_rebuild(
    checkpoint: Checkpoint,
    cuts: Cuts,
    policy: Policy,
    parents: Collection[TableName] | None,
    reads: ConditionalReads,
) -> str | None:
    """Why a policy requires a rebuild of the model, given the sources that it has read. None if no policy does.

    This is decided before the first range is rendered into the model's SQL, because one source rebuilds the whole
    table. Sources that the SQL no longer refers to are skipped: they may not be built yet in this invocation, and
    taking their cut now would hide their new rows from other readers.
    """
    for name, position in checkpoint.sources.items():
        table = TableName.parse(name)
        if table is None or (parents is not None and table not in parents) or is_only_pinned(position, table, reads):
            continue
        try:
            cut = cuts.of(table)
        except IncrementalError:
            continue  # if the SQL still reads this source, the macro reports the error
        if cut is None:
            continue
        refusal = calls_for_rebuild(cuts, cut, position, policy, changelog=is_changelog(position, table, reads))
        if refusal is not None:
            return rebuild_reasons.of_source(name, refusal)
    return None


def require_whole_log(
    run: RunPlan, checkpoint: Checkpoint | None, cuts: Cuts, parents: Collection[TableName] | None
) -> None:
    """Raise CheckpointError if a rebuild of a history would lose versions, because its log may be incomplete.

    ``checkpoint``: the current checkpoint of the table. ``parents``: the tables that the model's SQL refers to, if
    known.
    """
    if checkpoint is None:
        found: str | None = "no checkpoint that records what was read"
    elif checkpoint.history is None or checkpoint.sequence is None:
        found = "versions that were not created from a log"
    elif not checkpoint.history.has_whole_log:
        found = "a run that may have skipped commits of the log, or a position that was set by hand"
    else:
        reasons = (
            _why_incomplete(name, position, cuts, parents)
            for name, position in checkpoint.sources.items()
            if not position.as_of
        )
        found = next((reason for reason in reasons if reason is not None), None)
    if found is not None:
        of_log = checkpoint is not None and checkpoint.history is not None and checkpoint.sequence is not None
        raise history_errors.log_incomplete(run.name, run.model, found, can_continue=of_log)


def _why_incomplete(name: str, position: Position, cuts: Cuts, parents: Collection[TableName] | None) -> str | None:
    """Why a log may no longer have all events that it had at a position, as text. None if it has them all."""
    table = TableName.parse(name)
    if table is None or (parents is not None and table not in parents):
        return f"{name} is not read any more"
    if position.snapshot_id is None:  # the log was empty
        return None
    cut = cuts.of(table)
    if cut is None or cut.end is None:
        return f"{name} has no rows"
    if cut.history.table_uuid != position.table_uuid:
        return f"{name} is another table than the one that was read"
    commits = cut.history.commits_since(position.snapshot_id, cut.end)
    if commits is None:
        return f"{name} does not come from snapshot {position.snapshot_id}, up to which it was read"
    changed = [commit.snapshot_id for commit in commits if effect(commit) is Effect.REWRITE]
    return f"snapshot {changed[0]} of {name} changed or deleted rows" if changed else None

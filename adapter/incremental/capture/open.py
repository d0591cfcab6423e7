"""Opening the run of a model: its checkpoint, and whether its table is continued or built as a whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ..errors import CheckpointError, IncrementalError, NotIcebergError, ViewError
from ..explain import source_errors, staging_errors, target_errors, window_errors
from ..metadata import MetadataReader
from ..plan.event_window import EventWindow
from ..plan.policy import OnBreak, Policy
from ..project.conditional_reads import ConditionalReads
from ..table.checkpoint import Checkpoint
from ..table.history import History, TableName
from .cuts import Cuts
from .outcome import calls_for_rebuild
from .run import ModelRun, is_changelog, is_only_pinned
from .standing import standing_of

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
    window: EventWindow | None = None,
    event_times: Mapping[TableName, str] | None = None,
    reads: ConditionalReads = _NO_READS,
) -> ModelRun:
    """Begin the run of a model: find its checkpoint, and decide whether its table is built anew or continued.

    ``parents``: the tables that the model's SQL refers to, where that is known. ``window``: what to process again;
    ``event_times``: the columns of the parents by which it is told. ``reads``: what the model's SQL, as it is written,
    may read the changes of.

    Raises ConfigError where a window is given that the run cannot process again, CheckpointError where the table exists
    without a checkpoint in force and the policy is to fail, or where a policy asks for a rebuild of a model that must
    not be rebuilt; StagingError where it holds a part of a run only; and as the reader does.
    """

    def rebuild(reason: str, history: History | None = None, last_epoch: int = 0) -> ModelRun:
        return ModelRun(model, target, policy, invocation_id, history, None, reason, last_epoch, reads=reads)

    def rebuild_by_policy(reason: str, last_epoch: int = 0) -> ModelRun:
        if not policy.may_rebuild:
            raise target_errors.must_not_rebuild(model, reason)
        return replace(rebuild(reason, history, last_epoch), by_policy=True)

    if window is not None and (full_refresh or not policy.strategy.may_reprocess):
        raise window_errors.no_window(model, policy, full_refresh=full_refresh)
    try:
        history = reader.load(target)
    except ViewError:
        return rebuild("a view is in the place of its table, as dbt clone makes it; the table replaces it")
    except NotIcebergError as error:
        return rebuild(f"first build: {error}")
    if history is None:
        return rebuild("first build")
    if full_refresh:
        return rebuild("full refresh", history, _last_epoch(history, reader))
    found = standing_of(history, reader)
    if found.half_published is not None:
        raise staging_errors.half_published(history, model, found.half_published)
    if found.partial:
        return rebuild("first build: the table was built under --empty or --sample", history)
    if found.checkpoint is None:
        if policy.on_missing_checkpoint is OnBreak.FULL_REFRESH:
            return rebuild_by_policy(f"{target} has no checkpoint in force.")
        raise target_errors.missing_checkpoint(target, model, found.unproven)
    if found.checkpoint.model != model:
        raise target_errors.other_model(target, model, found.checkpoint)
    reason = _calls_for_rebuild(found.checkpoint, cuts, policy, parents, reads)
    if reason is not None:
        return rebuild_by_policy(reason, found.checkpoint.epoch)
    run = ModelRun(
        model, target, policy, invocation_id, history, found.checkpoint, "", found.checkpoint.epoch, reads=reads
    )
    return run if window is None else replace(run, window=window, event_times=event_times or {})


def _last_epoch(history: History, reader: MetadataReader) -> int:
    """The epoch of the table's checkpoint, 0 where there is none; one that cannot be read does not stop a rebuild."""
    try:
        checkpoint = standing_of(history, reader).checkpoint
    except CheckpointError:
        return 0
    return 0 if checkpoint is None else checkpoint.epoch


def _calls_for_rebuild(
    checkpoint: Checkpoint,
    cuts: Cuts,
    policy: Policy,
    parents: Collection[TableName] | None,
    reads: ConditionalReads,
) -> str | None:
    """Why a policy has the model rebuilt, by the sources that it read so far; None where none does.

    This is decided before the first range is written into the model's SQL, because one source rebuilds them all. What
    the SQL no longer refers to is passed over: it may not be built yet in this invocation, and taking its cut now would
    keep its new rows from its other readers.
    """
    for name, position in checkpoint.sources.items():
        table = TableName.parse(name)
        if table is None or (parents is not None and table not in parents) or is_only_pinned(position, table, reads):
            continue
        try:
            cut = cuts.of(table)
        except IncrementalError:
            continue  # the macro that reads this source, if the SQL still does, says what is wrong
        if cut is None:
            continue
        refusal = calls_for_rebuild(cuts, cut, position, policy, changelog=is_changelog(position, table, reads))
        if refusal is not None:
            return source_errors.reason(name, refusal)
    return None

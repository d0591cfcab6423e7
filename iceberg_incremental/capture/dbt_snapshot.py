"""Opening the run of a dbt snapshot: it continues from the checkpoint of its table, or compares whole tables.

Only what its own runs have written may be continued: the rows of its table that have not changed since are then known
to equal those of the query that have not changed either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import IncrementalError
from ..explain import rebuild_reasons, snapshot_reasons, source_errors, staging_errors
from ..metadata import MetadataReader
from ..plan.breaks import Break
from ..plan.policy import Policy, Strategy
from ..plan.ranges import Range
from ..table.checkpoint import KEY, Checkpoint
from ..table.commits import same_rows
from ..table.history import History, Snapshot, TableName
from .cuts import Cuts
from .logic_change import Logic
from .reads import changes_of, has_same_columns
from .run_plan import RunPlan
from .target_checkpoint import target_checkpoint


def open_snapshot(
    reader: MetadataReader,
    cuts: Cuts,
    *,
    model: str,
    target: TableName,
    unique_key: Sequence[str],
    invocation_id: str,
    source: TableName,
    logic: Logic,
) -> RunPlan:
    """Plan the run of a snapshot of one table.

    ``model``: its unique id. ``logic``: its SQL and everything else that decides its rows. The plan ``reads_all`` where
    whole tables are to be compared, for its ``reason``; it has no target where there is no table yet.

    Raises StagingError where the table holds a part of a run only; SourceMissingError; CheckpointError for a checkpoint
    that cannot be read; and as the reader does.
    """
    policy = Policy(strategy=Strategy.AUTO, unique_key=tuple(unique_key))
    plan = RunPlan(model, target, policy, invocation_id, None, None, "", last_epoch=0, logic=logic)
    history = reader.load(target)
    if history is None:
        return compared_whole(plan, cuts, source, rebuild_reasons.FIRST_BUILD)
    found = target_checkpoint(history, reader)
    if found.half_published is not None:
        raise staging_errors.half_published(history, model, found.half_published)
    newest = found.checkpoint or found.unproven
    plan = replace(plan, target=history, last_epoch=0 if newest is None else newest.epoch)
    if found.checkpoint is None:
        return compared_whole(plan, cuts, source, snapshot_reasons.FIRST_RUN)
    plan = replace(plan, checkpoint=found.checkpoint)
    reason = _of_table(plan, found.checkpoint, history, reader, source)
    if reason:
        return compared_whole(plan, cuts, source, reason)
    return _continued(plan, cuts, source)


def pending_snapshot(
    reader: MetadataReader, cuts: Cuts, *, model: str, target: TableName
) -> tuple[RunPlan, TableName] | None:
    """The plan of a snapshot's next run, by metadata alone, and the table that it reads.

    The plan ``reads_all`` where whole tables will be compared, as far as metadata tell; its SQL may have changed, too.
    None where no run has left a checkpoint. Raises as ``open_snapshot`` does.
    """
    history = reader.load(target)
    found = None if history is None else target_checkpoint(history, reader)
    checkpoint = None if found is None else found.checkpoint
    if history is None or found is None or checkpoint is None or checkpoint.model != model:
        return None
    if found.half_published is not None:
        raise staging_errors.half_published(history, model, found.half_published)
    (name,) = checkpoint.sources
    source = TableName.parse(name)
    assert source is not None
    policy = Policy(strategy=Strategy.AUTO)
    plan = RunPlan(model, target, policy, "", history, checkpoint, "", last_epoch=checkpoint.epoch)
    reason = _since(history, reader)
    return (compared_whole(plan, cuts, source, reason) if reason else _continued(plan, cuts, source)), source


def is_as_committed(cuts: Cuts, source: TableName) -> bool:
    """Whether a source has the columns that it had when the snapshot was committed up to which it is read.

    dbt reads a table by its present columns. Raises as the reader does.
    """
    cut = cuts.of(source)
    if cut is None or cut.end is None:
        return True
    return cuts.changed_files(cut.history, cut.end.snapshot_id, cut.end.snapshot_id).has_present_columns


def has_same_rows(plan: RunPlan, now: History) -> bool:
    """Whether a snapshot's table has the rows that it had when its run was planned; compactions change none."""
    assert plan.target is not None
    return same_rows(now, plan.target.current_snapshot_id, now.current_snapshot_id)


def _continued(plan: RunPlan, cuts: Cuts, source: TableName) -> RunPlan:
    """The plan with the changes of its source since the checkpoint; of whole tables where these cannot be read."""
    found = changes_of(plan, cuts, source, changelog=True)
    if not isinstance(found, Range):
        if isinstance(found, Break):
            return compared_whole(plan, cuts, source, rebuild_reasons.of_source(str(source), found).rstrip("."))
        error = source_errors.refused(found, source, plan.model, plan.policy, changelog=True)
        return compared_whole(plan, cuts, source, error.msg.splitlines()[0].rstrip("."))
    cut = cuts.of(source)
    assert cut is not None
    if not has_same_columns(cuts, cut, found):
        return compared_whole(plan, cuts, source, snapshot_reasons.SOURCE_ALTERED)
    return replace(plan, changelogs={source: found})


def compared_whole(plan: RunPlan, cuts: Cuts, source: TableName, reason: str) -> RunPlan:
    """The plan of a run that compares whole tables, at the invocation's cut. Raises as ``open_snapshot`` does."""
    found = changes_of(replace(plan, checkpoint=None), cuts, source, changelog=True)
    assert isinstance(found, Range)
    return replace(plan, changelogs={source: found}, reads_all=True, reason=reason)


def _of_table(
    plan: RunPlan, checkpoint: Checkpoint, history: History, reader: MetadataReader, source: TableName
) -> str:
    """Why the table cannot be continued from its checkpoint; empty where it can."""
    recorded = checkpoint.logic
    if checkpoint.model != plan.model:
        return snapshot_reasons.OTHER_MODEL
    if recorded is None or plan.logic is None or recorded.fingerprint != plan.logic.fingerprint:
        return snapshot_reasons.OTHER_LOGIC
    if checkpoint.sources.keys() != {str(source)}:
        return snapshot_reasons.OTHER_SOURCE
    return _since(history, reader)


def _since(history: History, reader: MetadataReader) -> str:
    """Why the table, as others have left it since its last run, cannot be continued; empty where it can."""
    # Not the head at which a later checkpoint was written as a property: another writer may have come before that.
    base = next((each for each in history.ancestors(history.current_snapshot_id) if KEY in each.summary), None)
    if base is None or not same_rows(history, base.snapshot_id, history.current_snapshot_id):
        return snapshot_reasons.TABLE_CHANGED
    return "" if _has_same_columns(reader, history, base) else snapshot_reasons.TABLE_ALTERED


def _has_same_columns(reader: MetadataReader, history: History, base: Snapshot) -> bool:
    """Whether the table has the columns that it had at one of its snapshots, by their ids."""
    assert history.current_snapshot_id is not None
    try:
        changed = reader.changed_files(history, base.snapshot_id, history.current_snapshot_id)
    except (IncrementalError, KeyError):
        return False  # a reader that does not know the columns, or an expired snapshot
    return changed.start == changed.end and changed.has_present_columns

"""Opening the run of a dbt snapshot, which continues from the checkpoint of its table or compares whole tables.

A run continues only from the result of an earlier run. In that state, unchanged rows of the table equal unchanged rows
of the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import IncrementalError
from ..explain import race_errors, rebuild_reasons, source_errors
from ..metadata import MetadataReader
from ..plan.breaks import Break
from ..plan.policy import Policy, Strategy
from ..plan.ranges import Range
from ..table.checkpoint import KEY, Checkpoint
from ..table.commits import same_rows
from ..table.history import History, Snapshot, TableName
from .cuts import Cuts
from .logic_change import Logic
from .next_run import changed_view, is_view
from .reads import changes_of, has_same_columns
from .run_plan import Read, RunPlan
from .target_checkpoint import target_checkpoint

CODE = "code"
"""The name of a snapshot's code among the definitions in its checkpoint. The other names are those of views."""


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
    """Plan the run of a dbt snapshot that reads one table.

    ``model``: the unique id. ``logic``: the SQL and everything else that determines the rows. In the returned plan,
    ``reads_all`` is true if whole tables are compared, and ``reason`` states why. The plan has no target if the table
    does not exist yet.

    Raises StagingError if the table contains only a part of a run, SourceMissingError, CheckpointError for a checkpoint
    that cannot be read, and the errors of the reader.
    """
    policy = Policy(strategy=Strategy.AUTO, unique_key=tuple(unique_key))
    plan = RunPlan(model, target, policy, invocation_id, None, None, "", last_epoch=0, logic=logic)
    history = reader.load(target)
    if history is None:
        return compared_whole(plan, cuts, source, rebuild_reasons.FIRST_BUILD)
    found = target_checkpoint(history, reader)
    if found.half_published is not None:
        raise race_errors.half_published(history, model, found.half_published)
    newest = found.checkpoint or found.unproven
    plan = replace(plan, target=history, last_epoch=0 if newest is None else newest.epoch)
    if found.checkpoint is None:
        return compared_whole(plan, cuts, source, rebuild_reasons.FIRST_RUN)
    plan = replace(plan, checkpoint=found.checkpoint)
    reason = _of_table(plan, found.checkpoint, history, reader, source)
    if reason:
        return compared_whole(plan, cuts, source, reason)
    return _continued(plan, cuts, source)


def pending_snapshot(reader: MetadataReader, cuts: Cuts, *, model: str, target: TableName, code: str) -> RunPlan | None:
    """The plan of a dbt snapshot's next run, from metadata alone.

    ``code``: a digest of its code and config. ``reads_all`` is true if whole tables will be compared, as far as this
    digest and the metadata show it. The plan captures nothing if the table that the last run read is now a view. None
    if the table has no checkpoint of this model. Raises the errors of ``open_snapshot``.
    """
    history = reader.load(target)
    found = None if history is None else target_checkpoint(history, reader)
    checkpoint = None if found is None else found.checkpoint
    if history is None or found is None or checkpoint is None or checkpoint.model != model:
        return None
    if found.half_published is not None:
        raise race_errors.half_published(history, model, found.half_published)
    (name,) = checkpoint.sources
    source = TableName.parse(name)
    assert source is not None
    policy = Policy(strategy=Strategy.AUTO)
    plan = RunPlan(model, target, policy, "", history, checkpoint, "", last_epoch=checkpoint.epoch)
    if is_view(cuts, source):
        return replace(plan, reads_all=True, reason=rebuild_reasons.other_definition(str(source)))
    reason = _of_definitions(checkpoint, reader, code) or _since(history, reader)
    if not (reason or is_as_committed(cuts, source)):
        reason = rebuild_reasons.SOURCE_NOT_COMMITTED
    return compared_whole(plan, cuts, source, reason) if reason else _continued(plan, cuts, source)


def _of_definitions(checkpoint: Checkpoint, reader: MetadataReader, code: str) -> str:
    """The reason if the snapshot's code or a view that it reads has changed since its checkpoint. Empty otherwise."""
    recorded = {} if checkpoint.logic is None else checkpoint.logic.definitions
    if recorded.get(CODE, code) != code:
        return rebuild_reasons.OTHER_LOGIC
    return _of_views(checkpoint, reader)


def _of_views(checkpoint: Checkpoint, reader: MetadataReader) -> str:
    """The reason if a view that a snapshot reads has changed since its checkpoint. Empty otherwise."""
    recorded = {} if checkpoint.logic is None else checkpoint.logic.definitions
    view = changed_view({name: digest for name, digest in recorded.items() if name != CODE}, reader)
    return "" if view is None else rebuild_reasons.other_definition(view)


def is_as_committed(cuts: Cuts, source: TableName) -> bool:
    """Whether a source has the same columns as when the snapshot at its cut was committed.

    dbt reads a table by its current columns. Raises the errors of the reader.
    """
    cut = cuts.of(source)
    if cut is None or cut.end is None:
        return True
    return cuts.changed_files(cut.history, cut.end.snapshot_id, cut.end.snapshot_id).has_present_columns


def has_same_rows(plan: RunPlan, now: History) -> bool:
    """Whether the table of a dbt snapshot still has the same rows as when its run was planned.

    Compactions do not change rows.
    """
    assert plan.target is not None
    return same_rows(now, plan.target.current_snapshot_id, now.current_snapshot_id)


def _continued(plan: RunPlan, cuts: Cuts, source: TableName) -> RunPlan:
    """The plan with the source's changes since the checkpoint, or with whole tables if they cannot be read."""
    found = changes_of(plan, cuts, source, changelog=True)
    if not isinstance(found, Range):
        if isinstance(found, Break):
            return compared_whole(plan, cuts, source, rebuild_reasons.of_source(str(source), found).rstrip("."))
        error = source_errors.refused(found, source, plan.model, plan.policy, changelog=True)
        return compared_whole(plan, cuts, source, error.msg.splitlines()[0].rstrip("."))
    cut = cuts.of(source)
    assert cut is not None
    if not has_same_columns(cuts, cut, found):
        return compared_whole(plan, cuts, source, rebuild_reasons.SOURCE_ALTERED)
    return plan.with_capture(Read.NET, source, found)


def compared_whole(plan: RunPlan, cuts: Cuts, source: TableName, reason: str) -> RunPlan:
    """The plan of a run that compares whole tables, at the invocation's cut. Raises the errors of ``open_snapshot``."""
    found = changes_of(replace(plan, checkpoint=None), cuts, source, changelog=True)
    assert isinstance(found, Range)
    return replace(plan, reads_all=True, reason=reason).with_capture(Read.NET, source, found)


def _of_table(
    plan: RunPlan, checkpoint: Checkpoint, history: History, reader: MetadataReader, source: TableName
) -> str:
    """Why the table cannot be continued from its checkpoint. Empty if it can."""
    recorded = checkpoint.logic
    if checkpoint.model != plan.model:
        return rebuild_reasons.OTHER_MODEL
    if recorded is None or plan.logic is None or recorded.fingerprint != plan.logic.fingerprint:
        return _of_views(checkpoint, reader) or rebuild_reasons.OTHER_LOGIC
    if checkpoint.sources.keys() != {str(source)}:
        return rebuild_reasons.OTHER_SOURCE
    return _since(history, reader)


def _since(history: History, reader: MetadataReader) -> str:
    """Why other writers' commits since the last run prevent continuing the table. Empty if they do not."""
    # A checkpoint that was later written as a property does not count, because another writer may have committed
    # before it.
    base = next((each for each in history.ancestors(history.current_snapshot_id) if KEY in each.summary), None)
    if base is None or not same_rows(history, base.snapshot_id, history.current_snapshot_id):
        return rebuild_reasons.TABLE_CHANGED
    return "" if _has_same_columns(reader, history, base) else rebuild_reasons.TABLE_ALTERED


def _has_same_columns(reader: MetadataReader, history: History, base: Snapshot) -> bool:
    """Whether the table still has the same columns, by id, as at an earlier snapshot."""
    assert history.current_snapshot_id is not None
    try:
        changed = reader.changed_files(history, base.snapshot_id, history.current_snapshot_id)
    except (IncrementalError, KeyError):
        return False  # the reader does not know the columns, or the snapshot has expired
    return changed.start == changed.end and changed.has_present_columns

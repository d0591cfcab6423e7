"""The captures of a run: what it reads from its sources. Each function returns the plan that includes a capture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import NotIcebergError
from ..explain import group_errors, model_errors, source_errors, target_errors, window_errors
from ..plan.breaks import Break
from ..plan.changes import limited, plan_as_of, plan_changes, plan_whole, plan_window
from ..plan.event_window import WindowOf
from ..plan.groups import ChangedGroups, Changes
from ..plan.policy import Strategy
from ..plan.ranges import Appends, NetChanges, Range
from ..plan.refusals import Refusal
from ..table.checkpoint import Position
from ..table.history import Snapshot, TableName
from .cuts import Cut, Cuts
from .run_plan import Read, RunPlan, is_only_pinned
from .source_policy import ahead_of_cut, commits_outcome, outcome


def capture(plan: RunPlan, cuts: Cuts, source: TableName, read: Read) -> RunPlan:
    """The plan that also reads a source in a way. In a rebuild, the run reads the whole table, pinned at its cut.

    Raises SourceMissingError, RewriteError, HistoryBreakError, CheckpointError, and the errors of the reader. Raises
    ConfigError for signed rows if the name of a column now refers to another column, because removed rows must equal
    those that the model added earlier.
    """
    if (read, source) in plan.captures:
        return plan
    match read:
        case Read.AS_OF:
            return plan.with_capture(read, source, _whole(plan, cuts, source))
        case Read.CHANGES:
            return plan.with_capture(read, source, _readable(plan, cuts, source, changelog=False))
        case Read.PER_COMMIT:
            return plan.with_capture(read, source, _readable(plan, cuts, source, changelog=True, per_commit=True))
        case Read.CHANGELOG | Read.NET | Read.SIGNED:
            planned = plan.changelogs.get(source) or _readable(plan, cuts, source, changelog=True)
            if read is Read.SIGNED:
                _require_same_columns(plan, cuts, source, planned)
            return plan.with_capture(read, source, planned)


def _whole(plan: RunPlan, cuts: Cuts, source: TableName) -> Range:
    cut, _ = _taken(plan, cuts, source)
    start = None if plan.checkpoint is None else plan.checkpoint.sources.get(str(source))
    return plan_as_of(cut.history, start, cut.end)


def _require_same_columns(plan: RunPlan, cuts: Cuts, source: TableName, planned: Range) -> None:
    files = cuts.files_of(planned) if planned.brings_rows and not plan.is_rebuild else None
    if files is not None:
        # appended rows are read by the table's current names
        others = files.present_others if isinstance(planned, Appends) else files.others
        if others:
            raise model_errors.other_columns(others, source, plan.model)


def has_same_columns(cuts: Cuts, cut: Cut, planned: Range) -> bool:
    """Whether a source has the same columns, by id, at both ends of a range. Raises the errors of the reader.

    A range with only a compaction has no changes, but a column may have been dropped and added again. Appended rows are
    read by the table's current names, which must be those of the end.
    """
    start, end = planned.start, planned.end
    if start is None or start.snapshot_id is None or end is None or start.snapshot_id == end.snapshot_id:
        return True
    if isinstance(planned, NetChanges):
        return planned.net.has_same_columns
    if start.snapshot_id not in cut.history.snapshots:
        return False
    changed = cuts.changed_files(cut.history, start.snapshot_id, end.snapshot_id)
    return changed.start == changed.end and not (isinstance(planned, Appends) and changed.renamed)


def capture_groups(
    plan: RunPlan,
    cuts: Cuts,
    keys: Sequence[str],
    sources: Sequence[TableName],
    types: Callable[[], tuple[str, ...]],
) -> tuple[RunPlan, ChangedGroups]:
    """Plan to read which groups changed in several sources since the checkpoint. Empty in a build of the whole table.

    ``types``: returns the types of the keys. It is called only if a group has changed.

    Raises ConfigError if the run has already captured other groups, because it would replace all of these groups
    without reading all of their rows. Also raises the errors of ``capture`` and ``types``.
    """
    for source in sources:
        plan = capture(plan, cuts, source, Read.NET)
    changes = tuple(
        Changes(planned, cuts.files_of(planned))
        for planned in map(plan.changelogs.__getitem__, sources)
        if planned.brings_rows and not plan.is_rebuild
    )
    for each in changes:
        if each.files is not None:
            model_errors.require_columns("ip_changed_groups", keys, each.files.end, each.planned.table, plan.model)
            others = [key for key in keys if each.files.is_another(key)]
            if others:
                raise group_errors.other_key_columns(others, each.planned.table, plan.model)
    found = ChangedGroups(tuple(keys), changes, frozenset(sources))
    before = plan.groups or found
    if {key.lower() for key in before.keys} != {key.lower() for key in keys} or before.relations != found.relations:
        raise group_errors.other_groups(plan.model, before, found)
    if changes:
        found = replace(found, types=types())
    return replace(plan, groups=plan.groups or found), found


def changes_of(
    plan: RunPlan, cuts: Cuts, source: TableName, *, changelog: bool, per_commit: bool = False
) -> Range | Refusal:
    """The changes of a source that a run reads, or why it cannot read them. ``per_commit``: as changes by commit.

    The whole source if the SQL of a model with the strategy ``auto`` has not read it before.

    Raises SourceMissingError, NotIcebergError, CheckpointError, ConfigError, and the errors of the reader.
    """
    cut, waiting = _taken(plan, cuts, source)
    if plan.checkpoint is None:
        return plan_whole(cut.history, cut.end)
    position = plan.checkpoint.sources.get(str(source))
    if position is None and plan.policy.strategy is Strategy.AUTO:
        return plan_whole(cut.history, cut.end)  # the run replaces all rows
    if position is None:
        raise target_errors.new_source(source, plan.model, plan.checkpoint)
    if plan.window is not None:
        column = plan.event_times.get(source)
        if column is None:
            raise window_errors.no_event_time(source, plan.model)
        return plan_window(cut.history, cut.end, position, WindowOf(plan.window, column))
    if per_commit:
        found = commits_outcome(cuts, cut, position)
    else:
        found = outcome(cuts, cut, position, plan.policy, changelog=changelog)
    return replace(found, waiting=waiting) if isinstance(found, Range) else found


def _readable(plan: RunPlan, cuts: Cuts, source: TableName, *, changelog: bool, per_commit: bool = False) -> Range:
    found = changes_of(plan, cuts, source, changelog=changelog, per_commit=per_commit)
    if not isinstance(found, Range):
        raise source_errors.refused(found, source, plan.model, plan.policy, changelog=changelog, per_commit=per_commit)
    return found


def _taken(plan: RunPlan, cuts: Cuts, source: TableName) -> tuple[Cut, int]:
    """The invocation's cut of a source, and the number of commits that the run's limits leave to later runs.

    The cut ends at an earlier snapshot if there is a limit, and at the model's position for an event-time window.
    """
    try:
        cut = cuts.of(source)
    except NotIcebergError as error:
        raise source_errors.not_iceberg(error, source, plan.model) from error
    if cut is None:
        raise source_errors.source_missing(source, plan.model)
    if plan.window is not None:
        return replace(cut, end=_consumed_end(plan, source, cut)), 0
    position = None if plan.checkpoint is None else plan.checkpoint.sources.get(str(source))
    cut = _caught_up(cuts, source, cut, position)
    if cut.end is None or position is None or is_only_pinned(position, source, plan.reads):
        return cut, 0
    end, waiting = limited(cut.history, position, cut.end, plan.policy)
    return replace(cut, end=end), waiting


def _caught_up(cuts: Cuts, source: TableName, cut: Cut, position: Position | None) -> Cut:
    """The invocation's cut, or a later position up to which another invocation has already read the source.

    Rows that are read at an older cut would replace newer ones.
    """
    if position is None or position.snapshot_id is None or cut.end is None:
        return cut
    if cut.history.is_ancestor(position.snapshot_id, of=cut.end.snapshot_id):
        return cut
    return ahead_of_cut(cuts.reload(source), cut.end, position) or cut


def _consumed_end(plan: RunPlan, source: TableName, cut: Cut) -> Snapshot | None:
    """The snapshot up to which the model has read a source, at which a window is read."""
    assert plan.checkpoint is not None
    position = plan.checkpoint.sources.get(str(source))
    if position is None:
        raise target_errors.new_source(source, plan.model, plan.checkpoint)
    found = plan_changes(cut.history, position, cut.end, ignore_rewrites=True)
    if isinstance(found, Break) and not is_only_pinned(position, source, plan.reads):
        raise source_errors.refused(found, source, plan.model, plan.policy)
    end = None if position.snapshot_id is None else cut.history.snapshots.get(position.snapshot_id)
    if isinstance(found, Break) or (end is None and position.snapshot_id is not None):
        raise window_errors.window_is_gone(source, plan.model, position)
    return end

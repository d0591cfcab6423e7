"""Reads: what a run captures of its sources, one function for each way in which a model reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import NotIcebergError
from ..explain import model_errors, source_errors, target_errors, window_errors
from ..plan.breaks import Break
from ..plan.changes import plan_as_of, plan_changes, plan_whole, plan_window
from ..plan.event_window import WindowOf
from ..plan.groups import ChangedGroups, Changes
from ..plan.limits import Limits, limited
from ..plan.ranges import Nothing, Range, Whole
from ..plan.refusals import Refusal
from ..table.checkpoint import Position
from ..table.history import Snapshot, TableName
from .cuts import Cut, Cuts
from .outcome import ahead_of_cut, outcome
from .run import ModelRun, is_only_pinned


def capture_changes(run: ModelRun, cuts: Cuts, source: TableName) -> Range:
    """Capture what is new in a source since the run's checkpoint; the whole table, pinned, in a rebuild.

    Raises SourceMissingError, RewriteError, HistoryBreakError, CheckpointError, and as the reader does.
    """
    planned = run.ranges.get(source)
    if planned is None:
        planned = run.ranges[source] = _readable(run, cuts, source, changelog=False)
    return planned


def capture_changelog(run: ModelRun, cuts: Cuts, source: TableName) -> Range:
    """Capture how a source differs from the run's checkpoint, deleted rows included; all of it in a rebuild.

    Raises SourceMissingError, HistoryBreakError, CheckpointError, and as the reader does.
    """
    planned = run.changelogs.get(source)
    if planned is None:
        planned = run.changelogs[source] = _readable(run, cuts, source, changelog=True)
    return planned


def capture_signed(run: ModelRun, cuts: Cuts, source: TableName) -> Range:
    """Capture the same for a model that adds it to what it has: every old row must be what the model has added.

    Raises ConfigError where the name of a column now means another one, and as ``capture_changelog`` does.
    """
    planned = capture_changelog(run, cuts, source)
    files = cuts.files_of(planned) if planned.brings_rows and not run.is_rebuild else None
    if files is not None and files.others:
        raise model_errors.other_columns(files.others, source, run.model)
    return planned


def capture_as_of(run: ModelRun, cuts: Cuts, source: TableName) -> Whole | Nothing:
    """Capture a source as a whole, pinned at the invocation's cut.

    Raises SourceMissingError, and as the reader does.
    """
    planned = run.pinned.get(source)
    if planned is None:
        cut, _ = _taken(run, cuts, source)
        start = None if run.checkpoint is None else run.checkpoint.sources.get(str(source))
        planned = run.pinned[source] = plan_as_of(cut.history, start, cut.end)
    return planned


def capture_groups(
    run: ModelRun,
    cuts: Cuts,
    keys: Sequence[str],
    sources: Sequence[TableName],
    types: Callable[[], tuple[str, ...]],
) -> ChangedGroups:
    """Capture which groups changed in some sources since the run's checkpoint; none in a build of the whole table.

    ``types``: gives the types of the keys, which are only asked for where a group has changed.
    Raises ConfigError where the run has captured other groups already, which would be replaced with these but not read
    with them; as ``capture_changelog`` does; and what ``types`` raises.
    """
    changes = tuple(
        Changes(planned, cuts.files_of(planned))
        for planned in (capture_changelog(run, cuts, source) for source in sources)
        if planned.brings_rows and not run.is_rebuild
    )
    for each in changes:
        if each.files is not None:
            model_errors.require_columns("ip_changed_groups", keys, each.files.end, each.planned.table, run.model)
            others = [key for key in keys if each.files.is_another(key)]
            if others:
                raise model_errors.other_key_columns(others, each.planned.table, run.model)
    found = ChangedGroups(tuple(keys), changes, frozenset(sources))
    before = run.groups or found
    if {key.lower() for key in before.keys} != {key.lower() for key in keys} or before.relations != found.relations:
        raise model_errors.other_groups(run.model, before, found)
    if changes:
        found = replace(found, types=types())
    run.groups = run.groups or found
    return found


def changes_of(run: ModelRun, cuts: Cuts, source: TableName, *, changelog: bool) -> Range | Refusal:
    """What a run reads of the changes of a source, or why it cannot.

    Raises SourceMissingError, NotIcebergError, CheckpointError, ConfigError, and as the reader does.
    """
    cut, waiting = _taken(run, cuts, source)
    if run.checkpoint is None:
        return plan_whole(cut.history, cut.end)
    position = run.checkpoint.sources.get(str(source))
    if position is None:
        raise target_errors.new_source(source, run.model, run.checkpoint)
    if run.window is not None:
        column = run.event_times.get(source)
        if column is None:
            raise window_errors.no_event_time(source, run.model)
        return plan_window(cut.history, cut.end, position, WindowOf(run.window, column))
    found = outcome(cuts, cut, position, run.policy, changelog=changelog)
    return replace(found, waiting=waiting) if isinstance(found, Range) else found


def _readable(run: ModelRun, cuts: Cuts, source: TableName, *, changelog: bool) -> Range:
    found = changes_of(run, cuts, source, changelog=changelog)
    if not isinstance(found, Range):
        raise source_errors.refused(found, source, run.model, run.policy, changelog=changelog)
    return found


def _taken(run: ModelRun, cuts: Cuts, source: TableName) -> tuple[Cut, int]:
    """The invocation's cut of a source, or less of it by the run's limits; and how many commits wait behind that."""
    try:
        cut = cuts.of(source)
    except NotIcebergError as error:
        raise source_errors.not_iceberg(error, source, run.model) from error
    if cut is None:
        raise source_errors.source_missing(source, run.model)
    if run.window is not None:
        return replace(cut, end=_consumed_end(run, cuts, source, cut)), 0
    position = None if run.checkpoint is None else run.checkpoint.sources.get(str(source))
    cut = _caught_up(cuts, source, cut, position)
    limits = Limits(run.policy.max_snapshots, run.policy.max_bytes)
    if limits == Limits() or cut.end is None or position is None or is_only_pinned(position, source, run.reads):
        return cut, 0
    end, waiting = limited(cut.history, position, cut.end, limits)
    return replace(cut, end=end), waiting


def _caught_up(cuts: Cuts, source: TableName, cut: Cut, position: Position | None) -> Cut:
    """The invocation's cut, or what another invocation has read of the source meanwhile, if that is more.

    Rows that are read as of an older cut would replace newer ones.
    """
    if position is None or position.snapshot_id is None or cut.end is None:
        return cut
    if cut.history.is_ancestor(position.snapshot_id, of=cut.end.snapshot_id):
        return cut
    return ahead_of_cut(cuts.reload(source), cut.end, position) or cut


def _consumed_end(run: ModelRun, cuts: Cuts, source: TableName, cut: Cut) -> Snapshot | None:
    """The snapshot of a source up to which the model has consumed it, which a window is read at."""
    assert run.checkpoint is not None
    position = run.checkpoint.sources.get(str(source))
    if position is None:
        raise target_errors.new_source(source, run.model, run.checkpoint)
    found = plan_changes(cut.history, position, cut.end, ignore_rewrites=True)
    if isinstance(found, Break) and not is_only_pinned(position, source, run.reads):
        raise source_errors.refused(found, source, run.model, run.policy)
    end = None if position.snapshot_id is None else cut.history.snapshots.get(position.snapshot_id)
    if isinstance(found, Break) or (end is None and position.snapshot_id is not None):
        raise window_errors.window_is_gone(source, run.model, position)
    return end

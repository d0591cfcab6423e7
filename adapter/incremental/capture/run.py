"""Capturing: what one run of one model reads of its sources, and from where on.

A ``ModelRun`` is opened by the first ``ip_`` macro of a model and holds what was captured until it is committed.
The ``Cuts`` are shared by all models of an invocation, so that all of them see one and the same cut of a source.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from ..errors import CheckpointError, IncrementalError, NotIcebergError, ViewError
from ..explain import model_errors, source_errors, staging_errors, target_errors, window_errors, wording
from ..expose.groups import ChangedGroups, Changes
from ..expose.net import NetRange
from ..expose.relations import MAX_ADDITIONS, changelog_sql
from ..expose.value_range import EMPTY, ValueRange, from_metadata, from_query
from ..metadata import MetadataReader
from ..plan.changes import (
    Break,
    Kind,
    Range,
    Rewritten,
    break_of_net,
    plan_as_of,
    plan_changes,
    plan_net,
    plan_whole,
    plan_window,
)
from ..plan.event_window import EventWindow, WindowOf
from ..plan.limits import Limits, limited
from ..plan.policy import Cause, OnBreak, OnRewrite, Policy, Strategy
from ..plan.recovery import Recovered, completed, plan_recovered, recover
from ..project.conditional_reads import ConditionalReads
from ..table.changed_files import ChangedFiles
from ..table.checkpoint import Checkpoint, Position
from ..table.commits import writes_new_files
from ..table.history import History, Snapshot, TableName
from .standing import standing_of


class Action(str, Enum):
    """What a run does to its target."""

    REBUILD = "rebuild"
    """First build or full refresh: the whole result replaces the table, if there is one."""

    APPLY = "apply"
    """The captured rows are applied to the table."""

    ADVANCE = "advance"
    """No new rows, but the sources were committed to: only the checkpoint moves."""

    NOTHING = "nothing"
    """Every source is where it was."""

    PARTIAL_BUILD = "partial_build"
    """Under ``--empty`` or ``--sample``: build a table from what dbt passed through, without a checkpoint."""

    CHECK_ONLY = "check_only"
    """Under ``--empty`` or ``--sample`` with a table that has a checkpoint: the SQL is checked, no row is written."""


@dataclass(frozen=True)
class Cut:
    """A source as an invocation sees it: its history, and the snapshot up to which it is read."""

    history: History
    end: Snapshot | None


_MOST_LOOKS = 5


class Cuts:
    """The cuts of one invocation, the same for all models and threads that read a source."""

    def __init__(self, reader: Callable[[], MetadataReader]) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._locks: dict[TableName, threading.Lock] = {}
        self._cuts: dict[TableName, Cut | None] = {}
        self._changed: dict[tuple[TableName, int, int], ChangedFiles] = {}
        self._files: dict[tuple[TableName, int, tuple[int, ...], int | None], ChangedFiles | None] = {}
        self._completed: dict[tuple[TableName, Position], History] = {}
        self._together = threading.Lock()
        self._begun = False

    def take_together(self, tables: Callable[[], Collection[TableName]]) -> None:
        """Take the cuts of several tables as of one moment, once in an invocation; later calls change nothing.

        A row of one table may need a row of another that was committed before it. So the tables are loaded again until
        none has changed since it was last looked at: then all heads were there at the same time. Tables that are
        committed to without a pause are taken as they are after some looks. A table that cannot be read is left to the
        model that captures it.
        """
        with self._together:
            if self._begun:
                return
            self._begun = True
            wanted = sorted(tables())
            if len(wanted) < 2:
                return
            seen = self._look(wanted)
            for _ in range(_MOST_LOOKS):
                before, seen = seen, self._look(seen)
                if all(cut.end == before[table].end for table, cut in seen.items()):
                    break
            with self._lock:
                self._cuts.update(seen)

    def _look(self, tables: Iterable[TableName]) -> dict[TableName, Cut]:
        found: dict[TableName, Cut] = {}
        for table in tables:
            with suppress(IncrementalError):
                history = self._reader().load(table)
                if history is not None:
                    found[table] = Cut(history, history.current)
        return found

    def _lock_of(self, table: TableName) -> threading.Lock:
        """The lock under which what is known of a table is read, once for all threads."""
        with self._lock:
            return self._locks.setdefault(table, threading.Lock())

    def of(self, table: TableName) -> Cut | None:
        """The cut of a table, taken at its first capture; None where the table does not exist.

        Raises NotIcebergError and MetadataAccessError as the reader does.
        """
        with self._lock_of(table):
            if self._cuts.get(table) is None:
                history = self._reader().load(table)
                self._cuts[table] = None if history is None else Cut(history, history.current)
            return self._cuts[table]

    def changed_files(self, history: History, start: int, end: int) -> ChangedFiles:
        """What differs between two snapshots of a table; read once for all models that have the same range.

        Raises MetadataAccessError as the reader does.
        """
        key = (history.table, start, end)
        with self._lock_of(history.table):
            if key not in self._changed:
                self._changed[key] = self._reader().changed_files(history, start, end)
            return self._changed[key]

    def completed(self, broken: Break) -> History:
        """A table's history with what its older metadata files know of the way since a position.

        Raises MetadataAccessError as the reader does.
        """
        table = broken.history.table
        with self._lock_of(table):
            if (table, broken.position) not in self._completed:
                known = completed(broken, self._reader().older(broken.history))
                self._completed[table, broken.position] = known
            return self._completed[table, broken.position]

    def added_files(self, found: Recovered) -> ChangedFiles | None:
        """The data files that were added since a position and are there at the end; None where they cannot be listed.

        Raises MetadataAccessError as the reader does.
        """
        history, end = found.broken.history, found.commits[-1].snapshot_id
        return self._reader().data_files(history, end, added_after=found.since)

    def has_twice(self, found: Recovered, added: ChangedFiles) -> bool:
        """Whether one of the files that were added since a position is in the table a second time at the end.

        Raises MetadataAccessError as the reader does.
        """
        if added.files is None or all(map(writes_new_files, found.commits)):
            return False
        whole = self._reader().data_files(found.broken.history, found.commits[-1].snapshot_id)
        assert whole is not None
        assert whole.files is not None
        times = Counter(file.path for file in whole.files.all)
        return any(times[file.path] > 1 for file in added.files.all)

    def files_of(self, planned: Range) -> ChangedFiles | None:
        """The data files that a range reads; None where there are none, or the reader cannot list them.

        Raises MetadataAccessError as the reader does.
        """
        if planned.net is not None:
            return planned.net.changed
        if planned.end is None or planned.kind in (Kind.EMPTY, Kind.WINDOW):
            return None
        since = None if planned.start is None else planned.start.snapshot_id
        key = (planned.table, planned.end.snapshot_id, planned.brought_by, since)
        with self._lock_of(planned.table):
            if key not in self._files:
                cut = self._cuts[planned.table]
                assert cut is not None
                self._files[key] = self._reader().data_files(
                    cut.history, planned.end.snapshot_id, planned.brought_by or None, since=since
                )
            return self._files[key]

    def reload(self, table: TableName) -> History | None:
        """The table's history as it is now; the cut stays where it is."""
        return self._reader().load(table)


@dataclass
class ModelRun:
    """One run of one model.

    ``target``: the history of its table when the run began, None where there is none. ``checkpoint``: the one in force
    then; None when the table is (re)built, for the ``reason`` given. ``last_epoch``: that of the newest checkpoint of
    the table, 0 where there is none. ``by_policy``: it is rebuilt because a policy says so. ``passes_through``: under
    ``--empty`` or ``--sample``, where nothing is captured. ``ranges``: the captured ranges by source, as ``ip_changes``
    reads them. ``changelogs``: as ``ip_changelog`` does. ``pinned``: the whole tables that ``ip_as_of`` reads.
    ``groups``: those that ``ip_changed_groups`` reads, whose rows the run replaces. ``window``: what it processes again
    instead of going on, None in an ordinary run; ``event_times``: the sources' columns by which it is told.
    ``reads``: what other runs of the model may read the changes of.
    """

    model: str
    name: TableName
    policy: Policy
    invocation_id: str
    target: History | None
    checkpoint: Checkpoint | None
    reason: str
    last_epoch: int
    by_policy: bool = False
    passes_through: bool = False
    ranges: dict[TableName, Range] = field(default_factory=dict)
    changelogs: dict[TableName, Range] = field(default_factory=dict)
    pinned: dict[TableName, Range] = field(default_factory=dict)
    groups: ChangedGroups | None = None
    window: EventWindow | None = None
    event_times: Mapping[TableName, str] = field(default_factory=dict)
    reads: ConditionalReads = field(default_factory=ConditionalReads)

    @property
    def is_rebuild(self) -> bool:
        """Whether the target is built as a whole, and not continued from a checkpoint."""
        return self.checkpoint is None

    @property
    def action(self) -> Action:
        """What the run does to its target, given what has been captured so far."""
        if self.passes_through:
            # A policy's rebuild replaces a table that has rows; that is left to a run of all rows.
            return Action.PARTIAL_BUILD if self.is_rebuild and not self.by_policy else Action.CHECK_ONLY
        if self.is_rebuild:
            return Action.REBUILD
        if self.window is not None:
            return Action.APPLY
        if any(
            planned.brings_rows for read in (self.ranges, self.changelogs, self.pinned) for planned in read.values()
        ):
            return Action.APPLY
        if any(planned.has_moved for planned in self.captured.values()):
            return Action.ADVANCE
        return Action.NOTHING

    @property
    def captured(self) -> Mapping[TableName, Range]:
        """Every source once: by its changes where the model reads them, else as a whole."""
        return {**self.pinned, **self.changelogs, **self.ranges}

    @property
    def only_pinned(self) -> Collection[TableName]:
        """The sources that this run reads as a whole, and not the changes of."""
        return self.pinned.keys() - self.ranges.keys() - self.changelogs.keys()

    def next_checkpoint(self) -> Checkpoint:
        """The checkpoint that this run commits. Its epoch follows the last one, in a rebuild too."""
        if self.window is not None and self.checkpoint is not None:
            stays = {
                source: replace(position, continues=True, from_snapshot_id=position.snapshot_id)
                for source, position in self.checkpoint.sources.items()
            }
            return Checkpoint(self.model, self.last_epoch + 1, self.invocation_id, stays)
        positions = {
            str(source): replace(
                planned.position,
                as_of=source in self.only_pinned and not self.reads.include(source),
                changelog=source not in self.ranges and (source in self.changelogs or self.reads.are_net(source)),
                continues=planned.start is not None,
                from_snapshot_id=None if planned.start is None else planned.start.snapshot_id,
            )
            for source, planned in self.captured.items()
        }
        return Checkpoint(self.model, self.last_epoch + 1, self.invocation_id, positions)


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
    reason = _asks_for_rebuild(found.checkpoint, cuts, policy, parents, reads)
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


def _asks_for_rebuild(
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
        changelog = is_changelog(position, table, reads)
        outcome = changes_since(cuts, table, cut, position, policy, changelog=changelog)
        net = changelog or policy.nets_rewrites
        if isinstance(outcome, Break) and policy.on_history_break[outcome.cause] is OnBreak.FULL_REFRESH:
            return f"{name}: {outcome.reason} ({outcome.cause.value})."
        if isinstance(outcome, Rewritten) and not net and policy.on_source_rewrite is OnRewrite.FULL_REFRESH:
            return f"{name}: {wording.rewrites(outcome)}."
    return None


def is_only_pinned(position: Position, table: TableName, reads: ConditionalReads) -> bool:
    """Whether a model reads a source as a whole only, in all of its runs.

    A position that says so may be that of a first build, from before the model's SQL was asked.
    """
    return position.as_of and not reads.include(table)


def is_changelog(position: Position, table: TableName, reads: ConditionalReads) -> bool:
    """Whether a model reads all changes of a source, so that no commit is one that it cannot show."""
    return position.changelog or (position.as_of and reads.are_net(table))


def capture_changes(run: ModelRun, cuts: Cuts, source: TableName) -> Range:
    """Capture what is new in a source since the run's checkpoint; the whole table, pinned, in a rebuild.

    Raises SourceMissingError, RewriteError, HistoryBreakError, CheckpointError, and as the reader does.
    """
    planned = run.ranges.get(source)
    if planned is None:
        planned = run.ranges[source] = _changes(run, cuts, source, changelog=False)
    return planned


def capture_changelog(run: ModelRun, cuts: Cuts, source: TableName) -> Range:
    """Capture how a source differs from the run's checkpoint, deleted rows included; all of it in a rebuild.

    Raises SourceMissingError, HistoryBreakError, CheckpointError, and as the reader does.
    """
    planned = run.changelogs.get(source)
    if planned is None:
        planned = run.changelogs[source] = _changes(run, cuts, source, changelog=True)
    return planned


def capture_as_of(run: ModelRun, cuts: Cuts, source: TableName) -> Range:
    """Capture a source as a whole, pinned at the invocation's cut.

    Raises SourceMissingError, and as the reader does.
    """
    planned = run.pinned.get(source)
    if planned is None:
        cut, _ = _taken(run, cuts, source)
        start = None if run.checkpoint is None else run.checkpoint.sources.get(str(source))
        planned = run.pinned[source] = plan_as_of(cut.history, start, cut.end)
    return planned


def capture_groups(run: ModelRun, cuts: Cuts, keys: Sequence[str], sources: Sequence[TableName]) -> ChangedGroups:
    """Capture which groups changed in some sources since the run's checkpoint; a run that builds anew has none.

    Raises ConfigError where the run has captured other groups already, which would be replaced with these but not read
    with them; and as ``capture_changelog`` does.
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
    run.groups = before
    return found


def capture_range(
    run: ModelRun, cuts: Cuts, column: str, sources: Sequence[TableName], query: Callable[[str], Sequence[Any]]
) -> ValueRange:
    """Capture between which values a column lies in the changes of some sources; in a rebuild, in all of their rows.

    ``query``: gives the first row of a SELECT, which is sent where metadata do not tell.
    Raises as ``capture_changelog`` does, and what ``query`` raises.
    """
    changes = [capture_changelog(run, cuts, source) for source in sources]
    changes = [planned for planned in changes if planned.brings_rows]
    if not changes:
        return EMPTY
    files = [cuts.files_of(planned) for planned in changes]
    for planned, of in zip(changes, files, strict=True):
        if of is not None:
            model_errors.require_columns("ip_range", [column], of.end, planned.table, run.model)
    found = None if run.window is not None else from_metadata(files, column)
    return found or from_query([changelog_sql(planned) for planned in changes], column, query)


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
    now = cuts.reload(source)
    ahead = _ahead_of_cut(now, cut.end, position)
    return cut if now is None or ahead is None else Cut(now, ahead.end)


def _consumed_end(run: ModelRun, cuts: Cuts, source: TableName, cut: Cut) -> Snapshot | None:
    """The snapshot of a source up to which the model has consumed it, which a window is read at."""
    assert run.checkpoint is not None
    position = run.checkpoint.sources.get(str(source))
    if position is None:
        raise target_errors.new_source(source, run.model, run.checkpoint)
    outcome = plan_changes(cut.history, position, cut.end, ignore_rewrites=True)
    if isinstance(outcome, Break) and not is_only_pinned(position, source, run.reads):
        raise source_errors.history_break(outcome, source, run.model, may_rebuild=run.policy.may_rebuild)
    end = None if position.snapshot_id is None else cut.history.snapshots.get(position.snapshot_id)
    if isinstance(outcome, Break) or (end is None and position.snapshot_id is not None):
        raise window_errors.window_is_gone(source, run.model, position)
    return end


def _changes(run: ModelRun, cuts: Cuts, source: TableName, *, changelog: bool) -> Range:
    cut, waiting = _taken(run, cuts, source)
    return replace(_planned(run, cuts, source, cut, changelog=changelog), waiting=waiting)


def _planned(run: ModelRun, cuts: Cuts, source: TableName, cut: Cut, *, changelog: bool) -> Range:
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
    net = changelog or run.policy.nets_rewrites
    outcome = changes_since(cuts, source, cut, position, run.policy, changelog=changelog)
    if isinstance(outcome, Break):
        raise source_errors.history_break(outcome, source, run.model, may_rebuild=run.policy.may_rebuild, net=net)
    if isinstance(outcome, Recovered):
        return _recovered(cuts, outcome, run)
    if isinstance(outcome, Rewritten) and net:
        return _net(cuts, outcome, run.model, changelog=changelog)
    if isinstance(outcome, Rewritten):
        raise source_errors.rewritten(outcome, source, run.model, may_rebuild=run.policy.may_rebuild)
    if len(outcome.additions) > MAX_ADDITIONS:
        raise source_errors.too_many_additions(source, run.model, len(outcome.additions), MAX_ADDITIONS)
    return _with_netted_additions(outcome, cuts, cut.history, run.model)


def _with_netted_additions(planned: Range, cuts: Cuts, history: History, model: str) -> Range:
    """The range, its additions as net changes where Iceberg's changelog scan cannot show them.

    That is beside delete files, and where the table has columns of the same names as the scan's own.
    """
    netted = {}
    for start, end in planned.additions:
        if start not in history.snapshots:
            continue
        changed = cuts.changed_files(history, start, end)
        if not changed.names_changelog_columns and (changed.without_deletes or changed.files is None):
            continue
        unreadable = source_errors.incomparable(changed.end, history.table, model)
        if unreadable is not None:
            raise unreadable
        if not changed.has_present_columns:
            raise source_errors.addition_beside_deletes(history.snapshots[end], history.table, model)
        netted[start] = NetRange(history.table, start, end, changed)
    return replace(planned, netted=netted)


def _net(cuts: Cuts, found: Rewritten, model: str, *, changelog: bool) -> Range:
    assert found.position.snapshot_id is not None
    changed = cuts.changed_files(found.history, found.position.snapshot_id, found.end.snapshot_id)
    unreadable = source_errors.incomparable(changed.end, found.history.table, model, changelog=changelog)
    if unreadable is not None:
        raise unreadable
    return plan_net(found, changed)


def _recovered(cuts: Cuts, found: Recovered, run: ModelRun) -> Range:
    changed = cuts.added_files(found)
    lost = None if changed is not None else "the data files since cannot be listed"
    if changed is not None and found.by_lineage and changed.files is not None and not changed.files.keep_row_ids:
        lost = "row lineage is only read of Parquet files"
    if changed is not None and not found.by_lineage and cuts.has_twice(found, changed):
        lost = "a file that was added since is in the table twice"
    if changed is not None and changed.reserved:
        lost = f"{', '.join(changed.reserved)} hides a metadata column of Iceberg's, by which rows are found"
    if changed is None or lost is not None:
        broken = replace(found.broken, reason=f"{found.broken.reason}, and {lost}")
        source = found.broken.history.table
        raise source_errors.history_break(broken, source, run.model, may_rebuild=run.policy.may_rebuild)
    return plan_recovered(found, changed)


def changes_since(
    cuts: Cuts, source: TableName, cut: Cut, position: Position, policy: Policy, *, changelog: bool
) -> Range | Rewritten | Recovered | Break:
    """Plan the changes since a position as a model's policy has it; ``changelog``: for ``ip_changelog``.

    Raises MetadataAccessError as the reader does.
    """
    net = changelog or policy.nets_rewrites
    outcome = plan_changes(cut.history, position, cut.end, ignore_rewrites=policy.ignores_rewrites and not net)
    if isinstance(outcome, Rewritten) and net:
        outcome = break_of_net(outcome) or outcome
    elif isinstance(outcome, Break) and cut.end is not None and position.snapshot_id is not None:
        outcome = _ahead_of_cut(cuts.reload(source), cut.end, position) or outcome
    if isinstance(outcome, Break) and outcome.cause is Cause.EXPIRED:
        merges_changed_rows = policy.nets_rewrites and policy.strategy is Strategy.MERGE and not changelog
        return recover(outcome, cuts.completed(outcome), upserts=merges_changed_rows)
    return outcome


def _ahead_of_cut(now: History | None, end: Snapshot, position: Position) -> Range | None:
    """An empty range at the position, if another invocation has consumed the source beyond this one's cut meanwhile."""
    if now is None or position.snapshot_id is None:
        return None
    reached = now.snapshots.get(position.snapshot_id)
    beyond = now.is_ancestor(end.snapshot_id, of=position.snapshot_id)
    if reached is None or not beyond or not now.is_ancestor(position.snapshot_id, of=now.current_snapshot_id):
        return None
    return Range(now.table, now.table_uuid, Kind.EMPTY, position, reached, brings_rows=False)

"""The plan of a run: what it captures from its sources, and what it does to its target."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from ..plan.conditional_reads import ConditionalReads
from ..plan.event_window import EventWindow
from ..plan.groups import ChangedGroups
from ..plan.policy import Policy
from ..plan.ranges import Range
from ..sql import plain_name
from ..table.checkpoint import Checkpoint, Deletions, Position, RecordedLogic, RowOrder
from ..table.clock import Clock
from ..table.history import History, TableName
from ..table.recorded_history import RecordedHistory
from ..table.shares import Share, share_at, sum_of, whole_of
from .logic_change import Logic, LogicChange, recorded_logic

_NONE: Mapping[str, str] = MappingProxyType({})


class Action(str, Enum):
    """What a run does to its target."""

    REBUILD = "rebuild"
    """A first build or full refresh: the complete result replaces the table, if it exists."""

    APPLY = "apply"
    """The captured rows are applied to the table."""

    ADVANCE = "advance"
    """The sources have commits without rows, so only the checkpoint moves."""

    NOTHING = "nothing"
    """No source has new commits."""

    PARTIAL_BUILD = "partial_build"
    """Under ``--empty`` or ``--sample``: builds a table from the rows that dbt passes, without a checkpoint."""

    CHECK_ONLY = "check_only"
    """The SQL is checked and no row is written: under ``--empty`` or ``--sample`` if the table has a checkpoint, or if
    the model's logic has changed and no source has new rows."""


IDLE = (Action.NOTHING, Action.ADVANCE, Action.CHECK_ONLY)
"""The actions that write no row."""


class Read(str, Enum):
    """How a run reads a source."""

    CHANGES = "changes"
    """The rows that are new, as ``ip_changes`` reads them."""

    CHANGELOG = "changelog"
    """The net changes, including deleted rows, as ``ip_changelog`` returns them."""

    PER_COMMIT = "changelog_per_commit"
    """The changes of each commit."""

    AS_OF = "as_of"
    """The whole table, as ``ip_as_of`` reads it."""

    SIGNED = "signed"
    """The net changes as signed rows, as ``ip_signed_changes`` returns them."""

    NET = "net"
    """The net changes, from which the run finds groups, values or keys. The model does not read them itself."""


_NET = (Read.NET, Read.SIGNED, Read.CHANGELOG)
_FEW_ROWS = 100_000


@dataclass(frozen=True)
class Capture:
    """What a run reads from a source in one way. ``reading``: how net changes are read, as text; empty if unknown."""

    planned: Range
    reading: str = ""


@dataclass(frozen=True)
class RunPlan:
    """What a run of a model will do. The run executes the plan; ``ip_status``, the docs and the errors describe it.

    - ``target``: the table's history when the run began; None if the table does not exist.
    - ``checkpoint``: the current checkpoint; None if the table is rebuilt, for the ``reason``.
    - ``last_epoch``: the epoch of the table's newest checkpoint; 0 without one.
    - ``by_policy``: whether a policy requires the rebuild.
    - ``passes_through``: whether nothing is captured, under ``--empty`` or ``--sample``.
    - ``window``: the window to process again instead of continuing; None in a normal run.
    - ``event_times``: the event-time columns of the sources, if configured.
    - ``reads``: the tables whose changes any run of the model may read.
    - ``logic``: the model's current logic.
    - ``logic_change``: how it differs from the logic of the table's rows; None if it does not.
    - ``reads_all``: whether the run replaces all rows of the table, and reads whole sources for that.
    - ``keeps_versions``: whether a rebuild of a history table compares it with the source and keeps all versions.
    - ``replaced``: the checkpoint that was current before such a rebuild.
    - ``altered``: the columns of the table, or their fields, that another writer added, renamed or dropped since the
      newest run. A run that failed may also have done so. None if there are none; empty if they are unknown.
    - ``replays``: whether a history table is rebuilt from a log that has all of its events.
    - ``is_as_left``: whether no commit is known by which another writer has changed rows since the newest run.
    - ``clock_moved``: whether SQL with the strategy ``auto`` reads a part of the clock that differs from the last run.
    - ``differs``: why a table with the strategy ``auto`` may differ from its SQL without new rows. Empty if it cannot.
    - ``captures``: what the run reads so far, by the way in which it reads a source. See ``reads.capture``.
    - ``groups``: the groups that ``ip_changed_groups`` reads, whose rows the run replaces.
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
    window: EventWindow | None = None
    event_times: Mapping[TableName, str] = field(default_factory=dict)
    reads: ConditionalReads = field(default_factory=ConditionalReads)
    logic: Logic | None = None
    logic_change: LogicChange | None = None
    captures: Mapping[tuple[Read, TableName], Capture] = field(default_factory=dict)
    groups: ChangedGroups | None = None
    reads_all: bool = False
    keeps_versions: bool = False
    replaced: Checkpoint | None = None
    replays: bool = False
    altered: tuple[str, ...] | None = None
    differs: str = ""
    clock_moved: bool = False
    is_as_left: bool = True

    @property
    def branch(self) -> str:
        """The branch on which the run stages rows. All attempts use one name, because the SQL may contain it."""
        number = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.invocation_id} {self.model}").hex[:12]
        return f"ip_{self.last_epoch + 1}_{number}"

    @property
    def is_rebuild(self) -> bool:
        """Whether the target is built as a whole instead of continued from a checkpoint."""
        return self.checkpoint is None

    @property
    def action(self) -> Action:
        """What the run does to its target, given the captures so far."""
        if self.passes_through:
            # A rebuild by policy would replace a table that has rows. This is left to a run that reads all rows.
            replaces = self.is_rebuild and not self.by_policy and not self.keeps_versions and not self.replays
            return Action.PARTIAL_BUILD if replaces else Action.CHECK_ONLY
        if self.is_rebuild:
            # A dbt snapshot without a checkpoint compares whole tables, and keeps its table.
            return Action.APPLY if self.reads_all and self.target is not None else Action.REBUILD
        if self.window is not None or self.reads_all or self.differs or self.clock_moved:
            return Action.APPLY
        if any(each.planned.brings_rows for each in self.captures.values()):
            return Action.APPLY
        if any(planned.has_moved for planned in self.captured.values()):
            return Action.ADVANCE
        return Action.CHECK_ONLY if self.has_new_logic else Action.NOTHING

    @property
    def has_new_logic(self) -> bool:
        """Whether the model's logic has changed, and no run has written rows since. Each run checks the SQL."""
        return self.logic_change is not None and self.logic_change.is_new

    @property
    def captured(self) -> Mapping[TableName, Range]:
        """Each source with its changes if the model reads them, otherwise as a whole table."""
        return {**self.read_as(Read.AS_OF), **self.net, **self.read_as(Read.CHANGES)}

    @property
    def net(self) -> Mapping[TableName, Range]:
        """The sources whose net changes the run reads, of the range or by commit."""
        return {**self.changelogs, **self.read_as(Read.PER_COMMIT)}

    @property
    def changelogs(self) -> Mapping[TableName, Range]:
        """The sources whose net changes the run reads as those of the whole range."""
        return self.read_as(*_NET)

    @property
    def readings(self) -> Mapping[TableName, str]:
        """How the net changes of sources are read, as text."""
        return {source: each.reading for (_, source), each in self.captures.items() if each.reading}

    def read_as(self, *reads: Read) -> Mapping[TableName, Range]:
        """The sources that the run reads in one of some ways, with what it reads."""
        return {source: each.planned for (read, source), each in self.captures.items() if read in reads}

    def with_capture(self, read: Read, source: TableName, planned: Range, reading: str = "") -> RunPlan:
        """The plan that also reads a source in a way."""
        return replace(self, captures={**self.captures, (read, source): Capture(planned, reading)})

    @property
    def shows_old_rows(self) -> bool:
        """Whether the captured changes contain each row that they replace or delete, as ``ip_changelog`` does.

        In changes by commit, rows of later commits replace those of earlier ones.
        """
        shown = self.read_as(Read.CHANGELOG).keys()
        return bool(shown) and shown == self.net.keys() and not self.read_as(Read.SIGNED, Read.CHANGES)

    @property
    def may_lack_order(self) -> bool:
        """Whether a deletion among the captured changes may be newer than a new row of its key, as in a log.

        In the changes of a range, a deleted row is always older.
        """
        is_log = bool(self.read_as(Read.CHANGES)) and not self.net
        return (is_log or bool(self.read_as(Read.PER_COMMIT))) and not self.policy.sequence_by

    @property
    def only_pinned(self) -> Collection[TableName]:
        """The sources that this run reads only as a whole."""
        return self.read_as(Read.AS_OF).keys() - self.read_as(Read.CHANGES).keys() - self.net.keys()

    @property
    def reads_whole_tables(self) -> bool:
        """Whether all runs read all of their sources only as a whole."""
        captured = self.captured.keys()
        return captured == self.only_pinned and not any(map(self.reads.include, captured))

    def next_checkpoint(
        self,
        deletions: Deletions | None = None,
        types: Mapping[str, str] = _NONE,
        reading: str | None = None,
        history: RecordedHistory | None = None,
        others: bool | None = None,
        definitions: Mapping[str, str] = _NONE,
        clock: tuple[Clock, frozenset[str]] | None = None,
    ) -> Checkpoint:
        """The checkpoint that the run commits. Its epoch follows the last one, also in a rebuild.

        ``deletions``: the recorded deletions. ``types``: the types of the columns by which rows are compared.
        ``reading``: how plain SQL was interpreted. ``history``: the configs of a history table. ``others``,
        ``definitions``: as in RecordedLogic. ``clock``: as in Checkpoint.
        """
        if self.window is not None and self.checkpoint is not None:
            positions = {source: _unmoved(position) for source, position in self.checkpoint.sources.items()}
        else:
            found = {str(source): self._next_position(source, planned) for source, planned in self.captured.items()}
            positions = {source: position for source, position in found.items() if position is not None}
        return Checkpoint(
            self.model,
            self.last_epoch + 1,
            self.invocation_id,
            positions,
            sequence=self._next_order(deletions),
            shares={str(source): share for source, share in self.shares.items() if str(source) in positions},
            logic=self._next_logic(types, reading, others, definitions),
            history=history,
            clock=clock,
        )

    def _next_position(self, source: TableName, planned: Range) -> Position | None:
        """The position in a source after the run. None if no run has read its changes yet."""
        if self._leaves_changes(source, planned):
            before = None if self.checkpoint is None else self.checkpoint.sources.get(str(source))
            return None if before is None else _unmoved(before)
        continues = planned.start is not None and not self.reads_all
        return replace(
            planned.position,
            as_of=source in self.only_pinned and not self.reads.include(source),
            changelog=source not in self.read_as(Read.CHANGES) and (source in self.net or self.reads.are_net(source)),
            per_commit=(Read.PER_COMMIT, source) in self.captures,
            continues=continues,
            from_snapshot_id=planned.start.snapshot_id if planned.start is not None and continues else None,
        )

    def _leaves_changes(self, source: TableName, planned: Range) -> bool:
        """Whether the run leaves the changes of a source to other runs.

        The Jinja code of this run read the source only as a whole, but other branches read its changes.
        """
        if self.checkpoint is None or self.reads_all or source not in self.only_pinned or not planned.brings_rows:
            return False
        return source in self.reads.changes or source in self.reads.net_changes

    def _next_order(self, deletions: Deletions | None) -> RowOrder | None:
        """The table's ``sequence_by`` and recorded deletions. Unchanged if no rows are written."""
        if self.checkpoint is not None and self.action is not Action.APPLY:
            return self.checkpoint.sequence
        return sequence_of(self.policy, deletions)

    def _next_logic(
        self, types: Mapping[str, str], reading: str | None, others: bool | None, definitions: Mapping[str, str]
    ) -> RecordedLogic | None:
        """The logic of the newest rows, for the checkpoint. Unchanged if no rows are written.

        A job has no logic. After it has written rows to the table of plain SQL, they no longer equal its result.
        """
        writes = self.action in (Action.REBUILD, Action.APPLY) or reading is not None
        recorded = None if self.checkpoint is None else self.checkpoint.logic
        if not writes or (self.logic is None and recorded is None):
            return recorded
        if self.logic is None:
            return None if recorded is None else replace(recorded, reading=None, definitions=_NONE)
        return recorded_logic(self.logic, self.logic_change, types, reading, others, definitions)

    @property
    def recorded_types(self) -> Mapping[str, str]:
        """The types of the compared columns when the table's newest rows were written."""
        recorded = None if self.checkpoint is None else self.checkpoint.logic
        return {} if recorded is None else recorded.types

    @property
    def recorded_reading(self) -> str | None:
        """How plain SQL was interpreted when the table's rows were written. None if unknown."""
        recorded = None if self.checkpoint is None else self.checkpoint.logic
        return None if recorded is None else recorded.reading

    @property
    def recorded_definitions(self) -> Mapping[str, str]:
        """The digests of the views that plain SQL read, by name, when the table's rows were written."""
        recorded = None if self.checkpoint is None else self.checkpoint.logic
        return {} if recorded is None else recorded.definitions

    @property
    def has_few_rows(self) -> bool:
        """Whether all sources together have so few rows that no statement gains from the order of a table's rows.

        To order the rows, Spark computes them twice: first to learn how the keys are spread.
        """
        shares = self.shares
        return shares.keys() == self.captured.keys() and sum_of(shares.values()).table_records <= _FEW_ROWS

    @property
    def shares(self) -> Mapping[TableName, Share]:
        """The share of each source that the run reads. Sources whose summaries have no totals are omitted.

        A source that the model also reads as a whole counts as a whole, because the files that Spark skips are unknown.
        """
        found: dict[TableName, Share | None] = {}
        wholes = self.read_as(Read.AS_OF)
        for source, planned in self.captured.items():
            pinned, counts = wholes.get(source), planned.counts
            if self.reads_all:
                found[source] = whole_of(planned.end)
            elif self.action in IDLE:
                found[source] = share_at(planned.end, 0, 0)
            elif pinned is not None:
                found[source] = whole_of(pinned.end, at_most=source not in self.only_pinned)
            else:
                found[source] = share_at(planned.end, counts.records, counts.size, at_most=counts.at_most)
        return {source: share for source, share in found.items() if share is not None}

    @property
    def recorded_deletions(self) -> Deletions | None:
        """The deletions that runs have recorded since the table was built, from its checkpoint."""
        sequence = None if self.checkpoint is None else self.checkpoint.sequence
        return None if sequence is None else sequence.deletions


def _unmoved(position: Position) -> Position:
    """The position of a source whose changes a run did not read."""
    return replace(position, continues=True, from_snapshot_id=position.snapshot_id)


def sequence_of(policy: Policy, deletions: Deletions | None) -> RowOrder | None:
    """The RowOrder of a model with these deletions. None without ``sequence_by``."""
    by, key = (tuple(plain_name(name).lower() for name in names) for names in (policy.sequence_by, policy.unique_key))
    return RowOrder(by, deletions, tuple(sorted(key))) if by else None


def is_only_pinned(position: Position, table: TableName, reads: ConditionalReads) -> bool:
    """Whether all runs of a model read a source only as a whole.

    A position may not show this yet if it comes from a first build, before the model's SQL was analyzed.
    """
    return position.as_of and not reads.include(table)


def is_changelog(position: Position, table: TableName, reads: ConditionalReads) -> bool:
    """Whether a model reads all changes of a source, including those that ``ip_changes`` refuses.

    If the SQL is certain, it decides, because the macro may have been edited. Otherwise, the position decides.
    """
    certain = reads.are_always_net(table)
    return certain if certain is not None else position.changelog or (position.as_of and reads.are_net(table))

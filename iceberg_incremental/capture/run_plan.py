"""The plan of a run: what it captures of its sources, and what it does to its target."""

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
from ..plan.ranges import Nothing, Range, Whole
from ..sql import plain_name
from ..table.checkpoint import Checkpoint, Deletions, Position, RecordedLogic, RowOrder
from ..table.history import History, TableName
from ..table.recorded_history import RecordedHistory
from ..table.shares import Share, share_at, whole_of
from .logic_change import Logic, LogicChange, recorded_logic

_NONE: Mapping[str, str] = MappingProxyType({})


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
    """The SQL is checked and no row is written: under ``--empty`` or ``--sample`` with a table that has a checkpoint;
    and where no source has new rows, but the model's logic has changed."""


@dataclass(frozen=True)
class RunPlan:
    """What one run of a model will do. The run carries it out; ``ip_status``, the docs and the errors describe it.

    ``target``: the history of its table when the run began, None where there is none. ``checkpoint``: the current one
    then; None when the table is (re)built, for the ``reason`` given. ``last_epoch``: that of the newest checkpoint of
    the table, 0 where there is none. ``by_policy``: it is rebuilt because a policy says so. ``passes_through``: under
    ``--empty`` or ``--sample``, where nothing is captured. ``window``: what it processes again instead of continuing,
    None in an ordinary run; ``event_times``: the sources' columns of a row's time, where set. ``reads``: what other
    runs of the model may read the changes of. ``logic``: the model's, as the project has it now; ``logic_change``: how
    the table's rows differ from it, None where they do not.

    What the functions of ``reads`` have captured so far: ``ranges``, by source, as ``ip_changes`` reads them;
    ``changelogs``, by their net changes, ``per_commit``, by those of each commit; ``shown``: those of which the model
    has got the net changes themselves, by ``ip_changelog``, ``signed``: by ``ip_signed_changes``; ``readings``: what
    net changes are read by, in words;
    ``pinned``: the whole tables that ``ip_as_of`` reads; ``groups``: those that ``ip_changed_groups`` reads, whose rows
    the run replaces. ``reads_all``: the run replaces all rows of the table, and reads its sources as a whole for that.
    ``keeps_versions``: a rebuild of a history table compares it with the source and keeps all versions; ``replaced``:
    the checkpoint that was current then. ``replays``: a rebuild of a history table from a log that
    has all of its events.
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
    ranges: Mapping[TableName, Range] = field(default_factory=dict)
    changelogs: Mapping[TableName, Range] = field(default_factory=dict)
    per_commit: Mapping[TableName, Range] = field(default_factory=dict)
    shown: frozenset[TableName] = frozenset()
    signed: frozenset[TableName] = frozenset()
    readings: Mapping[TableName, str] = field(default_factory=dict)
    pinned: Mapping[TableName, Whole | Nothing] = field(default_factory=dict)
    groups: ChangedGroups | None = None
    reads_all: bool = False
    keeps_versions: bool = False
    replaced: Checkpoint | None = None
    replays: bool = False

    @property
    def branch(self) -> str:
        """The branch that the run stages on: one name, whatever the number of attempts, so that the SQL can hold it."""
        number = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.invocation_id} {self.model}").hex[:12]
        return f"ip_{self.last_epoch + 1}_{number}"

    @property
    def is_rebuild(self) -> bool:
        """Whether the target is built as a whole, and not continued from a checkpoint."""
        return self.checkpoint is None

    @property
    def action(self) -> Action:
        """What the run does to its target, given what has been captured so far."""
        if self.passes_through:
            # A policy's rebuild replaces a table that has rows; that is left to a run of all rows.
            replaces = self.is_rebuild and not self.by_policy and not self.keeps_versions and not self.replays
            return Action.PARTIAL_BUILD if replaces else Action.CHECK_ONLY
        if self.is_rebuild:
            return Action.REBUILD
        if self.window is not None:
            return Action.APPLY
        reads = (self.ranges, self.net, self.pinned)
        if any(planned.brings_rows for read in reads for planned in read.values()):
            return Action.APPLY
        if any(planned.has_moved for planned in self.captured.values()):
            return Action.ADVANCE
        return Action.NOTHING

    @property
    def captured(self) -> Mapping[TableName, Range]:
        """Every source once: by its changes where the model reads them, else as a whole."""
        return {**self.pinned, **self.net, **self.ranges}

    @property
    def net(self) -> Mapping[TableName, Range]:
        """The sources whose net changes the model reads, of each commit or of all."""
        return {**self.changelogs, **self.per_commit}

    @property
    def shows_old_rows(self) -> bool:
        """Whether each row that the captured changes replace or delete comes with them, by ``ip_changelog``.

        Commit by commit, the rows of later commits replace those of earlier ones.
        """
        return bool(self.shown) and self.shown == self.net.keys() and not (self.signed or self.ranges)

    @property
    def only_pinned(self) -> Collection[TableName]:
        """The sources that this run reads as a whole, and not the changes of."""
        return self.pinned.keys() - self.ranges.keys() - self.net.keys()

    def next_checkpoint(
        self,
        deletions: Deletions | None = None,
        types: Mapping[str, str] = _NONE,
        reading: str | None = None,
        history: RecordedHistory | None = None,
        others: bool | None = None,
    ) -> Checkpoint:
        """The checkpoint that the run commits. Its epoch follows the last one, in a rebuild too.

        ``deletions``: those that the run knows of; ``types``: of the columns that its rows are compared by;
        ``reading``: how it has read plain SQL; ``history``: how it keeps a history table; ``others``: as in
        RecordedLogic.
        """
        if self.window is not None and self.checkpoint is not None:
            positions = {
                source: replace(position, continues=True, from_snapshot_id=position.snapshot_id)
                for source, position in self.checkpoint.sources.items()
            }
        else:
            positions = {
                str(source): replace(
                    planned.position,
                    as_of=source in self.only_pinned and not self.reads.include(source),
                    changelog=source not in self.ranges and (source in self.net or self.reads.are_net(source)),
                    per_commit=source in self.per_commit,
                    continues=planned.start is not None and not self.reads_all,
                    from_snapshot_id=(None if planned.start is None or self.reads_all else planned.start.snapshot_id),
                )
                for source, planned in self.captured.items()
            }
        return Checkpoint(
            self.model,
            self.last_epoch + 1,
            self.invocation_id,
            positions,
            sequence=self._next_order(deletions),
            shares={str(source): share for source, share in self.shares.items() if str(source) in positions},
            logic=self._next_logic(types, reading, others),
            history=history,
        )

    def _next_order(self, deletions: Deletions | None) -> RowOrder | None:
        """The order in which the table is kept, with the deletions in it: the earlier one if no rows are written."""
        if self.checkpoint is not None and self.action is not Action.APPLY:
            return self.checkpoint.sequence
        return sequence_of(self.policy, deletions)

    def _next_logic(self, types: Mapping[str, str], reading: str | None, others: bool | None) -> RecordedLogic | None:
        """The logic of the newest rows, which the run's checkpoint records; not every run writes rows."""
        writes = self.action in (Action.REBUILD, Action.APPLY) or reading is not None
        if self.logic is None or not writes:
            return None if self.checkpoint is None else self.checkpoint.logic
        return recorded_logic(self.logic, self.logic_change, types, reading, others)

    @property
    def recorded_types(self) -> Mapping[str, str]:
        """The types of the compared columns when the newest rows of the table were written."""
        recorded = None if self.checkpoint is None else self.checkpoint.logic
        return {} if recorded is None else recorded.types

    @property
    def recorded_reading(self) -> str | None:
        """How plain SQL was read when the rows of the table were written; None where that is not known."""
        recorded = None if self.checkpoint is None else self.checkpoint.logic
        return None if recorded is None else recorded.reading

    @property
    def shares(self) -> Mapping[TableName, Share]:
        """What the run reads of each of its sources; without those whose summaries have no totals.

        A source that the model also reads as a whole counts as a whole: what Spark skips of it is not known here.
        """
        found: dict[TableName, Share | None] = {}
        for source, planned in self.captured.items():
            pinned, counts = self.pinned.get(source), planned.counts
            if self.reads_all:
                found[source] = whole_of(planned.end)
            elif self.action in (Action.NOTHING, Action.ADVANCE):
                found[source] = share_at(planned.end, 0, 0)
            elif pinned is not None:
                found[source] = whole_of(pinned.end, at_most=source not in self.only_pinned)
            else:
                found[source] = share_at(planned.end, counts.records, counts.size, at_most=counts.at_most)
        return {source: share for source, share in found.items() if share is not None}

    @property
    def recorded_deletions(self) -> Deletions | None:
        """The deletions that runs have remembered beside the table since it was built, as its checkpoint names them."""
        return (
            None if self.checkpoint is None or self.checkpoint.sequence is None else self.checkpoint.sequence.deletions
        )


def sequence_of(policy: Policy, deletions: Deletions | None) -> RowOrder | None:
    """The order in which a model keeps its table; None where ``sequence_by`` is not set."""
    by, key = (tuple(plain_name(name).lower() for name in names) for names in (policy.sequence_by, policy.unique_key))
    return RowOrder(by, deletions, tuple(sorted(key))) if by else None


def is_only_pinned(position: Position, table: TableName, reads: ConditionalReads) -> bool:
    """Whether a model reads a source as a whole only, in all of its runs.

    A position that says so may be that of a first build, from before the model's SQL was asked.
    """
    return position.as_of and not reads.include(table)


def is_changelog(position: Position, table: TableName, reads: ConditionalReads) -> bool:
    """Whether a model reads all changes of a source, so that no commit is one that it cannot show.

    The SQL decides if it is certain, as an edit may have put another macro in it; else how the position was read.
    """
    certain = reads.are_always_net(table)
    return certain if certain is not None else position.changelog or (position.as_of and reads.are_net(table))

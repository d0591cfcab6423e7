"""A run: what it will do, and what has happened in it so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..table.checkpoint import Checkpoint, Deletions
from ..table.history import History, Snapshot
from .history_run import next_history
from .run_plan import RunPlan


@dataclass
class RunState:
    """What has happened in a run that its commit depends on.

    ``deletions``: those that it has remembered beside the ones before it, None where it has none. ``own_rows``: the
    target's history from before its rows became part of rows that are held; None where the model does not read its own
    table, or its rows are not held. ``compared``: the target's history when its rows were compared with the new ones by
    ``sequence_by``; None before. ``types``: of the columns that rows are compared by. ``published``: the snapshot of
    its table that the run has published, None where it has made none, or not yet. ``reading``: how
    plain SQL was read when all of the table's rows were written. ``update_method``: how ``auto`` updates the table,
    in words; empty where it is not. ``clock_ms``: before when no version of a history table may begin or end, in
    milliseconds since the epoch. ``current_end``: the end of its valid versions, as text; None where they have none.
    ``others``: whether the table may have rows of others, as in RecordedLogic.
    """

    deletions: Deletions | None = None
    own_rows: History | None = None
    compared: History | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    published: Snapshot | None = None
    reading: str | None = None
    update_method: str = ""
    clock_ms: int = 0
    current_end: str | None = None
    others: bool | None = None


@dataclass
class Run:
    """One run of one model, by one thread."""

    plan: RunPlan
    state: RunState = field(default_factory=RunState)

    @property
    def known_deletions(self) -> Deletions | None:
        """The deletions that the run knows of: of all runs since the table was built, and of this one."""
        return self.state.deletions or self.plan.recorded_deletions

    def next_checkpoint(self) -> Checkpoint:
        """The checkpoint that this run commits."""
        state = self.state
        history = next_history(self.plan, state.clock_ms, state.current_end)
        return self.plan.next_checkpoint(self.known_deletions, state.types, state.reading, history, state.others)

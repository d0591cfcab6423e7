"""A run: its plan, and its state so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..plan.learned import Learned
from ..plan.rebuild_cost import Reads
from ..table.checkpoint import Checkpoint, Deletions
from ..table.clock import Clock
from ..table.history import History, Snapshot
from .run_plan import RunPlan
from .versions_run import next_history


@dataclass
class RunState:
    """The state of a run that determines its commit.

    ``deletions``: the recorded deletions, including those of this run. None without any. ``own_rows``: the target's
    history from before its rows became part of held rows. None if the model does not read its own table, or if its rows
    are not held. ``compared``: the target's history when its rows were compared with new rows by ``sequence_by``. None
    before that. ``types``: the types of the columns by which rows are compared. ``published``: the snapshot that the
    run has published. None if there is none yet. ``reading``: how plain SQL was interpreted when all rows of the table
    were written. ``update_method``: how ``auto`` updates the table incrementally, as text. Empty if it does not.
    ``clock_ms``: the earliest time at which a version of a history table may begin or end, in milliseconds since the
    epoch. ``current_end``: the end of valid versions, as text. None if they have none. ``others``: whether the table
    may have rows of other writers, as in RecordedLogic. ``definitions``: as in RecordedLogic. ``way``: how ``auto`` has
    updated the table, as in ``UpdatePlan``. Empty if it has not. ``clock``: as in Checkpoint. ``learned``: what
    runs of an ``auto`` model have learned. None if this run has learned nothing. ``rebuild``: what a build of all rows
    reads, so that its cost can be compared with the estimate. None if it is not estimated.
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
    definitions: Mapping[str, str] = field(default_factory=dict)
    way: str = ""
    clock: tuple[Clock, frozenset[str]] | None = None
    learned: Learned | None = None
    rebuild: Reads | None = None


@dataclass
class Run:
    """One run of one model, in one thread."""

    plan: RunPlan
    state: RunState = field(default_factory=RunState)

    @property
    def known_deletions(self) -> Deletions | None:
        """The recorded deletions of all runs since the table was built, including this one."""
        return self.state.deletions or self.plan.recorded_deletions

    def next_checkpoint(self) -> Checkpoint:
        """The checkpoint that this run commits."""
        state = self.state
        history = next_history(self.plan, state.clock_ms, state.current_end)
        return self.plan.next_checkpoint(
            self.known_deletions,
            state.types,
            state.reading,
            history,
            state.others,
            state.definitions,
            state.clock,
        )

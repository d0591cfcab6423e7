"""How the logic of a model compares with the one that wrote its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..table.checkpoint import Checkpoint, RecordedLogic
from ..table.history import History

LOGIC_KEY = "ip.logic"
"""The table property that holds the logic itself; the checkpoint holds its fingerprint only."""


class Logic(Protocol):
    """Everything that decides which rows a model writes."""

    @property
    def fingerprint(self) -> str:
        """The same for logics that write the same rows."""

    def encoded(self) -> str | None:
        """The table property; None for a logic that is too long."""

    def is_comparable(self, fingerprint: str) -> bool:
        """Whether a recorded fingerprint was computed as this version does."""

    def differences_since(self, recorded: str | None, fingerprint: str) -> Sequence[str]:
        """How it differs from an earlier logic, in a few lines.

        ``recorded``: the table property; nothing differs in a way that can be said if it does not hold the logic with
        this fingerprint.
        """


@dataclass(frozen=True)
class LogicChange:
    """Rows of the table were written by another logic than the model has now.

    ``after``: the epoch of the last commit by another logic. ``is_new``: no run has written rows by the present logic
    yet. ``differences``: the lines of a diff; empty where the earlier logic is not known in full, or is long replaced.
    """

    after: int
    is_new: bool
    differences: Sequence[str] = ()


def logic_change(logic: Logic, checkpoint: Checkpoint, target: History) -> LogicChange | None:
    """How a model's logic has changed since its checkpoint; None where all rows are of this logic.

    A checkpoint without a fingerprint is accepted. One of another version of this package stands for the present logic:
    what it says of earlier ones still holds.
    """
    recorded = checkpoint.logic
    if recorded is None:
        return None
    if recorded.fingerprint == logic.fingerprint or not logic.is_comparable(recorded.fingerprint):
        return None if recorded.changed_after is None else LogicChange(recorded.changed_after, is_new=False)
    shown = logic.differences_since(target.properties.get(LOGIC_KEY), recorded.fingerprint)
    return LogicChange(checkpoint.epoch, is_new=True, differences=shown)


def recorded_logic(
    logic: Logic,
    change: LogicChange | None,
    types: Mapping[str, str],
    reading: str | None = None,
    others: bool | None = None,
) -> RecordedLogic:
    """What the checkpoint of a run records that writes rows by a logic; the rest as in RecordedLogic."""
    return RecordedLogic(logic.fingerprint, None if change is None else change.after, types, reading, others)

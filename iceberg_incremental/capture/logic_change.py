"""How the logic of a model differs from the logic that wrote its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from ..table.checkpoint import Checkpoint, RecordedLogic
from ..table.history import History

LOGIC_KEY = "ip.logic"
"""The table property with the logic itself. The checkpoint contains only its fingerprint."""
_NONE: Mapping[str, str] = MappingProxyType({})


class Logic(Protocol):
    """Everything that determines which rows a model writes."""

    @property
    def fingerprint(self) -> str:
        """A hash that is equal for logic that writes the same rows."""

    def encoded(self) -> str | None:
        """The value of the table property. None if the logic is too long."""

    def is_comparable(self, fingerprint: str) -> bool:
        """Whether a recorded fingerprint was computed in the same way as in this version."""

    def differences_since(self, recorded: str | None, fingerprint: str) -> Sequence[str]:
        """How the logic differs from an earlier logic, in a few lines.

        ``recorded``: the table property. The result is empty unless it contains the logic with this fingerprint.
        """


@dataclass(frozen=True)
class LogicChange:
    """Rows of the table were written by a different logic than the model's current one.

    ``after``: the epoch of the last commit by another logic. ``is_new``: whether no run has written rows with the
    current logic yet. ``differences``: the lines of a diff; empty if the earlier logic is not completely known, or was
    replaced several times.
    """

    after: int
    is_new: bool
    differences: Sequence[str] = ()


def logic_change(logic: Logic, checkpoint: Checkpoint, target: History) -> LogicChange | None:
    """How a model's logic has changed since its checkpoint. None if all rows were written by this logic.

    A checkpoint without a fingerprint is accepted. A fingerprint of another version of this package counts as the
    current logic, but its information about earlier logic stays valid.
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
    definitions: Mapping[str, str] = _NONE,
) -> RecordedLogic:
    """The logic that the checkpoint of a run records. The other parameters are those of RecordedLogic."""
    after = None if change is None else change.after
    return RecordedLogic(logic.fingerprint, after, types, reading, others, definitions)

"""How the logic of a model compares with the one that wrote its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt.adapters.spark_iceberg.project.model_logic import LOGIC_KEY, ModelLogic, decoded, differences, is_comparable

from ..table.checkpoint import Checkpoint, RecordedLogic
from ..table.history import History


@dataclass(frozen=True)
class LogicChange:
    """Rows of the table were written by another logic than the model has now.

    ``after``: the epoch of the last commit by another logic. ``is_new``: no run has written rows by the present logic
    yet. ``differences``: the lines of a diff; empty where the earlier logic is not known in full, or is long replaced.
    """

    after: int
    is_new: bool
    differences: Sequence[str] = ()


def logic_change(logic: ModelLogic, checkpoint: Checkpoint, target: History) -> LogicChange | None:
    """How a model's logic has changed since its checkpoint; None where all rows are of this logic.

    A checkpoint without a fingerprint is accepted. One of another version of this package stands for the present logic:
    what it says of earlier ones still holds.
    """
    recorded = checkpoint.logic
    if recorded is None:
        return None
    if recorded.fingerprint == logic.fingerprint or not is_comparable(recorded.fingerprint):
        return None if recorded.changed_after is None else LogicChange(recorded.changed_after, is_new=False)
    before = decoded(target.properties.get(LOGIC_KEY), recorded.fingerprint)
    shown = () if before is None else differences(before, logic)
    return LogicChange(checkpoint.epoch, is_new=True, differences=shown)


def recorded_logic(logic: ModelLogic, change: LogicChange | None, types: Mapping[str, str]) -> RecordedLogic:
    """What the checkpoint of a run records that writes rows by a logic; ``types``: as in RecordedLogic."""
    return RecordedLogic(logic.fingerprint, None if change is None else change.after, types)

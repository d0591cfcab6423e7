"""Checkpoints that cannot be read: where they are, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .history import TableName


@dataclass(frozen=True)
class Place:
    """The place of a checkpoint: the summary of a snapshot or, without a snapshot, the table's property."""

    table: TableName
    snapshot_id: int | None = None


class CheckpointFlaw(Enum):
    """Why a text is not a valid checkpoint."""

    TOO_LONG = auto()
    NOT_JSON = auto()
    OTHER_VERSION = auto()
    MISSING_FIELD = auto()
    WRONG_TYPE = auto()
    OUT_OF_RANGE = auto()


class UnreadableCheckpoint(Exception):  # noqa: N818 (explain/ converts it to an error for users)
    """A text that is not a complete and well-typed checkpoint of a version that this package supports.

    ``found``: what was found, for example a length, a version or the name of a type. ``field``: the wrong JSON field,
    and ``expected``: its expected content. Both are empty if the whole text is wrong.
    """

    def __init__(self, place: Place, flaw: CheckpointFlaw, found: str, field: str = "", expected: str = "") -> None:
        super().__init__(place, flaw, found, field, expected)
        self.place = place
        self.flaw = flaw
        self.found = found
        self.field = field
        self.expected = expected

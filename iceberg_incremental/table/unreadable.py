"""Checkpoints that cannot be read: where they are, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .history import TableName


@dataclass(frozen=True)
class Place:
    """Where a checkpoint stands: in the summary of a snapshot of this table; without one, in the table's property."""

    table: TableName
    snapshot_id: int | None = None


class CheckpointFlaw(Enum):
    """Why a text is no checkpoint."""

    TOO_LONG = auto()
    NOT_JSON = auto()
    OTHER_VERSION = auto()
    MISSING_FIELD = auto()
    WRONG_TYPE = auto()
    OUT_OF_RANGE = auto()


class UnreadableCheckpoint(Exception):  # noqa: N818 (it is no error that people read: explain/ makes that of it)
    """A text that is no whole and well-typed checkpoint of a version that this package knows; facts only.

    ``found``: what was there instead, for example a length, a version or a type's name. ``field``: the JSON field that
    is wrong, and ``expected`` what it should hold; both are empty where the text as a whole is wrong.
    """

    def __init__(self, place: Place, flaw: CheckpointFlaw, found: str, field: str = "", expected: str = "") -> None:
        super().__init__(place, flaw, found, field, expected)
        self.place = place
        self.flaw = flaw
        self.found = found
        self.field = field
        self.expected = expected

"""The checkpoint: how far a model has read each of its sources.

It is JSON under the key ``ip.checkpoint`` in the summary of the snapshot that contains the rows. This is the
authoritative copy. A copy in a table property survives the expiry of snapshots.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, TypeVar

from . import clock, recorded_history
from .clock import Clock
from .history import History, Snapshot, TableName
from .recorded_history import RecordedHistory
from .shares import Share, from_document, to_document


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


SHOWN = 40
"""The number of characters of a wrong value that an error shows."""
_Value = TypeVar("_Value")
_TEXT, _TEXTS, _WHOLE, MAPPING = "text", "a list of text", "a whole number", "a mapping"


@dataclass(frozen=True)
class Fields:
    """Typed access to a JSON object. Raises UnreadableCheckpoint with the name of the field."""

    document: Mapping[str, Any]
    place: Place

    def text(self, key: str) -> str:
        """A text."""
        return self._required(key, self.optional_text(key), _TEXT)

    def optional_text(self, key: str) -> str | None:
        """A text. None without one."""
        return self._typed(key, str, _TEXT)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        values = self._required(key, self._typed(key, list, _TEXTS), _TEXTS)
        for value in values:
            if not isinstance(value, str):
                raise UnreadableCheckpoint(self.place, CheckpointFlaw.WRONG_TYPE, type(value).__name__, key, _TEXTS)
        return tuple(values)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """An object."""
        return self._required(key, self.optional_mapping(key), MAPPING)

    def optional_mapping(self, key: str) -> Mapping[str, Any] | None:
        """An object. None without one."""
        return self._typed(key, dict, MAPPING)

    def optional_text_by_name(self, key: str) -> Mapping[str, str]:
        """An object whose values are texts. Empty without one."""
        found = self.optional_mapping(key) or {}
        return {name: Fields(found, self.place).text(name) for name in found}

    def whole(self, key: str, minimum: int = -(2**63)) -> int:
        """A whole number of 64 bits, at least ``minimum``."""
        return self._required(key, self.optional_whole(key, minimum), _WHOLE)

    def optional_whole(self, key: str, minimum: int = -(2**63)) -> int | None:
        """A whole number of 64 bits, at least ``minimum``. None without one."""
        value = self._typed(key, int, _WHOLE)
        if value is not None and not minimum <= value < 2**63:
            raise UnreadableCheckpoint(self.place, CheckpointFlaw.OUT_OF_RANGE, str(value)[:SHOWN], key, _WHOLE)
        return value

    def _required(self, key: str, value: _Value | None, expected: str) -> _Value:
        if value is None:
            raise UnreadableCheckpoint(self.place, CheckpointFlaw.MISSING_FIELD, "nothing", key, expected)
        return value

    def _typed(self, key: str, kind: type[_Value], expected: str) -> _Value | None:
        """The value under a key, or None without one. A boolean is rejected, although it is an int in Python."""
        value = self.document.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind)):
            raise UnreadableCheckpoint(self.place, CheckpointFlaw.WRONG_TYPE, type(value).__name__, key, expected)
        return value


KEY = "ip.checkpoint"
PARTIAL_BUILD_KEY = "ip.partial-build"
"""The key in the summary of a snapshot that was built under ``--empty`` or ``--sample``, and does not have all rows."""
UPDATE_METHOD_KEY = "ip.update-method"
"""The table property that describes to users how the table is updated incrementally. Empty if it is not."""
VERSION = 1
MAX_LENGTH = 1_048_576
"""Longer texts are rejected without parsing. A checkpoint has about 200 bytes per source."""
_ESCAPED = re.compile(r"\\.|(['`;$]|u(?=rl)|s(?=ecret)|p(?=assword)|t(?=oken)|a(?=ccess\.?key))", re.IGNORECASE)
"""A character that ``to_json`` escapes, or an existing escape sequence, which it does not change."""


@dataclass(frozen=True)
class Position:
    """How far a source has been read: up to and including this snapshot.

    ``snapshot_id``: None if the source had no snapshot yet. ``timestamp_ms``: the commit time of the snapshot.
    ``as_of``: the model read the source only as a whole, so its history does not matter. ``changelog``: the model read
    all changes of the source, including changes that ``ip_changes`` refuses. ``per_commit``: it read the changes of
    each commit. ``continues``: whether the range started at ``from_snapshot_id`` (None: an empty table). Otherwise, the
    whole table was read, or the position was set by hand.
    """

    table_uuid: str | None
    snapshot_id: int | None
    sequence_number: int | None
    timestamp_ms: int | None
    as_of: bool = False
    changelog: bool = False
    per_commit: bool = False
    continues: bool = False
    from_snapshot_id: int | None = None


def is_later(one: Position | Snapshot, other: Position | Snapshot) -> bool | None:
    """Whether one was committed after the other, by sequence number or else by time. None if not comparable."""
    if one.sequence_number and other.sequence_number:
        return one.sequence_number > other.sequence_number
    if one.timestamp_ms is None or other.timestamp_ms is None:
        return None
    return one.timestamp_ms > other.timestamp_ms


@dataclass(frozen=True)
class Deletions:
    """The table that records the deletions that a model has applied: its canonical name, and a snapshot."""

    table: str
    snapshot_id: int


@dataclass(frozen=True)
class RowOrder:
    """The ``sequence_by`` with which a table was built (empty without one), and its table of ``deletions``.

    ``key``: the columns of the unique_key, sorted. Empty in checkpoints that predate this field.
    """

    by: tuple[str, ...]
    deletions: Deletions | None = None
    key: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordedLogic:
    """The fingerprint of the logic that wrote a table's newest rows.

    ``changed_after``: the epoch of the last commit by different logic whose rows may still be in the table. None if all
    rows were written by this logic, or were accepted as such. ``types``: the types of the columns by which rows are
    compared, by lower-case name. ``reading``: how plain SQL was interpreted when all of these rows were written. None
    for other SQL. ``others``: whether other writers may have added or deleted rows of the table. None if only the
    snapshots show it. ``definitions``: digests of the views that plain SQL reads, by name, and of a snapshot's code.
    """

    fingerprint: str
    changed_after: int | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    reading: str | None = None
    others: bool | None = None
    definitions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Checkpoint:
    """The positions of all sources of a model after one of its commits.

    ``epoch``: increases by one with each commit. ``target_snapshot_id``: the target's current snapshot when the
    property was written. None in a snapshot's summary, which does not need its own id. ``sequence``: for a table with
    ``sequence_by``. ``shares``: how much of each source the run read, if known. It is stored because the source's
    snapshots may have expired later. ``logic``: None in checkpoints that predate this field. ``history``: for a history
    table. ``clock``: the time of the rows, and the parts of the clock that the SQL reads; None if it reads none.
    """

    model: str
    epoch: int
    invocation_id: str
    sources: Mapping[str, Position]
    target_snapshot_id: int | None = None
    sequence: RowOrder | None = None
    shares: Mapping[str, Share] = field(default_factory=dict)
    logic: RecordedLogic | None = None
    history: RecordedHistory | None = None
    clock: tuple[Clock, frozenset[str]] | None = None

    def to_json(self) -> str:
        r"""The JSON text: ASCII only, and without characters that Spark SQL could interpret as syntax.

        Quotes, back-quotes, semicolons and dollar signs in names are written as ``\\uXXXX``. The text can therefore be
        part of a back-quoted SET value, and ``${…}`` is not interpreted as a variable. The first letter of words for
        which Spark hides the value is written in the same way.
        """
        document = {
            "version": VERSION,
            "model": self.model,
            "epoch": self.epoch,
            "invocation_id": self.invocation_id,
            "target_snapshot_id": self.target_snapshot_id,
            "sources": {
                name: {
                    "table_uuid": position.table_uuid,
                    "snapshot_id": position.snapshot_id,
                    "sequence_number": position.sequence_number,
                    "timestamp_ms": position.timestamp_ms,
                    **({"as_of": True} if position.as_of else {}),
                    **({"changelog": True} if position.changelog else {}),
                    **({"per_commit": True} if position.per_commit else {}),
                    **({"from_snapshot_id": position.from_snapshot_id} if position.continues else {}),
                    **({"read": to_document(self.shares[name])} if name in self.shares else {}),
                }
                for name, position in self.sources.items()
            },
            **({} if self.sequence is None else {"sequence": _document_of(self.sequence)}),
            **({} if self.logic is None else {"logic": _logic_document(self.logic)}),
            **({} if self.history is None else {"history": recorded_history.to_document(self.history)}),
            **({} if self.clock is None else {"clock": clock.to_document(*self.clock)}),
        }
        text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), sort_keys=False)
        return _ESCAPED.sub(lambda found: found[0] if found[1] is None else f"\\u{ord(found[1]):04x}", text)

    def mirrored(self, target_snapshot_id: int | None) -> Checkpoint:
        """The checkpoint for the table property, with the target's current snapshot at the time of writing."""
        return replace(self, target_snapshot_id=target_snapshot_id)


def carried_by(snapshot: Snapshot, of: TableName) -> Checkpoint | None:
    """The checkpoint in the summary of a snapshot of a table. Raises UnreadableCheckpoint."""
    text = snapshot.summary.get(KEY)
    return None if text is None else parse(text, Place(of, snapshot.snapshot_id))


def mirrored_by(target: History) -> Checkpoint | None:
    """The checkpoint in a table's property. Raises UnreadableCheckpoint."""
    text = target.properties.get(KEY)
    return None if text is None else parse(text, Place(target.table))


def parse(text: str, place: Place) -> Checkpoint:
    """Read a checkpoint from its text; ``place`` is for errors. Raises UnreadableCheckpoint."""
    if len(text) > MAX_LENGTH:
        raise UnreadableCheckpoint(place, CheckpointFlaw.TOO_LONG, str(len(text)))
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableCheckpoint(place, CheckpointFlaw.NOT_JSON, str(error)) from error
    if not isinstance(document, dict):
        raise UnreadableCheckpoint(place, CheckpointFlaw.WRONG_TYPE, type(document).__name__, expected=MAPPING)
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise UnreadableCheckpoint(place, CheckpointFlaw.OTHER_VERSION, str(version)[:SHOWN])
    fields = Fields(document, place)
    sources = fields.mapping("sources")
    documents = {TableName.canonical(name): Fields(sources, place).mapping(name) for name in sources}
    shares = {name: from_document(document.get("read")) for name, document in documents.items()}
    return Checkpoint(
        model=fields.text("model"),
        epoch=fields.whole("epoch", minimum=1),
        invocation_id=fields.text("invocation_id"),
        target_snapshot_id=fields.optional_whole("target_snapshot_id"),
        sources={name: _position(document, place) for name, document in documents.items()},
        sequence=_sequence(fields.optional_mapping("sequence"), place),
        shares={name: share for name, share in shares.items() if share is not None},
        logic=_logic(fields.optional_mapping("logic"), place),
        history=recorded_history.from_document(document.get("history")),
        clock=clock.from_document(document.get("clock")),
    )


def _document_of(sequence: RowOrder) -> Mapping[str, Any]:
    deletions = sequence.deletions
    return {
        "by": sequence.by,
        **({"key": sequence.key} if sequence.key else {}),
        **(
            {} if deletions is None else {"deletions": {"table": deletions.table, "snapshot_id": deletions.snapshot_id}}
        ),
    }


def _logic_document(logic: RecordedLogic) -> Mapping[str, Any]:
    return {
        "fingerprint": logic.fingerprint,
        **({} if logic.changed_after is None else {"changed_after": logic.changed_after}),
        **({"types": dict(logic.types)} if logic.types else {}),
        **({} if logic.reading is None else {"reading": logic.reading}),
        **({} if logic.others is None else {"others": logic.others}),
        **({"definitions": dict(logic.definitions)} if logic.definitions else {}),
    }


def _logic(document: Mapping[str, Any] | None, place: Place) -> RecordedLogic | None:
    if document is None:
        return None
    fields = Fields(document, place)
    return RecordedLogic(
        fields.text("fingerprint"),
        fields.optional_whole("changed_after", minimum=1),
        fields.optional_text_by_name("types"),
        fields.optional_text("reading"),
        others if isinstance(others := document.get("others"), bool) else None,
        {TableName.canonical(name): text for name, text in fields.optional_text_by_name("definitions").items()},
    )


def _sequence(document: Mapping[str, Any] | None, place: Place) -> RowOrder | None:
    if document is None:
        return None
    fields = Fields(document, place)
    deletions = fields.optional_mapping("deletions")
    by, key = fields.texts("by"), fields.texts("key") if "key" in document else ()
    if deletions is None:
        return RowOrder(by, key=key)
    where = Fields(deletions, place)
    return RowOrder(by, Deletions(TableName.canonical(where.text("table")), where.whole("snapshot_id")), key)


def _position(document: Mapping[str, Any], place: Place) -> Position:
    fields = Fields(document, place)
    return Position(
        table_uuid=fields.optional_text("table_uuid"),
        snapshot_id=fields.optional_whole("snapshot_id"),
        sequence_number=fields.optional_whole("sequence_number", minimum=0),
        timestamp_ms=fields.optional_whole("timestamp_ms"),
        as_of=document.get("as_of") is True,
        changelog=document.get("changelog") is True,
        per_commit=document.get("per_commit") is True,
        continues="from_snapshot_id" in document,
        from_snapshot_id=fields.optional_whole("from_snapshot_id"),
    )

"""The checkpoint: how far a model has consumed each of its sources, and which one is in force.

It is JSON under the key ``ip.checkpoint``, in the summary of the very snapshot that holds the rows (the truth), and
mirrored as a table property (which survives the expiry of snapshots).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import CheckpointError
from .commits import PART_KEY
from .history import History, Snapshot

KEY = "ip.checkpoint"
PARTIAL_BUILD_KEY = "ip.partial-build"
"""In the summary of a snapshot that a run under ``--empty`` or ``--sample`` built: it holds not all rows."""
VERSION = 1
MAX_LENGTH = 1_048_576
"""Longer texts are refused unread: a checkpoint holds some 200 bytes a source."""


@dataclass(frozen=True)
class Position:
    """How far a source has been consumed: up to and including this snapshot of it.

    ``snapshot_id`` is None where the source had no snapshot yet. ``timestamp_ms``: when that snapshot was committed.
    ``as_of``: the model read the source as a whole only, so that what happens to its history does not matter.
    ``changelog``: it read all changes of it, so that no commit is one that it cannot show. ``continues``: what was
    consumed goes on from ``from_snapshot_id`` (None: an empty table); else it is the whole table, or set by hand.
    """

    table_uuid: str | None
    snapshot_id: int | None
    sequence_number: int | None
    timestamp_ms: int | None
    as_of: bool = False
    changelog: bool = False
    continues: bool = False
    from_snapshot_id: int | None = None


@dataclass(frozen=True)
class Checkpoint:
    """The positions of all sources of a model after one of its commits.

    ``epoch`` grows by one with each commit. ``target_snapshot_id`` is the target's head when the property was written,
    and None in a snapshot's summary, which need not name its own snapshot.
    """

    model: str
    epoch: int
    invocation_id: str
    sources: Mapping[str, Position]
    target_snapshot_id: int | None = None

    def to_json(self) -> str:
        r"""The JSON text: ASCII only, and without any character that Spark SQL could take for syntax.

        Quotes, back-quotes, semicolons and dollar signs of names are written as ``\\uXXXX``, so that the text can stand
        in a back-quoted SET value, and no ``${…}`` in it is taken for a variable.
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
                    **({"from_snapshot_id": position.from_snapshot_id} if position.continues else {}),
                }
                for name, position in self.sources.items()
            },
        }
        text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), sort_keys=False)
        return text.translate({ord(c): f"\\u{ord(c):04x}" for c in "'`;$"})

    def mirrored(self, target_snapshot_id: int | None) -> Checkpoint:
        """The checkpoint as the table property holds it: with the head of the target at the time of writing."""
        return replace(self, target_snapshot_id=target_snapshot_id)


def parse(text: str, where: str) -> Checkpoint:
    """Read a checkpoint.

    ``where`` says for the error where the text was found, for example ``the summary of snapshot 42 of lake.a.b``.
    Raises CheckpointError for text that is not a whole and well-typed checkpoint of a version this package knows.
    """
    if len(text) > MAX_LENGTH:
        raise _unreadable(where, f"{len(text)} characters, more than the {MAX_LENGTH} that are read")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(where, f"text that is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise _unreadable(where, f"a JSON {type(document).__name__}")
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise _unreadable(where, f"version {str(version)[:40]!r}")
    fields = _Fields(document, where)
    sources = document.get("sources")
    if not isinstance(sources, dict):
        raise _unreadable(where, "no mapping 'sources'")
    return Checkpoint(
        model=fields.text("model"),
        epoch=fields.whole("epoch", minimum=1),
        invocation_id=fields.text("invocation_id"),
        target_snapshot_id=fields.optional_whole("target_snapshot_id"),
        sources={name: _position(value, where) for name, value in sources.items()},
    )


def _position(value: object, where: str) -> Position:
    if not isinstance(value, dict):
        raise _unreadable(where, "a source that is not a mapping")
    fields = _Fields(value, where)
    return Position(
        table_uuid=fields.optional_text("table_uuid"),
        snapshot_id=fields.optional_whole("snapshot_id"),
        sequence_number=fields.optional_whole("sequence_number", minimum=0),
        timestamp_ms=fields.optional_whole("timestamp_ms"),
        as_of=value.get("as_of") is True,
        changelog=value.get("changelog") is True,
        continues="from_snapshot_id" in value,
        from_snapshot_id=fields.optional_whole("from_snapshot_id"),
    )


@dataclass(frozen=True)
class _Fields:
    """Typed access to one JSON object, with errors that name the field."""

    document: Mapping[str, Any]
    where: str

    def text(self, key: str) -> str:
        value = self.optional_text(key)
        if value is None:
            raise _unreadable(self.where, f"no text in '{key}'")
        return value

    def optional_text(self, key: str) -> str | None:
        value = self.document.get(key)
        if value is not None and not isinstance(value, str):
            raise _unreadable(self.where, f"{type(value).__name__} in '{key}', not text")
        return value

    def whole(self, key: str, minimum: int) -> int:
        value = self.optional_whole(key, minimum)
        if value is None:
            raise _unreadable(self.where, f"no number in '{key}'")
        return value

    def optional_whole(self, key: str, minimum: int = -(2**63)) -> int | None:
        value = self.document.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise _unreadable(self.where, f"{type(value).__name__} in '{key}', not a whole number")
        if not minimum <= value < 2**63:
            raise _unreadable(self.where, f"{str(value)[:40]} in '{key}', out of range")
        return int(value)


def _unreadable(where: str, found: str) -> CheckpointError:
    return CheckpointError(
        f"The checkpoint in {where} cannot be used.\n"
        f"  Expected: a checkpoint of version {VERSION}, as this package writes it.\n"
        f"  Found: {found}.\n"
        "  What to do: if a newer version of dbt-spark-iceberg wrote it, use that version; otherwise rebuild the model "
        "with `dbt run --full-refresh --select <model>`."
    )


@dataclass(frozen=True)
class InForce:
    """The outcome of the search for a target's checkpoint.

    ``checkpoint`` is the one in force, or None. ``unproven`` is then what the table property says, if it says anything:
    a position that may belong to a state of the table which was since undone. ``partial``: the table's rows come from a
    build under ``--empty`` or ``--sample``, and so stand for no position of any source.
    """

    checkpoint: Checkpoint | None
    unproven: Checkpoint | None = None
    partial: bool = False


def in_force(target: History, older: Iterable[History] = ()) -> InForce:
    """The checkpoint that holds for the target's current rows.

    Walks the ancestors of the target's head to the first that carries a checkpoint in its summary. The property counts
    beside it only if the head that it was written at is on that walk; the higher epoch wins, and the summary on a tie.
    Where the walk breaks at an expired parent, ``older`` histories (newest first; read only then) complete it.

    The property never wins merely because its snapshot has expired: a target rolled back from X2 to X1, with X2 then
    expired, would lose X2's range in silence.

    Raises CheckpointError for a checkpoint on the way that cannot be read.
    """
    text = target.properties.get(KEY)
    mirrored = None if text is None else parse(text, f"the property '{KEY}' of {target.table}")
    proven: set[int | None] = {None} if target.current_snapshot_id is None else set()
    found: Checkpoint | None = None
    for snapshot in ancestry(target, older):
        if PARTIAL_BUILD_KEY in snapshot.summary:
            return InForce(None, partial=True)
        proven.add(snapshot.snapshot_id)
        found = _carried_by(snapshot, target)
        if found is not None:
            break
    if (
        mirrored is not None
        and mirrored.target_snapshot_id in proven
        and (found is None or mirrored.epoch > found.epoch)
    ):
        return InForce(mirrored)
    return InForce(found, unproven=mirrored if found is None else None)


def half_published(target: History, older: Iterable[History] = ()) -> Snapshot | None:
    """The newest commit of the target that is only a part of a run, whose other part never came; None normally.

    A run's commits reach the target together, the last with its checkpoint. A position that was set by hand since then
    says that somebody has looked at the rows.
    """
    text = target.properties.get(KEY)
    looked_at = None if text is None else parse(text, f"the property '{KEY}' of {target.table}").target_snapshot_id
    for snapshot in ancestry(target, older):
        if KEY in snapshot.summary or snapshot.snapshot_id == looked_at:
            return None
        if PART_KEY in snapshot.summary:
            return snapshot
    return None


def ancestry(target: History, older: Iterable[History]) -> Iterator[Snapshot]:
    """The target's ancestors, newest first, completed from older metadata where the current one has forgotten them.

    A replayed publish (a cherry-pick) stands for the snapshot that it names as its source, which follows it here.
    """
    remaining = iter(older)
    known: dict[int, Snapshot] = dict(target.snapshots)
    wanted = target.current_snapshot_id
    seen: set[int] = set()
    while wanted is not None and wanted not in seen:
        while wanted not in known:
            history = next(remaining, None)
            if history is None:
                return
            if target.table_uuid is None or history.table_uuid == target.table_uuid:
                known = {**history.snapshots, **known}
        snapshot = known[wanted]
        seen.add(wanted)
        yield snapshot
        picked = known.get(_whole(snapshot.summary.get("source-snapshot-id")) or 0)
        if picked is not None and picked.snapshot_id not in seen and KEY in picked.summary:
            if not _comes_from(snapshot.parent_id, picked.parent_id, known):
                return  # the rows that it was built on are not here, so no checkpoint is proven
            yield picked
        wanted = snapshot.parent_id


def _comes_from(snapshot_id: int | None, ancestor: int | None, known: Mapping[int, Snapshot]) -> bool:
    """Whether a snapshot is ``ancestor``, or a descendant of it by the parents that are known."""
    seen: set[int] = set()
    while snapshot_id != ancestor:
        if snapshot_id is None or snapshot_id in seen or snapshot_id not in known:
            return False
        seen.add(snapshot_id)
        snapshot_id = known[snapshot_id].parent_id
    return True


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _carried_by(snapshot: Snapshot, target: History) -> Checkpoint | None:
    text = snapshot.summary.get(KEY)
    return None if text is None else parse(text, f"the summary of snapshot {snapshot.snapshot_id} of {target.table}")

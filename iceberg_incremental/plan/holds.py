"""Held positions: tags by which a model keeps what it has still to read in its sources' own metadata.

Iceberg's ``expire_snapshots``, whatever tool calls it, leaves a tag and its snapshot alone until the snapshot reaches
the age that the tag allows, counted from the snapshot's commit. So the age of a tag is the snapshot's age now, and the
time for which it is held from now on.

A run makes the tag of its own epoch before it builds, and drops those of earlier epochs when it is published: whatever
becomes of the run, the position from which the next one continues is held.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from ..table.checkpoint import Position
from ..table.history import History, TableName

_PREFIX = "ip_held_by."
_MINUTE_MS = 60_000
_ENOUGH = 0.75
"""The share of the time for which a position is to be held that is left before its tag is made again."""


@dataclass(frozen=True)
class Hold:
    """A tag to be made in a source. ``minutes``: the age that it allows, counted from the snapshot's commit."""

    tag: str
    snapshot_id: int
    minutes: int


def tag_of(target: TableName, epoch: int) -> str:
    """The name of the tag by which a model's table holds its position of an epoch; it shows who reads the source."""
    return f"{_PREFIX}{target}.{epoch}"


def hold_of(
    source: History, target: TableName, epoch: int, position: Position, time: timedelta, now_ms: int
) -> Hold | None:
    """The tag that a position lacks; None where there is no snapshot to hold, or a tag holds it long enough.

    ``time``: for how long from now on. A source that is read as a whole has nothing to hold.
    """
    snapshot_id = position.snapshot_id
    if snapshot_id is None or snapshot_id not in source.snapshots or position.as_of:
        return None
    tag, time_ms = tag_of(target, epoch), time / timedelta(milliseconds=1)
    committed_ms = now_ms if position.timestamp_ms is None else position.timestamp_ms
    age_ms = source.ref_ages.get(tag, math.inf)
    if source.refs.get(tag) == snapshot_id and committed_ms + age_ms - now_ms >= _ENOUGH * time_ms:
        return None
    return Hold(tag, snapshot_id, math.ceil((max(now_ms - committed_ms, 0) + time_ms) / _MINUTE_MS))


def outdated(source: History, target: TableName, epoch: int) -> list[str]:
    """The tags of a model's table in a source that are of other epochs than this one."""
    start = tag_of(target, 0)[:-1]
    own = [name for name in source.refs if name.startswith(start) and name.removeprefix(start).isdecimal()]
    return sorted(name for name in own if name != tag_of(target, epoch))

"""Held positions: tags in sources that keep the snapshots from which models continue.

Iceberg's ``expire_snapshots`` never removes a tagged snapshot before it reaches the maximum age of the tag, whichever
tool runs it. This age is counted from the snapshot's commit, so a tag's age is the snapshot's current age plus the
duration of the hold.

A run creates the tag of its own epoch before it builds, and drops those of earlier epochs after it has published.
Whether or not the run succeeds, the position from which the next run continues is held.
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
"""A tag is created again when less than this share of the duration is left."""


@dataclass(frozen=True)
class Hold:
    """A tag to create in a source. ``minutes``: its maximum age, counted from the snapshot's commit."""

    tag: str
    snapshot_id: int
    minutes: int


def tag_of(target: TableName, epoch: int) -> str:
    """The name of a tag for an epoch of a model's table. It shows which table reads the source."""
    return f"{_PREFIX}{target}.{epoch}"


def hold_of(
    source: History, target: TableName, epoch: int, position: Position, time: timedelta, now_ms: int
) -> Hold | None:
    """The tag to create for a position. None without a snapshot, or if an existing tag holds it long enough.

    ``time``: the duration of the hold, from now. A source that is read as a whole needs no tag.
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
    """The tags of a model's table in a source that belong to other epochs."""
    start = tag_of(target, 0)[:-1]
    own = [name for name in source.refs if name.startswith(start) and name.removeprefix(start).isdecimal()]
    return sorted(name for name in own if name != tag_of(target, epoch))

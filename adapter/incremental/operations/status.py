"""The status of models: where each stands in each of its sources, what is pending, and what the next run would do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..explain.wording import age, counted, instant, rows_text, size_text
from ..plan.breaks import Break
from ..plan.changes import Rewritten
from ..plan.ranges import Range
from ..plan.refusals import Refusal
from ..table.checkpoint import Position
from ..table.history import History, TableName

_MAX_SNAPSHOT_AGE = "history.expire.max-snapshot-age-ms"
_DEFAULT_MAX_SNAPSHOT_AGE_MS = 5 * 24 * 3_600_000
"""Iceberg's default for ``expire_snapshots``: five days."""

NOTHING_TO_DO = "nothing to do"
"""What the next run of a model does that is up to date."""


@dataclass(frozen=True)
class SourceStatus:
    """A model's standing in one source.

    ``pending``: ``nothing``, the kind of a range (``append``, ``full``, ``net``; ``empty`` where a table that is read
    as a whole has lost its rows), the cause of a break, ``rewritten``, ``not readable`` or ``missing``. Sizes in bytes,
    times in ms. ``records_at_most``: there may be fewer rows.
    ``waiting_snapshots``: how many more wait for later runs, by the model's limits.
    ``expiry_risk``: ``none``; ``due``, where the position is older than the source's maximum snapshot age, so that an
    ``expire_snapshots`` may remove what has not been read yet; ``broken``, where the history has broken already.
    """

    source: str
    position_snapshot_id: int | None
    position_timestamp_ms: int | None
    pending: str
    snapshots: int = 0
    files: int = 0
    records: int = 0
    bytes: int = 0
    records_at_most: bool = False
    waiting_snapshots: int = 0
    age_ms: int | None = None
    expiry_risk: str = "none"


@dataclass(frozen=True)
class ModelStatus:
    """A model's standing: its epoch, what the next run would do, and its sources. ``error`` where a run would fail."""

    model: str
    target: str
    epoch: int
    next_run: str
    error: str | None = None
    sources: Sequence[SourceStatus] = field(default_factory=tuple)

    @property
    def is_due(self) -> bool:
        """Whether the next run would change the table or its checkpoint."""
        return self.error is None and self.next_run != NOTHING_TO_DO


def source_status(history: History, position: Position | None, found: Range | Refusal, now_ms: int) -> SourceStatus:
    """Judge a model's standing in one source at the time ``now_ms``."""
    counts: dict[str, Any] = {}
    risk = "none"
    if not isinstance(found, Range):
        pending = _refusal(found)
        risk = "broken" if isinstance(found, Break) else "none"
    elif not found.brings_rows:
        pending = "nothing"
        counts = {"waiting_snapshots": found.waiting}
    else:
        pending = found.kind.value
        counts = {
            "snapshots": found.counts.snapshots,
            "files": found.counts.files,
            "records": found.counts.records,
            "bytes": found.counts.size,
            "records_at_most": found.counts.at_most,
            "waiting_snapshots": found.waiting,
        }
        risk = "due" if position is not None and _is_due(history, position, now_ms) else "none"
    return replace(standing(history.table, position, pending, now_ms), expiry_risk=risk, **counts)


def standing(source: TableName, position: Position | None, pending: str, now_ms: int) -> SourceStatus:
    """A model's standing in one source, as far as its position says it."""
    known = position or Position(None, None, None, None)
    return SourceStatus(
        source=str(source),
        position_snapshot_id=known.snapshot_id,
        position_timestamp_ms=known.timestamp_ms,
        pending=pending,
        age_ms=None if known.timestamp_ms is None else now_ms - known.timestamp_ms,
    )


def _refusal(found: Refusal) -> str:
    if isinstance(found, Break):
        return found.cause.value
    return "rewritten" if isinstance(found, Rewritten) else "not readable"


def _is_due(history: History, position: Position, now_ms: int) -> bool:
    text = history.properties.get(_MAX_SNAPSHOT_AGE, "")
    limit = int(text) if text.isdecimal() else _DEFAULT_MAX_SNAPSHOT_AGE_MS
    return position.timestamp_ms is not None and now_ms - position.timestamp_ms > limit


def as_json(statuses: Sequence[ModelStatus]) -> str:
    """The statuses as one JSON array."""
    return json.dumps([asdict(status) for status in statuses], indent=2)


def as_text(statuses: Sequence[ModelStatus]) -> str:
    """The statuses as lines to read."""
    if not statuses:
        return "No model of this project is materialized as 'iceberg_incremental_snapshot'."
    lines: list[str] = []
    for status in statuses:
        lines.append(f"{status.model} ({status.target}), epoch {status.epoch}: {status.next_run}")
        if status.error is not None:
            lines += [f"    {line}" for line in status.error.splitlines()]
        lines += [f"  {_line(source)}" for source in status.sources]
    return "\n".join(lines)


def _line(source: SourceStatus) -> str:
    if source.position_snapshot_id is None or source.position_timestamp_ms is None:
        where = "not read yet"
    else:
        where = f"read up to {source.position_snapshot_id} of {instant(source.position_timestamp_ms)}"
        where += f" ({age(source.age_ms or 0)} ago)"
    if source.pending == "nothing":
        pending = "nothing pending"
        if source.waiting_snapshots:
            pending = (
                f"no new rows for the next run, and {counted(source.waiting_snapshots, 'snapshot')} for later runs"
            )
    elif source.snapshots:
        pending = (
            f"pending ({source.pending}): {counted(source.snapshots, 'snapshot')}, {counted(source.files, 'file')}, "
            f"{rows_text(source.records, source.records_at_most)}, {size_text(source.bytes)}"
        )
        if source.waiting_snapshots:
            pending += f", and {counted(source.waiting_snapshots, 'snapshot')} more for later runs"
    elif source.pending == "missing":
        pending = "the table does not exist"
    else:
        pending = f"pending: {source.pending}"
    risk = "; snapshots not read yet may expire: run soon" if source.expiry_risk == "due" else ""
    return f"{source.source}: {where}; {pending}{risk}"

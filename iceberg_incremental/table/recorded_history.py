"""What a checkpoint records about a history table: its configs, and the latest time of a version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RecordedHistory:
    """The configs of a history table.

    ``key``, ``check_cols``: names in lower case, sorted. ``check_cols`` is empty for all columns. ``marks``: other
    configs on which the rows depend. ``latest_ms``: the latest time at which a version began or ended. Later commits
    count from this time, even if their own times are earlier. ``has_whole_log``: whether the log had all events of the
    versions when it was last read.
    """

    key: tuple[str, ...]
    check_cols: tuple[str, ...]
    marks: Mapping[str, str]
    latest_ms: int
    has_whole_log: bool = False


def to_document(history: RecordedHistory) -> dict[str, Any]:
    """The record as JSON values for a checkpoint."""
    return {
        "key": list(history.key),
        "check_cols": list(history.check_cols),
        "marks": dict(history.marks),
        "latest_ms": history.latest_ms,
        **({"has_whole_log": True} if history.has_whole_log else {}),
    }


def from_document(document: object) -> RecordedHistory | None:
    """The record from the JSON values of a checkpoint. None if it is missing or cannot be read."""
    if not isinstance(document, Mapping):
        return None
    key, check_cols, marks = (document.get(each) for each in ("key", "check_cols", "marks"))
    latest = document.get("latest_ms")
    if not isinstance(key, list) or not isinstance(check_cols, list) or not isinstance(marks, Mapping):
        return None
    if not isinstance(latest, int) or isinstance(latest, bool):
        return None
    return RecordedHistory(
        tuple(map(str, key)),
        tuple(map(str, check_cols)),
        {str(name): str(value) for name, value in marks.items()},
        latest,
        document.get("has_whole_log") is True,
    )

"""What a checkpoint records of a history table: how it was kept, and up to which time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RecordedHistory:
    """How a history table was kept.

    ``key``, ``check_cols``: names in lower case, sorted; ``check_cols`` is empty for all columns. ``marks``: what else
    the table's rows depend on, by config. ``latest_ms``: the latest time at which a version began or ended: later
    commits count from then on, whatever their own times are. ``has_whole_log``: whether the events that the versions
    are from are those of a log that had all of them when it was last read.
    """

    key: tuple[str, ...]
    check_cols: tuple[str, ...]
    marks: Mapping[str, str]
    latest_ms: int
    has_whole_log: bool = False


def to_document(history: RecordedHistory) -> dict[str, Any]:
    """The record as it stands in a checkpoint."""
    return {
        "key": list(history.key),
        "check_cols": list(history.check_cols),
        "marks": dict(history.marks),
        "latest_ms": history.latest_ms,
        **({"has_whole_log": True} if history.has_whole_log else {}),
    }


def from_document(document: object) -> RecordedHistory | None:
    """The record that a checkpoint holds; None where it holds none that can be read."""
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

"""Bounded reprocessing: the event-time window of ``dbt run --event-time-start … --event-time-end …``.

The window is read again from each source as the model has last consumed it, so the checkpoint stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..table.partitions import configured


@dataclass(frozen=True)
class EventWindow:
    """From ``start`` (inclusive) to ``end`` (exclusive), as dbt gives them: UTC, without a zone."""

    start: datetime
    end: datetime

    def __str__(self) -> str:
        return f"{self.start.isoformat(sep=' ')} to {self.end.isoformat(sep=' ')} UTC"


@dataclass(frozen=True)
class WindowOf:
    """The rows of a source whose event time, the ``column`` of this name, is in a window."""

    window: EventWindow
    column: str

    def __str__(self) -> str:
        return f"{self.column} from {self.window}"


def holds_whole_partitions(window: EventWindow, partition_by: str | Sequence[str] | None, event_time: str) -> bool:
    """Whether every partition of a table lies in the window as a whole, or not at all; ``event_time``: a column's name.

    That is so where one of its fields divides the event time, and the window begins and ends where such a field does.
    """
    column = event_time.lower()
    for field in configured(partition_by):
        name, _, argument = field.rstrip(")").partition("(")
        if (argument or name) == column and (not argument or name in _BEGINS):
            begins = _BEGINS[name if argument else "days"]
            return all(end == end.replace(**begins) for end in (window.start, window.end))
    return False


_HOUR: dict[str, Any] = {"minute": 0, "second": 0, "microsecond": 0}
_DAY = {**_HOUR, "hour": 0}
_MONTH = {**_DAY, "day": 1}
_BEGINS = {"hours": _HOUR, "days": _DAY, "months": _MONTH, "years": {**_MONTH, "month": 1}}
"""The parts of a time at which a partition begins, by transform."""

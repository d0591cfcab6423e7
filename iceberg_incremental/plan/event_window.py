"""The event-time window of ``dbt run --event-time-start … --event-time-end …``, which is processed again.

The window is read from each source at the position in the model's checkpoint, so the checkpoint does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..table.layout import normal_fields


@dataclass(frozen=True)
class EventWindow:
    """A window from ``start`` (inclusive) to ``end`` (exclusive), in UTC without a zone, as dbt passes it."""

    start: datetime
    end: datetime

    def __str__(self) -> str:
        return f"{self.start.isoformat(sep=' ')} to {self.end.isoformat(sep=' ')} UTC"


@dataclass(frozen=True)
class WindowOf:
    """The rows of a source whose event time, in the column ``column``, is within a window."""

    window: EventWindow
    column: str

    def __str__(self) -> str:
        return f"{self.column} from {self.window}"


def holds_whole_partitions(window: EventWindow, partition_by: str | Sequence[str] | None, event_time: str) -> bool:
    """Whether every partition of a table is completely inside or outside the window. ``event_time``: a column name.

    This requires a partition field on the event time, and a window that starts and ends at its boundaries.
    """
    column = event_time.lower()
    for field in normal_fields(partition_by):
        name, _, argument = field.rstrip(")").partition("(")
        if (argument or name) == column and (not argument or name in _BEGINS):
            begins = _BEGINS[name if argument else "days"]
            return all(end == end.replace(**begins) for end in (window.start, window.end))
    return False


_HOUR: dict[str, Any] = {"minute": 0, "second": 0, "microsecond": 0}
_DAY = {**_HOUR, "hour": 0}
_MONTH = {**_DAY, "day": 1}
_BEGINS = {"hours": _HOUR, "days": _DAY, "months": _MONTH, "years": {**_MONTH, "month": 1}}
"""The time components at which a partition begins, by transform."""

"""Bounded reprocessing: the event-time window of ``dbt run --event-time-start … --event-time-end …``.

The window is read again from each source as the model has last consumed it, so the checkpoint stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

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
            begins = _BEGINS.get(name if argument else "days")
            return begins is not None and begins(window.start) and begins(window.end)
    return False


def _begins_hour(moment: datetime) -> bool:
    return (moment.minute, moment.second, moment.microsecond) == (0, 0, 0)


def _begins_day(moment: datetime) -> bool:
    return moment.hour == 0 and _begins_hour(moment)


def _begins_month(moment: datetime) -> bool:
    return moment.day == 1 and _begins_day(moment)


def _begins_year(moment: datetime) -> bool:
    return moment.month == 1 and _begins_month(moment)


_BEGINS = {"hours": _begins_hour, "days": _begins_day, "months": _begins_month, "years": _begins_year}

"""The time at which a run reads the clock, which its checkpoint records."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DATE, TIME = "date", "time"
"""The parts of a clock: the day, which changes at midnight, and the time, which always changes."""
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class UnknownTimeZoneError(ValueError):
    """A time zone of Spark that Python does not know."""


@dataclass(frozen=True)
class Clock:
    """A time in a time zone. ``instant``: microseconds since the epoch. ``zone``: as ``spark.sql.session.timeZone``."""

    instant: int
    zone: str

    @property
    def local(self) -> datetime:
        """The local time. Raises UnknownTimeZoneError."""
        return (_EPOCH + timedelta(microseconds=self.instant)).astimezone(_zone(self.zone))

    @property
    def date(self) -> str:
        """The local date, as ``YYYY-MM-DD``. Raises UnknownTimeZoneError."""
        return self.local.date().isoformat()

    def has_moved(self, now: Clock, parts: Collection[str]) -> bool:
        """Whether some parts differ at another time."""
        return (TIME in parts and self.instant != now.instant) or (DATE in parts and self.date != now.date)


def now_in(zone: str) -> Clock:
    """The present time in a time zone."""
    return Clock((datetime.now(timezone.utc) - _EPOCH) // timedelta(microseconds=1), zone)


def require_zone(name: str) -> str:
    """The name of a time zone. Raises UnknownTimeZoneError for an unknown one."""
    _zone(name)
    return name


def to_document(clock: Clock, parts: Collection[str]) -> Mapping[str, Any]:
    """The JSON object in a checkpoint. ``parts``: those that the SQL reads."""
    return {"instant": clock.instant, "zone": clock.zone, "parts": sorted(parts)}


def from_document(document: object) -> tuple[Clock, frozenset[str]] | None:
    """The clock and its parts from a checkpoint. None for an object of another form."""
    if not isinstance(document, dict):
        return None
    instant, zone, parts = document.get("instant"), document.get("zone"), document.get("parts")
    if not isinstance(instant, int) or not isinstance(zone, str) or not isinstance(parts, list):
        return None
    return Clock(instant, zone), frozenset(map(str, parts))


def _zone(name: str) -> tzinfo:
    if name in ("Z", "UTC", "GMT", "UT"):
        return timezone.utc
    found = _OFFSET.fullmatch(name)
    if found is not None:
        sign, hours, minutes, seconds = found.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownTimeZoneError(name) from error

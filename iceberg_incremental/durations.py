"""Durations in configs, arguments and options: ``14 days``, ``36h``, ``1m30s``, ``500ms``."""

from __future__ import annotations

import re
from datetime import timedelta

EXAMPLES = "such as '14 days', '36 hours', '1m30s' or '500ms'"

_UNITS = {
    "milliseconds": ("ms", "millisecond"),
    "seconds": ("s", "sec", "second"),
    "minutes": ("m", "min", "minute"),
    "hours": ("h", "hour"),
    "days": ("d", "day"),
    "weeks": ("w", "week"),
}
_UNIT_OF = {
    name: unit
    for unit, names in _UNITS.items()
    for each in names
    for name in ((each, f"{each}s") if len(each) > 2 else (each,))
}
_PART = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([a-z]+)\s*")


def duration(value: object) -> timedelta | None:
    """Parse a duration, which may be zero. None for any other value."""
    if not isinstance(value, str) or not value.strip() or _PART.sub("", value):
        return None
    found = timedelta()
    for number, name in _PART.findall(value):
        if name not in _UNIT_OF:
            return None
        try:
            found += timedelta(**{_UNIT_OF[name]: float(number)})
        except OverflowError:
            return None
    return found

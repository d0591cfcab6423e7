"""Numbers, sizes and times as text for users."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone


def counted(number: int, noun: str) -> str:
    """A number with a noun, for example ``1 file`` or ``1,200 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rows_text(rows: int, at_most: bool) -> str:
    """A number of rows, or the maximum number."""
    return f"{'at most ' if at_most else ''}{counted(rows, 'row')}"


def size_text(size: int) -> str:
    """A number of bytes, in the largest binary unit with a value of at least 1."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"


def instant(timestamp_ms: int) -> str:
    """A time in UTC. As a number of milliseconds if it is outside the years 1 to 9999."""
    try:
        found = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms since 1970"
    return found.strftime("%Y-%m-%d %H:%M:%S UTC")


def age(milliseconds: int) -> str:
    """A duration in its largest unit."""
    seconds = max(milliseconds, 0) // 1000
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return counted(seconds // length, unit)
    return counted(seconds, "second")

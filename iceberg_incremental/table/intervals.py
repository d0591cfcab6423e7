"""Between which values a column lies in a data file, as its partition and its metrics say."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

from .changed_files import DataFile, PartitionField

DAY_US = 86_400_000_000
"""Microseconds of a day."""
TIMES = ("timestamp", "timestamptz")
_HOUR_US = 3_600_000_000
_LONGEST_STRING = 256
_DECIMAL = re.compile(r"decimal\(\s*\d+\s*,\s*(\d+)\s*\)")
_TRUNCATE = re.compile(r"truncate\[(\d+)\]")
_SIZES = {"int": (4, 8), "long": (4, 8), "date": (4,), **dict.fromkeys(TIMES, (8,))}
"""Bytes of a bound, by type; an int's bound stays when its column becomes a long."""


@dataclass(frozen=True)
class Interval:
    """The values that a column may have in some file: closed, in Iceberg's units; None is no bound on that side.

    ``has_values`` is False where the column is NULL in every row.
    """

    lower: Any = None
    upper: Any = None
    has_nulls: bool = True
    has_values: bool = True

    @property
    def is_bound(self) -> bool:
        """Whether it excludes any value."""
        return not self.has_values or self.lower is not None or self.upper is not None

    @property
    def is_point(self) -> bool:
        """Whether it holds one value only."""
        return self.has_values and not self.has_nulls and self.lower is not None and self.lower == self.upper

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that contains both."""
        nulls = self.has_nulls or other.has_nulls
        if not self.has_values or not other.has_values:
            kept = self if self.has_values else other
            return Interval(kept.lower, kept.upper, nulls, kept.has_values)
        return Interval(
            None if self.lower is None or other.lower is None else min(self.lower, other.lower),
            None if self.upper is None or other.upper is None else max(self.upper, other.upper),
            nulls,
        )


def enclosing_interval(intervals: Sequence[Interval]) -> Interval:
    """The smallest interval that contains all of at least one interval."""
    return reduce(Interval.hull, intervals)


def safe_lower(text: str) -> str | None:
    """A lower bound of strings that Iceberg sees as Spark does; None where nothing is left of it.

    A string may hold bytes that are not UTF-8. Spark compares its bytes. Iceberg reads U+FFFD where it cannot decode
    them, in the bounds that it writes into a manifest and in what it compares with a predicate. Up to the first
    character from U+FFFD on, both agree that a string is above the bound.
    """
    safe = re.split("[\ufffd-\U0010ffff]", text, maxsplit=1)[0]
    return safe or None


def safe_upper(text: str) -> str | None:
    """An upper bound of strings that Iceberg sees as Spark does; None where nothing is left of it.

    Bytes that are not UTF-8 are all above ASCII, as is U+FFFD, so that both agree on a bound in ASCII. It is next to
    the ASCII characters with which ``text`` begins.
    """
    safe = re.split("[^\x00-\x7f]", text, maxsplit=1)[0]
    if safe == text:
        return text
    safe = safe.rstrip("\x7f")  # the last one of ASCII, which nothing in ASCII follows
    return safe[:-1] + chr(ord(safe[-1]) + 1) if safe else None


def interval_of(file: DataFile, field_id: int, type_: str) -> Interval:
    """What a file's partition and metrics say of one column."""
    by_transform = {
        spec.transform: _of_partition(spec, value, type_)
        for spec, value in zip(file.spec, file.partition, strict=True)
        if spec.source_id == field_id and _tells(spec, type_)
    }
    measured = by_transform.get("identity") or _of_metrics(file, field_id, type_)
    found = measured if measured.is_bound else next(iter(by_transform.values()), measured)
    if file.path.endswith(".orc") and type_ in TIMES and found.has_values and (found.lower is None or found.lower < 0):
        # Fractions of a second before 1970 are read from ORC a second later than they were written (Iceberg 1.12).
        return Interval(has_nulls=found.has_nulls)
    return found


def _of_metrics(file: DataFile, field_id: int, type_: str) -> Interval:
    nulls = file.nulls.get(field_id)
    if nulls is not None and nulls > 0 and nulls == file.values.get(field_id):
        return Interval(has_values=False)
    lower, upper = _decoded(file.lower.get(field_id), type_), _decoded(file.upper.get(field_id), type_)
    return _between(lower, upper, has_nulls=nulls != 0)


def _between(lower: Any, upper: Any, *, has_nulls: bool) -> Interval:
    """The interval of decoded bounds; wider for strings, where Iceberg may compare otherwise than Spark does."""
    if isinstance(lower, str):
        lower = safe_lower(lower)
    if isinstance(upper, str):
        upper = safe_upper(upper)
    return Interval(lower, upper, has_nulls)


def _of_partition(spec: PartitionField, value: Any, type_: str) -> Interval:
    """The interval of a source column behind a partition value."""
    if value is None:
        return Interval(has_values=False)
    if spec.transform == "identity":
        return _between(value, value, has_nulls=False)
    truncate = _TRUNCATE.fullmatch(spec.transform)
    if truncate:
        return Interval(value, value + int(truncate[1]) - 1, has_nulls=False)
    first, after = _times(spec.transform, value)
    if value <= 0:
        first = _times(spec.transform, value - 1)[0]  # writers before Iceberg 0.10 rounded times before 1970 up
    if type_ == "date":
        return Interval(first // DAY_US, after // DAY_US - 1, has_nulls=False)
    return Interval(first, after - 1, has_nulls=False)


def _tells(spec: PartitionField, type_: str) -> bool:
    """Whether a transform's value bounds a source column of this type."""
    if spec.transform == "identity":
        return True
    if _TRUNCATE.fullmatch(spec.transform):
        return type_ in ("int", "long")
    if spec.transform == "hour":
        return type_ in TIMES
    return spec.transform in ("year", "month", "day") and type_ in ("date", *TIMES)


def _times(transform: str, value: int) -> tuple[int, int]:
    """The first microsecond of a partition by time, and the first after it; proleptic Gregorian, in UTC."""
    if transform == "hour":
        return value * _HOUR_US, (value + 1) * _HOUR_US
    if transform == "day":
        return value * DAY_US, (value + 1) * DAY_US
    months = 12 if transform == "year" else 1
    return _month_us(value * months), _month_us((value + 1) * months)


def _month_us(months: int) -> int:
    """The first microsecond of a month, counted from January 1970. Days from civil, years shifted to March."""
    year, month = 1970 + months // 12, months % 12 + 1
    shifted = year - (month <= 2)
    era, of_era = shifted // 400, shifted % 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5
    return (era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468) * DAY_US


def _decoded(raw: bytes | None, type_: str) -> Any:
    """A bound of a manifest (Iceberg's binary single-value serialization); None where it cannot be used."""
    if raw is None:
        return None
    if type_ == "string":
        return _text(raw)
    if type_ == "boolean":
        return raw != b"\x00"
    if type_ in _SIZES:
        return struct.unpack("<i" if len(raw) == 4 else "<q", raw)[0] if len(raw) in _SIZES[type_] else None
    decimal = _DECIMAL.fullmatch(type_)
    return _decimal(raw, scale=int(decimal[1])) if decimal and raw else None


def _text(raw: bytes) -> str | None:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if len(text) <= _LONGEST_STRING else None


def _decimal(raw: bytes, scale: int) -> Decimal:
    unscaled = int.from_bytes(raw, "big", signed=True)
    # not by arithmetic, which rounds to the 28 digits of the context
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))

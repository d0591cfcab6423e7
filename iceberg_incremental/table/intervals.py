"""The range of values of a column in a data file, from the file's partition and metrics."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

from .files import DataFile, PartitionField
from .types import IcebergType

DAY_US = 86_400_000_000
"""Microseconds per day."""
TIMES = ("timestamp", "timestamptz")
_HOUR_US = 3_600_000_000
_LONGEST_STRING = 256
_DECIMAL = re.compile(r"decimal\(\s*\d+\s*,\s*(\d+)\s*\)")
_TRUNCATE = re.compile(r"truncate\[(\d+)\]")
_SIZES = {"int": (4, 8), "long": (4, 8), "date": (4,), **dict.fromkeys(TIMES, (8,))}
"""The number of bytes of a bound, by type. The bound of an int stays when its column becomes a long."""
_END_MS = 253_402_300_800_000
"""The end of the year 9999 in milliseconds, which is in 1978 if it is read as microseconds."""


@dataclass(frozen=True)
class Interval:
    """The values that a column may have in a file, as a closed interval in Iceberg's units. None means no bound.

    ``has_values``: False if the column is NULL in every row.
    """

    lower: Any = None
    upper: Any = None
    has_nulls: bool = True
    has_values: bool = True

    @property
    def is_bound(self) -> bool:
        """Whether the interval excludes any value."""
        return not self.has_values or self.lower is not None or self.upper is not None

    @property
    def is_point(self) -> bool:
        """Whether the interval contains only one value."""
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
    """The smallest interval that contains all given intervals. At least one is required."""
    return reduce(Interval.hull, intervals)


def safe_lower(text: str) -> str | None:
    """A lower bound of strings that holds for both Iceberg and Spark. None if there is no such bound.

    A string may contain bytes that are not UTF-8. Spark compares the bytes. Iceberg replaces undecodable bytes by
    U+FFFD, both in the bounds of manifests and in predicates. The part before the first character that is U+FFFD or
    greater is a lower bound for both.
    """
    safe = re.split("[\ufffd-\U0010ffff]", text, maxsplit=1)[0]
    return safe or None


def safe_upper(text: str) -> str | None:
    """An upper bound of strings that holds for both Iceberg and Spark. None if there is no such bound.

    Bytes that are not UTF-8 are greater than ASCII, and so is U+FFFD. Both therefore agree on a bound in ASCII: the
    successor of the ASCII characters at the start of ``text``.
    """
    safe = re.split("[^\x00-\x7f]", text, maxsplit=1)[0]
    if safe == text:
        return text
    safe = safe.rstrip("\x7f")  # the last ASCII character has no successor in ASCII
    return safe[:-1] + chr(ord(safe[-1]) + 1) if safe else None


def interval_of(file: DataFile, field_id: int, type_: str) -> Interval:
    """The values of a column in a file, from the file's partition and metrics."""
    by_transform = {
        spec.transform: _of_partition(spec, value, type_)
        for spec, value in zip(file.spec, file.partition, strict=True)
        if spec.source_id == field_id and _is_bounding(spec, type_)
    }
    measured = by_transform.get("identity") or _of_metrics(file, field_id, type_)
    found = measured if measured.is_bound else next(iter(by_transform.values()), measured)
    if file.path.endswith(".orc") and type_ in TIMES and found.has_values and (found.lower is None or found.lower < 0):
        # Iceberg 1.12 reads fractional times before 1970 from ORC one second too late.
        return Interval(has_nulls=found.has_nulls)
    return found


def has_partition_values(file: DataFile, types: Mapping[int, IcebergType]) -> bool:
    """Whether a file's metrics prove that it contains the values of its identity partition fields, in every row.

    Metrics describe the columns in the file itself. An imported file may lack a partition column or have other values
    in it, while Iceberg reads the partition's value. ``types``: the types of the table's columns by field id.
    """
    return all(
        _has_value(file, field.source_id, value, types.get(field.source_id))
        for field, value in zip(file.spec, file.partition, strict=True)
        if field.transform == "identity"
    )


def _has_value(file: DataFile, field_id: int, value: Any, type_: IcebergType | None) -> bool:
    """Whether a file's metrics prove that a column has one value in every row."""
    if not isinstance(type_, str) or file.values.get(field_id) != file.records:
        return False
    if value is None:
        return file.nulls.get(field_id) == file.records
    if isinstance(value, str):  # an exact bound, which is not truncated; U+FFFD stands for bytes that are not UTF-8
        bounds = {file.lower.get(field_id), file.upper.get(field_id)}
        return file.nulls.get(field_id) == 0 and bounds == {value.encode()} and "\ufffd" not in value
    measured = _of_metrics(file, field_id, type_)
    return measured.is_point and bool(measured.lower == value)


def _of_metrics(file: DataFile, field_id: int, type_: str) -> Interval:
    nulls = file.nulls.get(field_id)
    if nulls is not None and nulls > 0 and nulls == file.values.get(field_id):
        return Interval(has_values=False)
    lower, upper = _decoded(file.lower.get(field_id), type_), _decoded(file.upper.get(field_id), type_)
    if type_ in TIMES and all(bound is None or abs(bound) < _END_MS for bound in (lower, upper)):
        # From a Parquet file with times in milliseconds, add_files of Iceberg 1.12 copies the bounds unconverted.
        lower = upper = None
    return _between(lower, upper, has_nulls=nulls != 0)


def _between(lower: Any, upper: Any, *, has_nulls: bool) -> Interval:
    """The interval between decoded bounds. Wider for strings, which Iceberg may compare differently from Spark."""
    if isinstance(lower, str):
        lower = safe_lower(lower)
    if isinstance(upper, str):
        upper = safe_upper(upper)
    return Interval(lower, upper, has_nulls)


def _of_partition(spec: PartitionField, value: Any, type_: str) -> Interval:
    """The values of a source column in a partition."""
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


def _is_bounding(spec: PartitionField, type_: str) -> bool:
    """Whether the value of a transform bounds a source column of this type."""
    if spec.transform == "identity":
        return True
    if _TRUNCATE.fullmatch(spec.transform):
        return type_ in ("int", "long")
    if spec.transform == "hour":
        return type_ in TIMES
    return spec.transform in ("year", "month", "day") and type_ in ("date", *TIMES)


def _times(transform: str, value: int) -> tuple[int, int]:
    """The first microsecond of a time partition, and the first one after it; proleptic Gregorian, in UTC."""
    if transform == "hour":
        return value * _HOUR_US, (value + 1) * _HOUR_US
    if transform == "day":
        return value * DAY_US, (value + 1) * DAY_US
    months = 12 if transform == "year" else 1
    return _month_us(value * months), _month_us((value + 1) * months)


def _month_us(months: int) -> int:
    """The first microsecond of a month that is counted from January 1970. Years start in March in this algorithm."""
    year, month = 1970 + months // 12, months % 12 + 1
    shifted = year - (month <= 2)
    era, of_era = shifted // 400, shifted % 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5
    return (era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468) * DAY_US


def _decoded(raw: bytes | None, type_: str) -> Any:
    """A bound in a manifest, decoded from Iceberg's binary single-value serialization. None if it cannot be used."""
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
    # arithmetic would round to the 28 digits of the decimal context
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))

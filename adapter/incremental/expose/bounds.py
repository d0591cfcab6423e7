"""Which rows the changed files can hold, as a predicate over literals, so that Spark plans no other files.

The predicate keeps every row of these files: a disjunction of boxes, one a file (or a hull of several), each a
conjunction of what the manifests say of the file's columns; what the boxes have in common is said once. It
depends on a row's values alone, so both ends of a range can be read under the same one: the rows of other files that
pass it do so at both ends, and cancel out.
"""

from __future__ import annotations

import datetime
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

from ...sql import sql_name, sql_string
from ..table.changed_files import ChangedFiles, DataFile, PartitionField, TableColumn
from .projection import sql_type

_MOST_BOXES = 64
_MOST_COLUMNS = 6
_LONGEST_STRING = 256
_FEW = 2

_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 (the literal says the zone)
_DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000
_MIN_LONG = -(2**63)
_DECIMAL = re.compile(r"decimal\(\s*\d+\s*,\s*(\d+)\s*\)")
_TRUNCATE = re.compile(r"truncate\[(\d+)\]")
_TIMES = ("timestamp", "timestamptz")
_WHOLE = ("int", "long", "date", *_TIMES)
_BITS = {"int": 32, "long": 64}


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
        """Whether it excludes anything that can be said in SQL."""
        return not self.has_values or self.lower is not None or self.upper is not None

    @property
    def is_point(self) -> bool:
        """Whether it holds one value only."""
        return self.has_values and not self.has_nulls and self.lower is not None and self.lower == self.upper

    def hull(self, other: Interval) -> Interval:
        """The least interval that holds both."""
        nulls = self.has_nulls or other.has_nulls
        if not self.has_values or not other.has_values:
            kept = self if self.has_values else other
            return Interval(kept.lower, kept.upper, nulls, kept.has_values)
        return Interval(
            None if self.lower is None or other.lower is None else min(self.lower, other.lower),
            None if self.upper is None or other.upper is None else max(self.upper, other.upper),
            nulls,
        )


Box = tuple[Interval, ...]


def bounds_sql(changed: ChangedFiles, files: Sequence[DataFile]) -> str | None:
    """The predicate for some of the changed files, over the columns of the end; None where nothing bounds them all."""
    found = _columns(changed, files) if files else {}
    if not found:
        return None
    columns = list(found)
    boxes = _merged({tuple(intervals[i] for intervals in found.values()) for i in range(len(files))})
    return _boxes_sql(columns, boxes)


def _boxes_sql(columns: Sequence[TableColumn], boxes: Sequence[Box]) -> str | None:
    """A disjunction of boxes; None where it would say nothing.

    What its columns nearly have in common stands before it, once. Spark evaluates for every row what Iceberg cannot
    decide by partitions alone, so the shorter it is the better: of daily partitions, all with about the same accounts,
    a list of days and one range of accounts.
    """
    common: list[str] = []
    apart: list[int] = []
    for place, column in enumerate(columns):
        intervals = [box[place] for box in boxes]
        if _is_common(intervals):
            hull = hull_of(intervals)
            if len(boxes) > _FEW:
                hull = _rounded(hull, str(column.type))
            common.append(_interval_sql(sql_name(column.name), str(column.type), hull))
        else:
            apart.append(place)
    rest = dict.fromkeys(tuple(box[place] for place in apart) for box in boxes)
    said = " and ".join(each for each in common if each)
    others = _apart_sql([columns[place] for place in apart], list(rest))
    return f"{said} and ({others})" if said and others else said or others or None


def _apart_sql(columns: Sequence[TableColumn], boxes: Sequence[Box]) -> str:
    """A disjunction of boxes; empty where one of them has no bound that can be written."""
    if len(columns) == 1:
        column, intervals = columns[0], [box[0] for box in boxes]
        points = [literal(each.lower, str(column.type)) for each in intervals if each.is_point]
        if len(points) == len(boxes):
            return f"{sql_name(column.name)} in ({', '.join(points)})"
    written = [_box_sql(columns, box) for box in boxes]
    return " or ".join(f"({each})" for each in written) if all(written) else ""


def _is_common(intervals: Sequence[Interval]) -> bool:
    """Whether each interval fills at least half of the least one that holds them all."""
    if len(set(intervals)) == 1:
        return True
    if any(each.lower is None or each.upper is None or not each.has_values for each in intervals):
        return False
    hull = hull_of(intervals)
    skip = _same_beginning(hull.lower, hull.upper) if isinstance(hull.lower, str) else 0
    return all(2 * _width(each, skip) >= _width(hull, skip) for each in intervals)


def _rounded(interval: Interval, type_: str) -> Interval:
    """Bounds of integers around or next to zero, moved outward by at most a 64th of what lies between them.

    They are those of a numbering of which every commit has about all, as of accounts, so that hardly more files are
    read; numbers that go up with each commit lie apart. Tomorrow's bounds are likely to be the same then, and a
    long-lived Spark has compiled the code for them, of which literal numbers are a part.
    """
    lower, upper, bits = interval.lower, interval.upper, _BITS.get(type_)
    if lower is None or upper is None or bits is None:
        return interval
    step = 1 << max(0, (upper - lower).bit_length() - 7)
    if lower > step or upper < -step:
        return interval
    limit = 1 << (bits - 1)
    return replace(interval, lower=max(lower // step * step, -limit), upper=min(upper // step * step + step, limit) - 1)


def _width(interval: Interval, skip: int) -> float:
    """How much lies between two bounds; strings are compared by a few characters after the first ``skip``."""
    lower, upper = interval.lower, interval.upper
    if isinstance(lower, str):
        lower, upper = (int.from_bytes(text[skip:].encode()[:8].ljust(8, b"\0"), "big") for text in (lower, upper))
    return float(upper - lower) + (1 if isinstance(lower, int) else 0)


def _same_beginning(one: str, other: str) -> int:
    """With how many of the same characters two different strings begin."""
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def hull_of(intervals: Sequence[Interval]) -> Interval:
    """The least interval that holds them all; there must be one at least."""
    hull, *others = intervals
    for other in others:
        hull = hull.hull(other)
    return hull


def _columns(changed: ChangedFiles, files: Sequence[DataFile]) -> dict[TableColumn, list[Interval]]:
    """The columns that every changed file bounds, with their intervals by file: first those that cluster the table."""
    start = {column.field_id: column.type for column in changed.start}
    same = [column for column in changed.end if start.get(column.field_id) == column.type]
    order = {field_id: place for place, field_id in enumerate(changed.clustered_by)}
    found: dict[TableColumn, list[Interval]] = {}
    for column in sorted(same, key=lambda column: order.get(column.field_id, len(order))):
        if len(found) == _MOST_COLUMNS:
            break
        if not isinstance(column.type, str) or not has_literals(column.type):
            continue
        if column.field_id in changed.renamed:
            # Iceberg 1.12 plans a scan of the head by the present names: it would fail, or look at another column.
            continue
        intervals = [interval_of(file, column.field_id, column.type) for file in files]
        if all(interval.is_bound for interval in intervals):
            found[column] = intervals
    return found


def has_literals(type_: str) -> bool:
    """Whether the bounds of a type are known to hold every value, and can be written as literals."""
    # not floats: a bound leaves NaN out
    return type_ in (*_WHOLE, "string", "boolean") or _DECIMAL.fullmatch(type_) is not None


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
    if file.path.endswith(".orc") and type_ in _TIMES and found.has_values and (found.lower is None or found.lower < 0):
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
        return Interval(first // _DAY_US, after // _DAY_US - 1, has_nulls=False)
    return Interval(first, after - 1, has_nulls=False)


def _tells(spec: PartitionField, type_: str) -> bool:
    """Whether a transform's value bounds a source column of this type."""
    if spec.transform == "identity":
        return True
    if _TRUNCATE.fullmatch(spec.transform):
        return type_ in ("int", "long")
    if spec.transform == "hour":
        return type_ in _TIMES
    return spec.transform in ("year", "month", "day") and type_ in ("date", *_TIMES)


def _times(transform: str, value: int) -> tuple[int, int]:
    """The first microsecond of a partition by time, and the first after it; proleptic Gregorian, in UTC."""
    if transform == "hour":
        return value * _HOUR_US, (value + 1) * _HOUR_US
    if transform == "day":
        return value * _DAY_US, (value + 1) * _DAY_US
    months = 12 if transform == "year" else 1
    return _month_us(value * months), _month_us((value + 1) * months)


def _month_us(months: int) -> int:
    """The first microsecond of a month, counted from January 1970. Days from civil, years shifted to March."""
    year, month = 1970 + months // 12, months % 12 + 1
    shifted = year - (month <= 2)
    era, of_era = shifted // 400, shifted % 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5
    return (era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468) * _DAY_US


def _decoded(raw: bytes | None, type_: str) -> Any:
    """A bound of a manifest (Iceberg's binary single-value serialization); None where it cannot be used."""
    if raw is None:
        return None
    if type_ == "string":
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
        return text if len(text) <= _LONGEST_STRING else None
    if type_ == "boolean":
        return raw != b"\x00"
    if type_ in ("int", "long") and len(raw) in (4, 8):  # an int's bound stays when its column becomes a long
        return struct.unpack("<i" if len(raw) == 4 else "<q", raw)[0]
    if (type_ == "date" and len(raw) == 4) or (type_ in _TIMES and len(raw) == 8):
        return struct.unpack("<i" if len(raw) == 4 else "<q", raw)[0]
    decimal = _DECIMAL.fullmatch(type_)
    if decimal and raw:
        unscaled = int.from_bytes(raw, "big", signed=True)
        # not by arithmetic, which rounds to the 28 digits of the context
        return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -int(decimal[1])))
    return None


def _merged(boxes: Iterable[Box]) -> list[Box]:
    """At most ``_MOST_BOXES`` boxes: neighbours by their first columns become their hull, but not across wide gaps."""
    ordered = sorted(boxes, key=lambda box: [_order(interval) for interval in box])
    if len(ordered) <= _MOST_BOXES:
        return ordered
    gaps = [tuple(map(_gap, one, other)) for one, other in pairwise(ordered)]
    least = sorted(gaps)[1 - _MOST_BOXES]
    wider = [place for place, gap in enumerate(gaps) if gap > least]
    equal = [place for place, gap in enumerate(gaps) if gap == least]
    kept = _MOST_BOXES - 1 - len(wider)
    evenly = [equal[number * len(equal) // kept] for number in range(kept)]
    ends = [place + 1 for place in sorted([*wider, *evenly])]
    return [_hull(ordered[first:end]) for first, end in zip([0, *ends], [*ends, len(ordered)], strict=True)]


def _hull(boxes: Sequence[Box]) -> Box:
    return tuple(hull_of(intervals) for intervals in zip(*boxes, strict=True))


def _gap(one: Interval, other: Interval) -> float:
    """How much lies between two intervals of a column, the lower one first; 1 where that is no number."""
    if one.upper is None or other.lower is None or other.lower <= one.upper:
        return 0
    return 1 if isinstance(one.upper, str) else float(other.lower - one.upper)


def _order(interval: Interval) -> list[tuple[bool, Any]]:
    """A key that sorts intervals of one column by their bounds, those without one first."""
    return [(bound is not None, 0 if bound is None else bound) for bound in (interval.lower, interval.upper)] + [
        (interval.has_values, interval.has_nulls)
    ]


def _box_sql(columns: Sequence[TableColumn], box: Box) -> str:
    parts = [
        predicate
        for column, interval in zip(columns, box, strict=True)
        if (predicate := _interval_sql(sql_name(column.name), str(column.type), interval))
    ]
    return " and ".join(parts)


def _interval_sql(name: str, type_: str, interval: Interval) -> str:
    if not interval.has_values:
        return f"{name} is null"
    lower = None if interval.lower is None else literal(interval.lower, type_)
    upper = None if interval.upper is None else literal(interval.upper, type_)
    if lower is not None and lower == upper:
        inside = f"{name} = {lower}"
    else:
        inside = " and ".join(
            f"{name} {sign} {bound}" for sign, bound in ((">=", lower), ("<=", upper)) if bound is not None
        )
    return f"({inside} or {name} is null)" if inside and interval.has_nulls else inside


def literal(value: Any, type_: str) -> str:
    """A bound as a literal of its column's type, which means the same under all settings of a session.

    A time that Python's dates do not reach, and Spark's literals do not all write, is a function of a number.
    """
    if type_ in ("int", "long"):
        return f"({value + 1} - 1)" if value == _MIN_LONG else str(value)
    if type_ == "boolean":
        return str(value).lower()
    if type_ == "string":
        return sql_string(value)
    if type_ == "date":
        days = _moment(value * _DAY_US)
        return f"date_from_unix_date({value})" if days is None else f"date {sql_string(days.date().isoformat())}"
    if type_ in _TIMES:
        time = _moment(value)
        if time is not None:
            zone, kind = ("", "timestamp_ntz") if type_ == "timestamp" else ("+00:00", "timestamp_ltz")
            return f"{kind} {sql_string(time.isoformat(sep=' ', timespec='microseconds') + zone)}"
        ntz = f"timestampadd(MICROSECOND, {value}, timestamp_ntz '1970-01-01 00:00:00')"
        return ntz if type_ == "timestamp" else f"timestamp_micros({value})"
    return f"cast({sql_string(format(value, 'f'))} as {sql_type(type_)})"


def _moment(microseconds: int) -> datetime.datetime | None:
    try:
        return _EPOCH + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        return None

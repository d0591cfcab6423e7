"""A predicate over literals that is true for every row of the changed files, so that Spark can skip other files.

The predicate is a disjunction of boxes. A box is a conjunction of the bounds of a file's columns in the manifests, or
the hull of several such boxes. Bounds that the boxes share are written only once. The predicate depends only on a row's
values, so it can be applied to both ends of a range. Rows of other files that satisfy it do so at both ends, and cancel
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ..sql import sql_name
from ..table.files import ChangedFiles, DataFile, TableColumn
from ..table.intervals import Interval, enclosing_interval, interval_of
from .literals import has_literals, typed_literal

_MOST_BOXES = 64
_MOST_COLUMNS = 6

_BITS = {"int": 32, "long": 64}


Box = tuple[Interval, ...]


def bounds_sql(changed: ChangedFiles, files: Sequence[DataFile]) -> str | None:
    """The predicate for some of the changed files, over the columns at the range's end.

    None if there are no files, or if no column is bounded in all of them.
    """
    found = _columns(changed, files) if files else {}
    if not found:
        return None
    columns = list(found)
    boxes = _merged({tuple(intervals[i] for intervals in found.values()) for i in range(len(files))})
    return _boxes_sql(columns, boxes)


def _boxes_sql(columns: Sequence[TableColumn], boxes: Sequence[Box]) -> str | None:
    """A disjunction of boxes. None if it would not exclude anything.

    If the intervals of a column are similar in all boxes, their hull is written once, before the disjunction. For each
    row, Spark evaluates all conditions that the partitions do not decide, so a short predicate is faster. For example,
    daily partitions with about the same accounts become a list of days and one range of accounts.
    """
    common: list[str] = []
    separate: list[int] = []
    for index, column in enumerate(columns):
        intervals = [box[index] for box in boxes]
        if _is_common(intervals):
            hull = enclosing_interval(intervals)
            rounded = _rounded(hull, str(column.type))
            common.append(_interval_sql(sql_name(column.name), str(column.type), rounded))
        else:
            separate.append(index)
    rest = dict.fromkeys(tuple(box[index] for index in separate) for box in boxes)
    shared = " and ".join(each for each in common if each)
    others = _separate_sql([columns[index] for index in separate], list(rest))
    return f"{shared} and ({others})" if shared and others else shared or others or None


def _separate_sql(columns: Sequence[TableColumn], boxes: Sequence[Box]) -> str:
    """A disjunction of boxes. Empty if one of them has no bounds."""
    if len(columns) == 1:
        column, intervals = columns[0], [box[0] for box in boxes]
        points = [typed_literal(each.lower, str(column.type)) for each in intervals if each.is_point]
        if len(points) == len(boxes):
            return f"{sql_name(column.name)} in ({', '.join(points)})"
    written = [_box_sql(columns, box) for box in boxes]
    return " or ".join(f"({each})" for each in written) if all(written) else ""


def _is_common(intervals: Sequence[Interval]) -> bool:
    """Whether each interval covers at least half of their hull."""
    if len(set(intervals)) == 1:
        return True
    if any(each.lower is None or each.upper is None or not each.has_values for each in intervals):
        return False
    hull = enclosing_interval(intervals)
    skip = _same_beginning(hull.lower, hull.upper) if isinstance(hull.lower, str) else 0
    return all(2 * _width(each, skip) >= _width(hull, skip) for each in intervals)


def _rounded(interval: Interval, type_: str) -> Interval:
    """An interval of integers whose bounds are moved outward by at most 1/64 of its width, if it is at or near zero.

    Such a column usually contains numbers of which every commit covers nearly all, such as account ids, so Spark reads
    few additional files. Numbers that increase with each commit are far from zero, and are not rounded. The rounded
    bounds are likely to be the same in the next run. A long-running Spark then reuses its compiled code, which contains
    the literals.
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
    """The width of an interval. For strings, the difference of the 8 bytes after the first ``skip`` characters."""
    lower, upper = interval.lower, interval.upper
    if isinstance(lower, str):
        lower, upper = (int.from_bytes(text[skip:].encode()[:8].ljust(8, b"\0"), "big") for text in (lower, upper))
    return float(upper - lower) + (1 if isinstance(lower, int) else 0)


def _same_beginning(one: str, other: str) -> int:
    """The length of the common prefix of two different strings in ascending order."""
    return next((index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def _columns(changed: ChangedFiles, files: Sequence[DataFile]) -> dict[TableColumn, list[Interval]]:
    """The columns that are bounded in every file, with their intervals by file.

    Columns by which the table is clustered are first. At most ``_MOST_COLUMNS`` columns.
    """
    start = {column.field_id: column.type for column in changed.start}
    same = [column for column in changed.end if start.get(column.field_id) == column.type]
    order = {field_id: index for index, field_id in enumerate(changed.clustered_by)}
    found: dict[TableColumn, list[Interval]] = {}
    for column in sorted(same, key=lambda column: order.get(column.field_id, len(order))):
        if len(found) == _MOST_COLUMNS:
            break
        if not isinstance(column.type, str) or not has_literals(column.type):
            continue
        intervals = [interval_of(file, column.field_id, column.type) for file in files]
        if all(interval.is_bound for interval in intervals):
            found[column] = intervals
    return found


def _merged(boxes: Iterable[Box]) -> list[Box]:
    """At most ``_MOST_BOXES`` boxes. Boxes that are adjacent by their first columns are merged, except at wide gaps."""
    ordered = sorted(boxes, key=lambda box: [_order(interval) for interval in box])
    if len(ordered) <= _MOST_BOXES:
        return ordered
    gaps = [tuple(map(_gap, one, other)) for one, other in pairwise(ordered)]
    least = sorted(gaps)[1 - _MOST_BOXES]
    wider = [index for index, gap in enumerate(gaps) if gap > least]
    equal = [index for index, gap in enumerate(gaps) if gap == least]
    kept = _MOST_BOXES - 1 - len(wider)
    evenly = [equal[number * len(equal) // kept] for number in range(kept)]
    ends = [index + 1 for index in sorted([*wider, *evenly])]
    return [_hull(ordered[first:end]) for first, end in zip([0, *ends], [*ends, len(ordered)], strict=True)]


def _hull(boxes: Sequence[Box]) -> Box:
    return tuple(enclosing_interval(intervals) for intervals in zip(*boxes, strict=True))


def _gap(one: Interval, other: Interval) -> float:
    """The gap between two intervals of a column, the lower one first. 0 if there is none, 1 for any gap of strings."""
    if one.upper is None or other.lower is None or other.lower <= one.upper:
        return 0
    return 1 if isinstance(one.upper, str) else float(other.lower - one.upper)


def _order(interval: Interval) -> list[tuple[bool, Any]]:
    """A key that sorts intervals of one column by their bounds. Missing bounds are first."""
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
    lower = None if interval.lower is None else typed_literal(interval.lower, type_)
    upper = None if interval.upper is None else typed_literal(interval.upper, type_)
    if lower is not None and lower == upper:
        inside = f"{name} = {lower}"
    else:
        inside = " and ".join(
            f"{name} {sign} {bound}" for sign, bound in ((">=", lower), ("<=", upper)) if bound is not None
        )
    return f"({inside} or {name} is null)" if inside and interval.has_nulls else inside

"""The range of a column's values in captured changes (``ip_range``), for use as parameters of a model's SQL.

The bounds come from the metadata of the changed files: no changed row has a value outside of them, but a value need not
reach them, since writers cut long strings, and since a file that was rewritten also holds rows that did not change.
Where metadata do not bound the column, one query over the changes alone finds its least and its greatest value: over
all rows that any macro shows of them, also those that came and went unchanged, since what is added up of these needs
the rows of the same values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from ..capture.cuts import Cuts
from ..capture.reads import capture_changelog
from ..capture.run_plan import RunPlan
from ..explain import model_errors, range_errors
from ..plan.ranges import NetChanges, Range
from ..spark.scans import ExactScans
from ..sql import sql_name, sql_string
from ..table.changed_files import ChangedFiles
from ..table.history import TableName
from ..table.intervals import Interval, enclosing_interval, interval_of, safe_lower, safe_upper
from .literals import has_literals, sql_type, typed_literal
from .parts import Reading, readings_of
from .relations import signed_sql


@dataclass(frozen=True)
class ValueRange:
    """What ``ip_range`` gives. ``min``, ``max``: SQL literals, or NULL where no changed row has a value.

    ``is_empty``: nothing changed. ``has_nulls``: the column may be NULL in a changed row, which no comparison with the
    bounds finds.
    """

    min: str
    max: str
    is_empty: bool
    has_nulls: bool

    def __getattr__(self, name: str) -> NoReturn:
        """Raise ArgumentsError for a name that it does not have: Jinja would make it undefined."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise range_errors.no_such_bound(name, [field.name for field in fields(self)])


PARSED = ValueRange("null", "null", is_empty=False, has_nulls=False)
"""What it gives while dbt parses."""
EMPTY = ValueRange("null", "null", is_empty=True, has_nulls=False)


def capture_range(
    plan: RunPlan,
    cuts: Cuts,
    column: str,
    sources: Sequence[TableName],
    query: Callable[[str], Sequence[Any]],
    scans: Callable[[], ExactScans | None],
) -> tuple[RunPlan, ValueRange]:
    """Capture between which values a column lies in the changes of some sources; in a rebuild, in all of their rows.

    ``query``: gives the first row of a SELECT, which is sent where metadata do not bound the column. ``scans``: gives
    what reads data files by themselves, where that can be; it is not called if nothing has changed.
    Raises as ``capture_changelog`` does, and what ``query`` raises.
    """
    for source in sources:
        plan = capture_changelog(plan, cuts, source)
    changes = [planned for planned in map(plan.changelogs.__getitem__, sources) if planned.brings_rows]
    if not changes:
        return plan, EMPTY
    exact, files = scans(), [cuts.files_of(planned) for planned in changes]
    for planned, of in zip(changes, files, strict=True):
        if of is not None:
            model_errors.require_columns("ip_range", [column], of.end, planned.table, plan.model)
    only_these = plan.window is None and not any(_reads_other_files(planned, exact) for planned in changes)
    found = from_metadata(files, column) if only_these else None
    return plan, found or from_query([signed_sql(planned, exact) for planned in changes], column, query)


def _reads_other_files(planned: Range, exact: ExactScans | None) -> bool:
    """Whether rows of files that did not change are read too, and count as much as they are discounted."""
    return isinstance(planned, NetChanges) and Reading.ENDS in readings_of(planned.net, exact)


def from_metadata(changes: Sequence[ChangedFiles | None], column: str) -> ValueRange | None:
    """The range in the files of all these changes; None where their metadata do not bound it on both sides."""
    types: set[str] = set()
    intervals: list[Interval] = []
    for each in changes:
        if each is None or each.files is None:
            return None
        found = each.column(column)
        if found is None or not isinstance(found.type, str) or not has_literals(found.type):
            return None
        types.add(found.type)
        intervals += [interval_of(file, found.field_id, found.type) for file in each.files.all]
    if len(types) != 1 or not intervals:
        return None
    hull, type_ = enclosing_interval(intervals), types.pop()
    if not hull.has_values:
        null = f"cast(null as {sql_type(type_)})"
        return ValueRange(null, null, is_empty=False, has_nulls=True)
    if hull.lower is None or hull.upper is None:
        return None
    return ValueRange(typed_literal(hull.lower, type_), typed_literal(hull.upper, type_), False, hull.has_nulls)


def from_query(relations: Sequence[str], column: str, query: Callable[[str], Sequence[Any]]) -> ValueRange:
    """The range in the rows of all relations. ``query`` gives the first row of a SELECT.

    Raises ConfigError for a type that has no literals, and for values that no literals can bound.
    """
    kind = str(query(type_sql(relations, column))[0])
    if not has_ends(kind):
        raise range_errors.no_range(column, kind)
    return from_row(column, kind, query(scan_sql(relations, column, kind)))


def type_sql(relations: Sequence[str], column: str) -> str:
    """The query for the name of the column's type in all relations; it reads no row."""
    return f"select typeof(any_value(c)) from ({_values(relations, column)} limit 0)"


def scan_sql(relations: Sequence[str], column: str, kind: str) -> str:
    """The query for what ``from_row`` takes, over the changed rows of all relations.

    Text and times come as numbers: no setting of the session changes these, and no two values share one.
    """
    low, high = ends_sql(kind, "low", "high")
    return (
        f"select {low}, {high}, n, nulls from (select min(c) as low, max(c) as high, count(*) as n,"
        f" count(*) - count(c) as nulls from ({_values(relations, column)}))"
    )


def ends_sql(kind: str, low: str, high: str) -> tuple[str, str]:
    """What ``from_row`` takes of a least and a greatest value, which are SQL expressions of a type."""
    low, high = (f"string({_NUMBERED.get(kind, '{}').format(end)})" for end in (low, high))
    return low, high


def has_ends(kind: str) -> bool:
    """Whether values of a type, by Spark's name, can be bounded by literals."""
    return _KINDS.fullmatch(kind) is not None


def type_name(kind: str) -> str:
    """A type's name that means the same under all settings of a session."""
    return _NAMES.get(kind, kind)


def from_row(column: str, kind: str, row: Sequence[Any]) -> ValueRange:
    """The range from a row of ``scan_sql``: the least and the greatest value, and counts of rows.

    Raises ConfigError for values that no literals can bound.
    """
    low, high, rows, nulls = row
    if low is None or high is None:
        null = f"cast(null as {type_name(kind)})"
        return ValueRange(null, null, rows == 0, nulls > 0)
    if kind == "string":
        least, greatest = _text_range(column, bytes.fromhex(low), bytes.fromhex(high))
        return ValueRange(sql_string(least), sql_string(greatest), False, nulls > 0)
    if kind in ("float", "double"):
        if high == "NaN":
            raise range_errors.no_range_with_nan(column)
        # Spark has 0.0 equal to -0.0, but Iceberg, which prunes files by these literals, has it above
        low, high = ("-0.0" if float(low) == 0 else low), ("0.0" if float(high) == 0 else high)
    return ValueRange(_typed(low, kind), _typed(high, kind), False, nulls > 0)


_KINDS = re.compile(r"string|date|timestamp(_ntz)?|boolean|tinyint|smallint|int|bigint|float|double|decimal\(.*\)|void")
_NUMBERED = {
    "string": "hex({})",
    "date": "unix_date({})",
    "timestamp": "unix_micros({})",
    "timestamp_ntz": "timestampdiff(MICROSECOND, timestamp_ntz '1970-01-01 00:00:00', {})",
}
_ICEBERG_TIMES = {"date": "date", "timestamp": "timestamptz", "timestamp_ntz": "timestamp"}
_NAMES = {"timestamp": "timestamp_ltz"}
"""Where a type's name may mean another one, by a setting of the session."""
_LAST_CHARACTER = "\U0010ffff"


def _values(relations: Sequence[str], column: str) -> str:
    return " union all ".join(f"select {sql_name(column)} as c from {relation}" for relation in relations)


def _typed(text: str, kind: str) -> str:
    if kind in _ICEBERG_TIMES:
        return typed_literal(int(text), _ICEBERG_TIMES[kind])
    return f"cast({sql_string(text)} as {kind})"


def _text_range(column: str, low: bytes, high: bytes) -> tuple[str, str]:
    """Bounds of strings by their bytes, which need not be UTF-8."""
    greatest = safe_upper(high.decode("utf-8", errors="replace"))
    if greatest is None:
        greatest = _LAST_CHARACTER
        while high.startswith(greatest.encode()):
            greatest += _LAST_CHARACTER
        if high > greatest.encode():
            raise range_errors.no_range_of_bytes(column, high)
    return safe_lower(low.decode("utf-8", errors="replace")) or "", greatest

"""The range of a column's values in captured changes (``ip_range``), for use as parameters of a model's SQL.

The bounds come from the metadata of the changed files. All values in changed rows are within the bounds. The bounds may
be wider, because writers truncate long strings, and because a rewritten file also contains unchanged rows. If the
metadata does not bound the column, one query over the changes finds its minimum and maximum. The query includes all
rows that a macro may return for the changes, also unchanged rows with both signs, because aggregates of signed rows
also use their values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from ..capture.cuts import Cuts
from ..capture.reads import capture
from ..capture.run_plan import Read, RunPlan
from ..explain import group_errors, model_errors
from ..plan.ranges import NetChanges, Range
from ..spark.port import ExactScans
from ..sql import sql_name, sql_string
from ..table.files import ChangedFiles
from ..table.history import TableName
from ..table.intervals import Interval, enclosing_interval, interval_of, safe_lower, safe_upper
from .literals import has_literals, sql_type, typed_literal
from .parts import Reading, readings_of
from .relations import signed_sql


@dataclass(frozen=True)
class ValueRange:
    """The result of ``ip_range``. ``min``, ``max``: SQL literals, or NULL if no changed row has a value.

    ``is_empty``: whether nothing changed. ``has_nulls``: whether the column may be NULL in a changed row. A comparison
    with the bounds does not find such rows.
    """

    min: str
    max: str
    is_empty: bool
    has_nulls: bool

    def __getattr__(self, name: str) -> NoReturn:
        """Raise ArgumentsError for an unknown name, which Jinja would otherwise treat as undefined."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise group_errors.no_such_bound(name, [field.name for field in fields(self)])


PARSED = ValueRange("null", "null", is_empty=False, has_nulls=False)
"""The result while dbt parses the project."""
EMPTY = ValueRange("null", "null", is_empty=True, has_nulls=False)


def capture_range(
    plan: RunPlan,
    cuts: Cuts,
    column: str,
    sources: Sequence[TableName],
    query: Callable[[str], Sequence[Any]],
    scans: Callable[[], ExactScans | None],
) -> tuple[RunPlan, ValueRange]:
    """Capture the range of a column's values in the changes of some sources. In a rebuild, in all of their rows.

    ``query``: returns the first row of a SELECT. It is called only if the metadata does not bound the column.
    ``scans``: returns the reader of individual data files, or None. It is called only if something has changed.
    Raises ConfigError if a source does not have the column, and the errors of ``capture``, ``from_query`` and
    ``query``.
    """
    for source in sources:
        plan = capture(plan, cuts, source, Read.NET)
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
    """Whether rows of unchanged files are also read. They have both signs."""
    return isinstance(planned, NetChanges) and Reading.ENDS in readings_of(planned.net, exact)


def from_metadata(changes: Sequence[ChangedFiles | None], column: str) -> ValueRange | None:
    """The range in the files of all these changes. None if their metadata does not bound it on both sides."""
    types: set[str] = set()
    intervals: list[Interval] = []
    for each in changes:
        if each is None or each.files is None or each.is_another(column):  # added rows are read by the present names
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
    """The range in the rows of all relations. ``query``: returns the first row of a SELECT.

    Raises ConfigError for a type without literals, and for values that no literals can bound.
    """
    kind = str(query(type_sql(relations, column))[0])
    if not has_ends(kind):
        raise group_errors.no_range(column, kind)
    return from_row(column, kind, query(scan_sql(relations, column, kind)))


def type_sql(relations: Sequence[str], column: str) -> str:
    """The query for the name of the column's type in all relations. It reads no rows."""
    return f"select typeof(any_value(c)) from ({_values(relations, column)} limit 0)"


def scan_sql(relations: Sequence[str], column: str, kind: str) -> str:
    """The query for the argument of ``from_row``, over the rows of all relations.

    Text is returned in hexadecimal and times are returned as numbers, because these forms do not depend on session
    settings and are different for different values.
    """
    low, high = ends_sql(kind, "low", "high")
    return (
        f"select {low}, {high}, n, nulls from (select min(c) as low, max(c) as high, count(*) as n,"
        f" count(*) - count(c) as nulls from ({_values(relations, column)}))"
    )


def ends_sql(kind: str, low: str, high: str) -> tuple[str, str]:
    """The minimum and the maximum in the form of ``from_row``, from SQL expressions of a Spark type ``kind``."""
    low, high = (f"string({_NUMBERED.get(kind, '{}').format(end)})" for end in (low, high))
    return low, high


def has_ends(kind: str) -> bool:
    """Whether literals can bound the values of a Spark type."""
    return _KINDS.fullmatch(kind) is not None


def type_name(kind: str) -> str:
    """A type's name whose meaning does not depend on session settings."""
    return _NAMES.get(kind, kind)


def from_row(column: str, kind: str, row: Sequence[Any]) -> ValueRange:
    """The range from a row of ``scan_sql``: the minimum, the maximum, and the counts of rows and of NULL values.

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
            raise group_errors.no_range_with_nan(column)
        # Spark treats -0.0 and 0.0 as equal. Iceberg, which prunes files by these literals, orders -0.0 before 0.0.
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
"""The unambiguous names of types whose usual names depend on session settings."""
_LAST_CHARACTER = "\U0010ffff"


def _values(relations: Sequence[str], column: str) -> str:
    return " union all ".join(f"select {sql_name(column)} as c from {relation}" for relation in relations)


def _typed(text: str, kind: str) -> str:
    if kind in _ICEBERG_TIMES:
        return typed_literal(int(text), _ICEBERG_TIMES[kind])
    return f"cast({sql_string(text)} as {kind})"


def _text_range(column: str, low: bytes, high: bytes) -> tuple[str, str]:
    """Bounds of strings from their bytes, which may not be valid UTF-8."""
    greatest = safe_upper(high.decode("utf-8", errors="replace"))
    if greatest is None:
        greatest = _LAST_CHARACTER
        while high.startswith(greatest.encode()):
            greatest += _LAST_CHARACTER
        if high > greatest.encode():
            raise group_errors.no_range_of_bytes(column, high)
    return safe_lower(low.decode("utf-8", errors="replace")) or "", greatest

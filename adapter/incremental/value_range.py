"""The range of a column's values in captured changes (``ip_range``), for use as parameters of a model's SQL.

The bounds come from the metadata of the changed files: no changed row has a value outside of them, but a value need not
reach them, since writers cut long strings, and since a file that was rewritten also holds rows that did not change.
Where metadata do not bound the column, one query over the changes alone finds its least and its greatest value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..sql import sql_name, sql_string
from .bounds import Interval, has_literals, hull_of, interval_of, literal
from .changed_files import ChangedFiles
from .explain import model_errors
from .projection import sql_type


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


EMPTY = ValueRange("null", "null", is_empty=True, has_nulls=False)


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
    hull, type_ = hull_of(intervals), types.pop()
    if not hull.has_values:
        null = f"cast(null as {sql_type(type_)})"
        return ValueRange(null, null, is_empty=False, has_nulls=True)
    lower, upper = (None if bound is None else literal(bound, type_) for bound in (hull.lower, hull.upper))
    return None if lower is None or upper is None else ValueRange(lower, upper, False, hull.has_nulls)


def scan_sql(relations: Sequence[str], column: str) -> str:
    """The query for what ``from_row`` takes, over the changed rows of all relations.

    Values come as JSON: as plain text, a time would lose its offset, and so be two times when clocks go back.
    """
    name = sql_name(column)
    values = " union all ".join(f"select {name} as c from {relation}" for relation in relations)
    formats = f"map('timestampFormat', {sql_string(_TIME + 'XXXXX')}, 'timestampNTZFormat', {sql_string(_TIME)})"
    return (
        f"select typeof(low), to_json(named_struct('v', low), {formats}), to_json(named_struct('v', high), {formats}),"
        f" n, nulls from (select min(c) as low, max(c) as high, count(*) as n, count(*) - count(c) as nulls"
        f" from ({values}))"
    )


def from_row(column: str, row: Sequence[Any]) -> ValueRange:
    """The range from a row of ``scan_sql``: the type's name, the least and the greatest value, and counts of rows.

    Raises ConfigError for a type that has no literals.
    """
    kind, low, high, rows, nulls = row
    if _KINDS.fullmatch(kind) is None:
        raise model_errors.no_range(column, kind)
    return ValueRange(_typed(low, kind), _typed(high, kind), rows == 0, nulls > 0)


_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_KINDS = re.compile(r"string|date|timestamp(_ntz)?|boolean|tinyint|smallint|int|bigint|float|double|decimal\(.*\)|void")


def _typed(document: str, kind: str) -> str:
    value = json.loads(document, parse_float=str, parse_int=str).get("v")
    if value is None:
        return f"cast(null as {kind})"
    return f"cast({sql_string(str(value))} as {kind})"

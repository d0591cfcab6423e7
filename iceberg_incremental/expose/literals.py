"""Values of Iceberg's types as Spark SQL literals, whose meaning does not depend on session settings."""

from __future__ import annotations

import datetime
import re
from typing import Any

from ..sql import sql_string
from ..table.intervals import DAY_US, TIMES

_SQL_TYPES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp_ltz",
    "string": "string",
    "uuid": "string",
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 (the literal contains the zone)
_MIN_LONG = -(2**63)


def has_literals(type_: str) -> bool:
    """Whether the bounds of a type include every value, and can be written as literals."""
    # The bounds of floats do not include NaN.
    return type_ in ("int", "long", "date", *TIMES, "string", "boolean") or _DECIMAL.fullmatch(type_) is not None


def sql_type(primitive: str) -> str:
    """The Spark SQL type of a primitive type that has literals."""
    decimal = _DECIMAL.fullmatch(primitive)
    return f"decimal({decimal[1]}, {decimal[2]})" if decimal else _SQL_TYPES[primitive]


def typed_literal(value: Any, type_: str) -> str:
    """A bound as a literal of its column's type, whose meaning does not depend on session settings.

    Times outside of Python's range are written as functions of a number, because Spark has no literals for some of
    them.
    """
    if type_ in ("int", "long"):
        return f"({value + 1} - 1)" if value == _MIN_LONG else str(value)
    if type_ == "boolean":
        return str(value).lower()
    if type_ == "string":
        return sql_string(value)
    if type_ == "date":
        days = _moment(value * DAY_US)
        return f"date_from_unix_date({value})" if days is None else f"date {sql_string(days.date().isoformat())}"
    if type_ in TIMES:
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

"""Spark's types and values in plain Python, as far as edited models use them: what a cast returns, what a column holds.

A value is None, an int, a Decimal, a float or a str, by its type. All floating-point values are multiples of a quarter,
so that they are exact in each type.
"""

from __future__ import annotations

import re
from decimal import Decimal

Value = int | float | str | Decimal | None

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_DIGITS = {"int": 10, "bigint": 19}


def cast(value: Value, to: str) -> Value:
    """What ``cast(value as to)`` returns; of a string that is a string. A number that a type cuts off loses digits."""
    if value is None or to == "string":
        return None if value is None else str(value)
    if to in _DIGITS:
        return int(value)
    if to in ("float", "double"):
        return float(value)
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-_scale(to)), "ROUND_HALF_UP")


def holds(given: str, column: str) -> bool:
    """Whether a column keeps every value of a type."""
    if given == column or column == "string":
        return True
    if column == "double":
        return given in ("int", "float")
    if column == "bigint":
        return given == "int"
    if not _is_decimal(column):
        return False
    whole = _precision(column) - _scale(column)
    if given in _DIGITS:
        return _DIGITS[given] <= whole
    return _is_decimal(given) and _scale(given) <= _scale(column) and _precision(given) - _scale(given) <= whole


def widens(column: str, to: str) -> bool:
    """Whether Iceberg can change the type of a column."""
    if _is_decimal(column) and _is_decimal(to):
        return _scale(column) == _scale(to) and _precision(column) <= _precision(to)
    return (column, to) in (("int", "bigint"), ("float", "double"))


def compare_alike(one: str, other: str) -> bool:
    """Whether values compare by one type as they do by the other: types that differ only in how large a number is."""
    return one == other or (_family(one) is not None and _family(one) == _family(other))


def _family(type_: str) -> int | None:
    """The digits after the point of an exact number."""
    if type_ in _DIGITS:
        return 0
    return _scale(type_) if _is_decimal(type_) else None


def _is_decimal(type_: str) -> bool:
    return _DECIMAL.fullmatch(type_) is not None


def _precision(type_: str) -> int:
    return _numbers(type_)[0]


def _scale(type_: str) -> int:
    return _numbers(type_)[1]


def _numbers(type_: str) -> tuple[int, int]:
    found = _DECIMAL.fullmatch(type_)
    assert found is not None
    return int(found[1]), int(found[2])

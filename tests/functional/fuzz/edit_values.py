"""Spark's types and values in plain Python, as far as edited models use them: the results of casts, and valid values.

A value is None, an int, a Decimal, a float or a str, by its type. All floating-point values are multiples of a
quarter, so that they are exact in each type.
"""

from __future__ import annotations

import re
from decimal import Decimal

Value = int | float | str | Decimal | None

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_DIGITS = {"int": 10, "bigint": 19}


def cast(value: Value, to: str) -> Value:
    """The result of ``cast(value as to)``. Strings remain strings. Numbers lose digits that the type cannot store."""
    if value is None or to == "string":
        return None if value is None else str(value)
    if to in _DIGITS:
        return int(value)
    if to in ("float", "double"):
        return float(value)
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-_scale(to)), "ROUND_HALF_UP")


def holds(given: str, column: str) -> bool:
    """Whether a column can store every value of a type."""
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
    """Whether Iceberg can change the type of a column in this way."""
    if _is_decimal(column) and _is_decimal(to):
        return _scale(column) == _scale(to) and _precision(column) <= _precision(to)
    return (column, to) in (("int", "bigint"), ("float", "double"))


def compare_alike(one: str, other: str) -> bool:
    """Whether values compare equally in both types, which then differ only in the size of numbers."""
    return one == other or (_family(one) is not None and _family(one) == _family(other))


def _family(type_: str) -> int | None:
    """The number of digits after the decimal point, or None for inexact types."""
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

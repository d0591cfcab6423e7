"""How the numbers of a history are stored in its tables: as numbers, or as values that are hard to compare.

Histories have the keys 0, 1, 2 …, whatever the type, so that the oracle does not depend on types. A spelling converts a
number to a SQL literal, and the value in a table back to the number. To Spark, different numbers are different
values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

_MOST = 2_000
"""The maximum of all numbers in histories."""


@dataclass(frozen=True, repr=False)
class Spelling:
    """A way to store numbers. ``shown``: the expression that selects a column as the ``value`` of its numbers.

    ``is_ordered``: whether greater numbers are greater values. ``in_partitions``: whether a table may be partitioned by
    such values. Iceberg itself changes partition values that are not UTF-8.
    """

    name: str
    type: str
    shown: str
    value: Callable[[int], Any]
    write: Callable[[int], str]
    is_ordered: bool = True
    in_partitions: bool = True

    def __repr__(self) -> str:
        return self.name

    def literal(self, number: int | None) -> str:
        """The SQL literal of a number, which is the same under all session settings."""
        return "null" if number is None else self.write(number)

    def number(self, value: Any) -> int | None:
        """The number of a selected value."""
        return None if value is None else self._numbers[value]

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        return {self.value(number): number for number in range(-1, _MOST)}


def _listed(values: list[Any], further: Callable[[int], Any]) -> Callable[[int], Any]:
    """A function that lists the values of the first numbers, which most rows have, and computes all others."""
    return lambda number: values[number] if 0 <= number < len(values) else further(number)


def _string(name: str, bytes_of: Callable[[int], bytes], *, is_ordered: bool, in_partitions: bool) -> Spelling:
    def shown(number: int) -> str:
        return bytes_of(number).hex().upper()

    return Spelling(
        name, "string", "hex(cast({} as binary))", shown, lambda number: f"cast(X'{shown(number)}' as string)",
        is_ordered, in_partitions,
    )  # fmt: skip


def _rising(number: int) -> bytes:
    """Strings in the order of their numbers. Iceberg stores U+FFFD for bytes that are not UTF-8."""
    starts = (b"a", b"\x80", "\ufffd".encode(), "\U0010ffff".encode() * 17, b"\xff")
    return starts[max(0, min(number // 3, len(starts) - 1))] + b"%05d" % (number + 1)


_ODD = [b"\x80", "\ufffd".encode(), b"\xff" + b"x" * 20, "\U0010ffff".encode() * 20]
_QUOTED = [b"it's", b"a\\b", b"${x}\\'", b"longer than any bound of a string"]
# In Europe/Berlin, the second and the third have the same local time.
_TIMES = [-500_000, 1_793_493_000_000_000, 1_793_496_600_000_000, 1_774_746_000_000_000]
_DOUBLES = [float("nan"), -0.0, float("inf"), 1.5]


def _double(number: int) -> float:
    return _listed(_DOUBLES, float)(number)


def _shown_double(number: int) -> str:
    value = _double(number)
    return {"nan": "NaN", "inf": "Infinity"}.get(str(value), str(value + 0.0))


def _double_literal(number: int) -> str:
    value = _double(number)
    return f"{value}D" if math.isfinite(value) else f"double('{_shown_double(number)}')"


def _decimal(number: int) -> Decimal:
    return Decimal(f"{number}{'0' * 30}.25")


def _text(number: int) -> bytes:
    return b"other %d" % number


_micros = _listed(_TIMES, lambda number: 2_000_000_000_000_000 + number)

NUMBER = Spelling("number", "int", "{}", int, str)
ODD_BYTES = _string("odd_bytes", _listed(_ODD, _text), is_ordered=False, in_partitions=False)
QUOTED = _string("quoted", _listed(_QUOTED, _text), is_ordered=False, in_partitions=True)
RISING_BYTES = _string("rising_bytes", _rising, is_ordered=True, in_partitions=False)
DOUBLE = Spelling("double", "double", "string({} + 0D)", _shown_double, _double_literal, is_ordered=False)
TIME = Spelling(
    "time", "timestamp", "unix_micros({})", _micros, lambda number: f"timestamp_micros({_micros(number)})",
    is_ordered=False,
)  # fmt: skip
DECIMAL = Spelling(
    "decimal", "decimal(38,2)", "{}", _decimal, lambda number: f"cast('{_decimal(number)}' as decimal(38,2))"
)

OF_K = (NUMBER, ODD_BYTES, DOUBLE, NUMBER, TIME, DOUBLE, QUOTED)
"""The spellings of ``k``, which rotate over histories."""
OF_RANGES = (DOUBLE, QUOTED, TIME, DOUBLE, ODD_BYTES)
"""The spellings of ``k`` if a model reads a range of it."""
OF_ID = (NUMBER, NUMBER, RISING_BYTES, NUMBER, DECIMAL)
"""The spellings of ``id``. They are ordered, because a model selects the maximum."""

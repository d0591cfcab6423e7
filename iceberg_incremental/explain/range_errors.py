"""The errors of ``ip_range``, which returns ranges of values."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from ..errors import ArgumentsError, ConfigError


def no_such_bound(name: str, known: Sequence[str]) -> ArgumentsError:
    """The result of ``ip_range`` does not have the requested attribute."""
    meant = next((each for each in known if name.lower().startswith(each)), None) or next(
        iter(get_close_matches(name, known, n=1, cutoff=0.4)), known[0]
    )
    return ArgumentsError(
        f"ip_range(…).{name} does not exist.",
        expected=f"{', '.join(f'.{each}' for each in known)}.",
        found=f".{name}.",
        fix=f"write ip_range(…).{meant}.",
    ).named("no-such-bound")


def no_range(column: str, kind: str) -> ConfigError:
    """``ip_range`` was called with a column whose values cannot be bounded by literals."""
    return ConfigError(
        f"ip_range() was called with {column}, whose type is {kind}.",
        expected="a column of strings, numbers, dates, timestamps or booleans.",
        fix="choose another column.",
    ).named("no-range")


def no_range_with_nan(column: str) -> ConfigError:
    """``ip_range`` was called with a column that has NaN in a changed row."""
    return ConfigError(
        f"ip_range() was called with {column}, which is NaN in a changed row.",
        expected="numbers. Spark treats NaN as the greatest number, but Iceberg skips files with only NaN when a "
        "query compares the column.",
        found=f"NaN in {column}.",
        fix=f"write NULL instead of NaN to the relation (nanvl({column}, null)), or make {column} a decimal; or "
        "choose another column. has_nulls is true if there are NULLs.",
    ).named("no-range-with-nan")


def no_range_of_bytes(column: str, greatest: bytes) -> ConfigError:
    """``ip_range`` was called with a column whose strings are not UTF-8."""
    return ConfigError(
        f"ip_range() was called with {column}, which has bytes that are not UTF-8.",
        expected="text. Spark compares the bytes, and Iceberg compares the decoded text, so no string is a bound of "
        "these values in both orders.",
        found=f"a value that starts with the bytes {greatest[:8].hex(' ')}.",
        fix=f"write {column} to the relation as binary or as hex text; or choose another column.",
    ).named("no-range-of-bytes")

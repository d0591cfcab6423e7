"""The errors of ranges of values, which ``ip_range`` gives."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from ..errors import ArgumentsError, ConfigError
from .entries import indexed


@indexed
def no_such_bound(name: str, known: Sequence[str]) -> ArgumentsError:
    """The result of ``ip_range`` was asked for an attribute that it does not have."""
    meant = next((each for each in known if name.lower().startswith(each)), None) or next(
        iter(get_close_matches(name, known, n=1, cutoff=0.4)), known[0]
    )
    return ArgumentsError(
        f"ip_range(…).{name} does not exist.\n"
        f"  Expected: {', '.join(f'.{each}' for each in known)}.\n"
        f"  Found: .{name}.\n"
        f"  To fix: write ip_range(…).{meant}."
    )


@indexed
def no_range(column: str, kind: str) -> ConfigError:
    """``ip_range`` got a column whose values no literals can bound."""
    return ConfigError(
        f"ip_range() was called with {column}, whose type is {kind}.\n"
        "  Expected: a column of strings, numbers, dates, times or booleans.\n"
        "  To fix: choose another column."
    )


@indexed
def no_range_with_nan(column: str) -> ConfigError:
    """``ip_range`` got a column in which a changed row has NaN, which Iceberg and Spark order differently."""
    return ConfigError(
        f"ip_range() was called with {column}, which is NaN in a changed row.\n"
        "  Expected: numbers. Spark takes NaN for the greatest number, but Iceberg leaves out files that hold only NaN "
        "where a query compares it.\n"
        f"  Found: NaN in {column}.\n"
        f"  To fix: where the relation is written, store NULL instead of NaN (nanvl({column}, null)), or make "
        f"{column} a decimal; or choose another column. has_nulls says whether there are NULLs."
    )


@indexed
def no_range_of_bytes(column: str, greatest: bytes) -> ConfigError:
    """``ip_range`` got strings of bytes that are not UTF-8, greater than any string that can be written."""
    return ConfigError(
        f"ip_range() was called with {column}, which holds bytes that are not UTF-8.\n"
        "  Expected: text. Spark compares its bytes, and Iceberg what it can decode of them, so no string bounds "
        "these values for both.\n"
        f"  Found: a value that begins with the bytes {greatest[:8].hex(' ')}.\n"
        f"  To fix: where the relation is written, make {column} binary or hex text; or choose another column."
    )

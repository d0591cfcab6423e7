"""Each function is of one kind."""

from __future__ import annotations

from itertools import combinations

from iceberg_incremental.query import functions

SETS = {
    name: getattr(functions, name)
    for name in (
        "VOLATILE", "UNSUPPORTED", "EXACT_AGGREGATES", "SUMS", "INEXACT_AGGREGATES", "EXACT_IN_WINDOWS",
        "INEXACT_IN_WINDOWS", "GENERATORS", "SCALARS",
    )
}  # fmt: skip


def test_each_is_in_one_set() -> None:
    twice = {name for one, other in combinations(SETS.values(), 2) for name in one & other}
    assert twice == {"first_value", "last_value"}  # aggregates, and functions of windows


def test_those_that_round_are_inexact() -> None:
    assert functions.ROUNDING <= functions.INEXACT_AGGREGATES

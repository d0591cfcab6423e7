"""Each function is in one set."""

from __future__ import annotations

from itertools import combinations

from iceberg_incremental.query.text import functions

SETS = {
    name: getattr(functions, name)
    for name in (
        "VOLATILE", "UNSUPPORTED", "EXACT_AGGREGATES", "SUMS", "INEXACT_AGGREGATES", "EXACT_IN_WINDOWS",
        "INEXACT_IN_WINDOWS", "GENERATORS", "SCALARS",
    )
}  # fmt: skip


def test_each_is_in_one_set() -> None:
    twice = {name for one, other in combinations(SETS.values(), 2) for name in one & other}
    assert twice == {"first_value", "last_value"}  # both aggregates and window functions


def test_properties_of_known_functions() -> None:
    assert functions.ROUNDING <= functions.INEXACT_AGGREGATES
    assert functions.OF_EQUAL <= functions.EXACT_AGGREGATES
    assert frozenset().union(*SETS.values()) - functions.GENERATORS >= functions.EQUAL_OF_EQUAL

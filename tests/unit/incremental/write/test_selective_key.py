"""Which columns distinguish the rows of a table."""

from __future__ import annotations

import pytest

from iceberg_incremental.write.auto.update_plan import tells_apart

ROWS = [(number, number // 2, number % 2, None if number % 100 == 0 else number) for number in range(2_000)]


@pytest.mark.parametrize(
    ("places", "rows", "expected"),
    [
        ([0], ROWS, True),
        ([1], ROWS, False),
        ([1, 2], ROWS, True),
        ([3], ROWS, False),
        ([0], [*ROWS, ROWS[0], ROWS[1]], True),
        ([0], [*ROWS, *ROWS[:3]], False),
        ([0], ROWS[:999], False),
    ],
)
def test_columns_that_distinguish_rows(places, rows, expected):
    assert tells_apart(places, rows) is expected

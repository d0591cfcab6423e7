from __future__ import annotations

import pytest

from iceberg_incremental.quantities import instant


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (1_767_225_600_999, "2026-01-01 00:00:00 UTC"),
        (-1, "1969-12-31 23:59:59 UTC"),
        (10**15, "1000000000000000 ms since 1970"),
        (-(10**15), "-1000000000000000 ms since 1970"),
    ],
)
def test_a_point_in_time_also_beyond_the_calendar(milliseconds, said):
    assert instant(milliseconds) == said

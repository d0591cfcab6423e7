"""The text of times, sizes and ages."""

from __future__ import annotations

import pytest

from iceberg_incremental.quantities import age, instant, size_text


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (1_767_225_600_999, "2026-01-01 00:00:00 UTC"),
        (-1, "1969-12-31 23:59:59 UTC"),
        (10**15, "1000000000000000 ms since 1970"),
        (-(10**15), "-1000000000000000 ms since 1970"),
    ],
)
def test_a_time_within_or_outside_the_calendar(milliseconds, said):
    assert instant(milliseconds) == said


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (8_493_466, "8.1 MiB"),
        (2**40, "1.0 TiB"),
        (2**52, "4,096.0 TiB"),
    ],
)
def test_sizes(size, text):
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0 seconds"), (61_000, "1 minute"), (7_200_000, "2 hours"), (200_000_000, "2 days"), (-5, "0 seconds")],
)
def test_ages(milliseconds, text):
    assert age(milliseconds) == text

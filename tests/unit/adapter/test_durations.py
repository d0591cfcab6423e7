from __future__ import annotations

from datetime import timedelta

import pytest

from iceberg_incremental.durations import duration


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("14 days", timedelta(days=14)),
        ("1 day", timedelta(days=1)),
        (" 36  hours ", timedelta(hours=36)),
        ("90 minutes", timedelta(minutes=90)),
        ("2w", timedelta(weeks=2)),
        ("1m30s", timedelta(seconds=90)),
        ("1 hour 30 min", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        ("500ms", timedelta(milliseconds=500)),
        ("0s", timedelta()),
    ],
)
def test_a_duration(text, found):
    assert duration(text) == found


@pytest.mark.parametrize(
    "value",
    ["", " ", "14", "days", "-1 day", "14 dayz", "1m2", "1 day, 2", "999999999 weeks", "1 month", 14, None, True],
)
def test_an_invalid_duration(value):
    assert duration(value) is None

"""The event-time window of a bounded reprocessing."""

from __future__ import annotations

from datetime import datetime

import pytest

from iceberg_incremental.plan.event_window import EventWindow, WindowOf, holds_whole_partitions

DAY = EventWindow(datetime(2026, 1, 1), datetime(2026, 1, 2))  # noqa: DTZ001 (dbt gives no zone)
HOURS = EventWindow(datetime(2026, 1, 1, 5), datetime(2026, 1, 1, 7))  # noqa: DTZ001
ODD = EventWindow(datetime(2026, 1, 1, 5, 30), datetime(2026, 1, 1, 7))  # noqa: DTZ001
MONTH = EventWindow(datetime(2026, 1, 1), datetime(2026, 2, 1))  # noqa: DTZ001
YEAR = EventWindow(datetime(2026, 1, 1), datetime(2027, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("window", "partition_by", "whole"),
    [
        (DAY, "days(ts)", True),
        (DAY, ["region", "day(`TS`)"], True),
        (DAY, "ts", True),
        (HOURS, "ts", False),
        (HOURS, "hours(ts)", True),
        (ODD, "hours(ts)", False),
        (HOURS, "days(ts)", False),
        (DAY, "months(ts)", False),
        (MONTH, "months(ts)", True),
        (MONTH, "years(ts)", False),
        (YEAR, "years(ts)", True),
        (DAY, "bucket(4, ts)", False),
        (DAY, "days(other)", False),
        (DAY, None, False),
    ],
)
def test_whole_partitions(window, partition_by, whole):
    assert holds_whole_partitions(window, partition_by, "ts") is whole


def test_column_names_are_case_insensitive():
    assert holds_whole_partitions(DAY, "days(ts)", "Ts")


def test_a_window_shows_its_ends():
    assert str(WindowOf(ODD, "ts")) == "ts from 2026-01-01 05:30:00 to 2026-01-01 07:00:00 UTC"

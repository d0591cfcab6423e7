"""Event-time windows as SQL conditions."""

from __future__ import annotations

from datetime import datetime

import pytest

from iceberg_incremental.expose.event_window import inside_sql
from iceberg_incremental.plan.event_window import EventWindow


@pytest.mark.parametrize("column", ["Ts", "`Ts`"])
def test_a_window_begins_inclusive_and_ends_exclusive(column):
    window = EventWindow(datetime(2026, 1, 1, 5, 30), datetime(2026, 1, 1, 7))  # noqa: DTZ001 (dbt gives no zone)
    inside = "`Ts` >= '2026-01-01 05:30:00+00:00' and `Ts` < '2026-01-01 07:00:00+00:00'"
    assert inside_sql(window, column).endswith(f", {inside})")


def test_text_is_refused_when_the_query_runs():
    window = EventWindow(datetime(2026, 1, 1), datetime(2026, 1, 2))  # noqa: DTZ001
    assert inside_sql(window, "ts").startswith("if(typeof(`ts`) = 'string', raise_error('event_time is a text column")

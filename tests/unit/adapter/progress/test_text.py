from __future__ import annotations

from dbt.adapters.spark_iceberg.progress.display import Running, line
from dbt.adapters.spark_iceberg.progress.work import Work

HALF = Work(stage=2, stages=3, tasks_done=1_045, tasks=2_000, rows=1_200_000, bytes=3 * 1024**2)


def test_a_statement_with_full_progress():
    assert line([Running("daily", 12.7, HALF)], 200) == (
        "daily: stage 2 of 3, 1,045 of 2,000 tasks, 1,200,000 rows, 3.0 MiB, 12 s"
    )


def test_without_progress_the_time_is_shown():
    assert line([Running("daily", 61.2)], 200) == "daily: 1 min 1 s"
    assert line([Running("daily", 3, Work(1, 1, 0, 0))], 200) == "daily: 3 s"


def test_several_statements_are_on_one_line():
    several = [Running("daily", 3), Running("orders", 4), Running("customers", 5)]
    assert line(several, 200) == "daily: 3 s | orders: 4 s | customers: 5 s"
    assert line(several, 40) == "daily: 3 s | orders: 4 s | 1 more"
    assert line(several, 20) == "daily: 3 s | 2 more"


def test_the_line_is_never_wider_than_the_terminal():
    assert line([Running("a_very_long_name", 3)], 10) == "a_very_lo…"
    for width in range(40):
        assert len(line([Running("daily", 3, HALF), Running("orders", 4)], width)) <= max(width, 1)


def test_no_statement_runs():
    assert line([], 80) == ""

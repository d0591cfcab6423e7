"""The benchmark of a new user's project."""

from __future__ import annotations

from benchmarks.first_project import Cost
from benchmarks.new_project.__main__ import table


def test_the_days_are_compared_one_by_one_and_apart_from_the_first_run():
    ours = [Cost(20, 30), Cost(9, 10), Cost(12, 18), Cost(8, 12)]
    other = [Cost(10, 20), Cost(10, 20), Cost(10, 20), Cost(10, 20)]
    assert table({"iceberg_incremental_snapshot": ours, "table": other}).rows == [
        ["first run: wall", "20.0 s", "10.0 s", "2.00", "≤ 1.00 missed"],
        ["first run: whole CPU", "30.0 s", "20.0 s", "1.50", "≤ 1.00 missed"],
        ["a day: wall", "9.0 s", "10.0 s", "0.90", "≤ 0.95"],
        ["a day: whole CPU", "12.0 s", "20.0 s", "0.60", "≤ 0.95"],
    ]

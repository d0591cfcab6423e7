"""The figures of the benchmark of dbt snapshots."""

from __future__ import annotations

from benchmarks.results import Result
from benchmarks.snapshots import CASES, VERSIONS, Measured, publish


def test_the_figures():
    cases = {"check": Measured([1.0, 1.0], [10.0, 10.0], [2.0, 2.0], [8.0, 8.0])}
    versions = {"timestamp": {count: [1.0 + count / 100] for count in VERSIONS}}
    result = Result("snapshots", 0.4)
    publish(result, cases, versions, 1_000, 100)
    of_cases, of_versions = result.tables
    assert of_cases.rows[0][:4] == ["check", "1.00 s", "10.00 s", "0.10"] and of_cases.rows[0][5] == "0.25"
    assert of_versions.rows[0][:5] == ["timestamp", "1.01 s", "1.10 s", "1.50 s", "1.49"]
    assert result.measured["check.whole"] == [10.0, 10.0] and result.measured["timestamp.50"] == [1.5]


def test_cases():
    assert {case["strategy"] for case in CASES.values()} == {"check", "timestamp"}

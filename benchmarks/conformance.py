"""Counts the results of dbt's conformance suite by topic, for this adapter and for plain dbt-spark.

Both use the same Spark and lakehouse. With dbt-spark, models, seeds and snapshots have `file_format: iceberg`, in
Spark's default catalog. Prints the table for docs/evidence.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

FOLDER = Path(__file__).parents[1] / "tests" / "functional" / "adapter" / "conformance"
ADAPTERS = ("spark_iceberg", "spark")
PYTEST = ("-m", "pytest", "-q", "-W", "ignore", "--tb=no")


_WORST_FIRST = ("failed", "skipped", "passed")


def counts(adapter: str) -> dict[str, Counter[str]]:
    """The number of tests with each result, by topic."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        subprocess.run(
            [sys.executable, *PYTEST, f"--junitxml={report.name}", str(FOLDER)],
            env={**os.environ, "CONFORMANCE_OF": adapter},
            check=False,
        )
        return by_topic(ElementTree.parse(report.name).iter("testcase"))


def by_topic(cases: Iterable[ElementTree.Element]) -> dict[str, Counter[str]]:
    """The number of tests with each result, by topic. A test has two cases if it and its teardown fail."""
    outcomes: dict[tuple[str, str], str] = {}
    for case in cases:
        test = case.attrib["classname"], case.attrib["name"]
        outcomes[test] = min(outcome(case), outcomes.get(test, "passed"), key=_WORST_FIRST.index)
    found: dict[str, Counter[str]] = {}
    for (name, _), its_outcome in outcomes.items():
        topic = name.split(".")[-2].removeprefix("test_")
        found.setdefault(topic, Counter())[its_outcome] += 1
    return found


def outcome(case: ElementTree.Element) -> str:
    """The result of a test case. Errors in teardowns are ignored: dbt-spark cannot drop schemas with views."""
    kinds = {child.tag for child in case if child.tag != "error" or "teardown" not in child.attrib.get("message", "")}
    return "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"


def main() -> None:
    results = {adapter: counts(adapter) for adapter in ADAPTERS}
    print("| topic | tests | dbt-spark-iceberg | dbt-spark |\n|---|---|---|---|")
    total: Counter[str] = Counter()
    for topic in sorted(results[ADAPTERS[0]]):
        passed = {adapter: results[adapter].get(topic, Counter())["passed"] for adapter in ADAPTERS}
        ours = results[ADAPTERS[0]][topic]
        tests = ours["passed"] + ours["failed"]
        print(f"| {topic} | {tests} | {passed[ADAPTERS[0]]} | {passed[ADAPTERS[1]]} |")
        total.update({"tests": tests, **passed})
    print(f"| all | {total['tests']} | {total[ADAPTERS[0]]} | {total[ADAPTERS[1]]} |")


if __name__ == "__main__":
    main()

"""The test results of an environment, and a table of all environments."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_VERSIONS = ("python", "dbt-core", "pyspark", "iceberg", "pyiceberg")
_HEAD = ("environment", "Python", "dbt-core", "Spark", "Iceberg", "PyIceberg", "passed", "failed", "skipped", "minutes")


@dataclass(frozen=True)
class Result:
    """The test results of an environment. ``failed``: test ids or errors; ``not_run``: why no test ran, or None."""

    name: str
    versions: Mapping[str, str] = field(default_factory=dict)
    passed: int = 0
    failed: tuple[str, ...] = ()
    skipped: int = 0
    seconds: float = 0
    not_run: str | None = None

    @property
    def row(self) -> tuple[str, ...]:
        """The cells of the environment's row in the table."""
        return (
            self.name,
            *(self.versions.get(package, "-") for package in _VERSIONS),
            str(self.passed),
            str(len(self.failed)),
            str(self.skipped),
            f"{self.seconds / 60:.1f}",
        )


def read(report: Path, name: str, versions: Mapping[str, str], seconds: float) -> Result:
    """Read the result of a run from pytest's JUnit report."""
    cases = list(ET.parse(report).getroot().iter("testcase"))
    failed = tuple(
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    )
    skipped = sum(case.find("skipped") is not None for case in cases)
    return Result(name, versions, len(cases) - len(failed) - skipped, failed, skipped, seconds)


def table(results: Iterable[Result]) -> str:
    """All results as a Markdown table, followed by the failed tests and the environments that did not run."""
    results = list(results)
    rows = [_HEAD, *(each.row for each in results)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    lines += [f"{each.name}: FAILED {test}" for each in results for test in each.failed]
    lines += [f"{each.name}: NOT RUN: {each.not_run}" for each in results if each.not_run is not None]
    return "\n".join(lines)

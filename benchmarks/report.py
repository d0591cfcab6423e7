"""Generates docs/benchmarks.md from benchmarks/results/*.json: ``python -m benchmarks.report``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from . import results
from .results import Result, Table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
MOST_COLUMNS = 10
"""Tables with more columns are shown collapsed."""

_INTRODUCTION = """\
# Benchmarks

This page compares the cost of the package with that of hand-written statements and common alternatives. `make bench`
measures everything in about three hours and generates this page from `benchmarks/results/*.json`. Methods that are
compared run in pairs, one directly after the other and in alternating order. Unless a section states otherwise, both
run in the same process and the same Spark application. A ratio is the median of the ratios of all pairs.

This project sets its own aims, such as `≤ 0.35` or `≥ 5 times faster`. `missed` marks a figure that does not meet such
an aim.
"""


def page(found: Iterable[Result]) -> str:
    """The text of the page."""
    parts = [_INTRODUCTION]
    for result in found:
        parts.append(f"## {result.name}\n\n{_where(result)}\n")
        parts += [f"![{plot.shows}]({results.PLOTS.name}/{plot.name})\n" for plot in result.plots]
        parts += [_shown(table) + "\n" for table in result.tables]
    return "\n".join(parts)


def _shown(table: Table) -> str:
    text = results.render(table)
    if len(table.header) <= MOST_COLUMNS:
        return text
    title, _, rest = text.partition("\n")
    return f"<details markdown>\n<summary>{title.strip('*')}</summary>\n{rest}\n\n</details>"


def _where(result: Result) -> str:
    machine = result.machine
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    busy = "" if result.load_before <= results.QUIET else " **The machine was busy with other work.**"
    return (
        f"Machine: {machine['cores']} cores, {machine['memory']}, {machine['system']}. Versions: {versions}. "
        f"Load per core before and after: {result.load_before}, {result.load_after}.{busy}{_cpu(result)}"
    )


def _cpu(result: Result) -> str:
    seconds = result.cpu_seconds
    return "" if seconds is None else f" Total CPU time of all processes: {seconds:,.0f} s."


def write() -> None:
    """Write the page from the saved results."""
    PAGE.parent.mkdir(exist_ok=True)
    found = [results.read(path) for path in sorted(results.FOLDER.glob("*.json"))]
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    write()

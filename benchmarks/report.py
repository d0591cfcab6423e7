"""Generates docs/benchmarks.md from benchmarks/results/*.json.

``python -m benchmarks.report`` writes the page. ``python -m benchmarks.report merged`` prints all tables of a result.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from . import results
from .results import Result, Table
from .sections import ANSWERING, HIDDEN, SECTIONS, Shown, answers

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
MOST_COLUMNS = 10
"""Tables with more columns are shown collapsed."""
_AIM = re.compile(r" \(≤[^)]*\)")

_INTRODUCTION = """\
# Benchmarks
"""
_SECTIONS = """\
A ratio is the cost of a run divided by the cost that it is compared with, as the median over pairs of runs. `whole CPU`
is the CPU time of dbt's process and Spark's JVM, including planning and compilation. `executor` columns cover Spark's
tasks only. `make bench` measures everything in about three hours. This page leaves
out some tables, and the results {hidden}. `python -m benchmarks.report NAME` prints all tables of a result.
"""


def page(found: Iterable[Result]) -> str:
    """The text of the page."""
    found = [*found]
    named = {result.name: result for result in found}
    parts = [_INTRODUCTION]
    if named.keys() >= ANSWERING:
        parts.append("\n".join(["## When a run pays\n", *(f"{n}. {line}" for n, line in _numbered(named)), ""]))
    parts.append(f"## What is measured\n\n{_SECTIONS.format(hidden=', '.join(f'`{name}`' for name in HIDDEN))}")
    usual = _where(found[0]) if found else ""
    parts.append(usual + "\n")
    for result in (each for each in found if each.name not in HIDDEN):
        section = SECTIONS.get(result.name)
        lines = [f"## {result.name}", *([section.text] if section else []), _busy(result)]
        lines += [] if _where(result) == usual else [_where(result)]
        parts.append("\n\n".join(line for line in lines if line) + "\n")
        parts += [f"![{plot.shows}]({results.PLOTS.name}/{plot.name})\n" for plot in result.plots]
        tables = [(each, True) for each in result.tables] if section is None else _chosen(result, section.tables)
        parts += [_shown(table, with_note) + "\n" for table, with_note in tables]
    return "\n".join(parts)


def _numbered(named: Mapping[str, Result]) -> Iterable[tuple[int, str]]:
    return enumerate(answers(named), start=1)


def _chosen(result: Result, shown: Iterable[Shown]) -> Iterable[tuple[Table, bool]]:
    """The chosen tables with the chosen columns, without the aims in their cells."""
    for each in shown:
        table = result.tables[each.table]
        if each.by_method is not None:
            yield _by_method(table, *each.by_method), False
            continue
        columns = each.columns or range(len(table.header))
        rows = [
            [_AIM.sub("", row[column]) for column in columns]
            for row in table.rows
            if each.rows is None or row[0] in each.rows
        ]
        yield replace(table, header=[table.header[column] for column in columns], rows=rows), False


def _by_method(table: Table, method: int, ratio: int) -> Table:
    """A table with one row for each method: how many rows have the method, and the range of their ratios."""
    found: dict[str, list[float]] = {}
    for row in table.rows:
        if row[method]:
            found.setdefault(row[method], []).append(float(row[ratio]))
    rows = [[name, str(len(ratios)), f"{min(ratios):.2f}", f"{max(ratios):.2f}"] for name, ratios in found.items()]
    return replace(table, header=["method", "models", "lowest ratio", "highest ratio"], rows=rows)


def _shown(table: Table, with_note: bool) -> str:
    text = results.render(table if with_note else replace(table, note=""))
    if len(table.header) <= MOST_COLUMNS:
        return text
    title, _, rest = text.partition("\n")
    return f"<details markdown>\n<summary>{title.strip('*')}</summary>\n{rest}\n\n</details>"


def _where(result: Result) -> str:
    machine = result.machine
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return f"Machine: {machine['cores']} cores, {machine['memory']}, {machine['system']}. Versions: {versions}."


def _busy(result: Result) -> str:
    return "" if result.load_before <= results.QUIET else "**The machine was busy with other work.**"


def write() -> None:
    """Write the page from the saved results."""
    PAGE.parent.mkdir(exist_ok=True)
    found = [results.read(path) for path in sorted(results.FOLDER.glob("*.json"))]
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        results.read(results.FOLDER / f"{name}.json").show()
    if not sys.argv[1:]:
        write()

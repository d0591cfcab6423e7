"""The results of benchmarks: figures and machine, in benchmarks/results/<name>.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import cpu

FOLDER = Path(__file__).resolve().parent / "results"
PLOTS = FOLDER.parent.parent / "docs" / "plots"
QUIET = 1.0
"""The maximum load per core at which a machine counts as quiet before a benchmark."""
_MOST_WAIT = 180
"""The maximum time in s to wait for a quiet machine."""
_PACKAGES = ("dbt-spark-iceberg", "dbt-core", "dbt-spark", "pyspark", "pyiceberg")


@dataclass
class Table:
    """A table of figures as text."""

    title: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""

    def add(self, *cells: str) -> None:
        """Add a row."""
        self.rows.append(list(cells))


@dataclass
class Plot:
    """An SVG file in ``PLOTS``, by name, with its description."""

    name: str
    shows: str


@dataclass
class Result:
    """The tables of one benchmark, the values behind them, and the machine. Loads are per core, over the last minute.

    ``cpu_seconds``: the total CPU time of all processes of the benchmark; None in older results.
    """

    name: str
    load_before: float
    load_after: float = 0.0
    tables: list[Table] = field(default_factory=list)
    measured: dict[str, list[float]] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    plots: list[Plot] = field(default_factory=list)
    cpu_seconds: float | None = None

    def save(self) -> None:
        """Write the result, and print its tables."""
        self.load_after, self.cpu_seconds = load(), round(cpu.whole())
        self.machine, self.versions = machine(), versions()
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"{self.name}.json"
        path.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        self.show()

    def show(self) -> None:
        """Print the tables."""
        for table in self.tables:
            print("\n" + render(table), flush=True)


def scratch(name: str) -> Path:
    """The folder of a benchmark's temporary files and raw measurements."""
    return FOLDER.parents[1] / "build" / name


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """A parser for the options of a benchmark. ``description``: its documentation, whose lines are not wrapped."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def begin(name: str) -> Result:
    """Create a result, and record the load of the machine by other work."""
    return Result(name, load_by_others())


def load_by_others() -> float:
    """The load before a benchmark. Waits up to three minutes until the load of an earlier benchmark has faded."""
    until = time.monotonic() + _MOST_WAIT
    while (now := load()) > QUIET and time.monotonic() < until:
        time.sleep(5)
    return now


def read(path: Path) -> Result:
    """A saved result."""
    document = json.loads(path.read_text(encoding="utf-8"))
    tables = [Table(**table) for table in document["tables"]]
    plots = [Plot(**plot) for plot in document.get("plots", [])]
    return Result(**{**document, "tables": tables, "plots": plots})


def render(table: Table) -> str:
    """A table as Markdown. The first column is text, the others are numbers."""
    lines = [f"**{table.title}**", "", *([table.note, ""] if table.note else [])]
    lines.append("| " + " | ".join(table.header) + " |")
    lines.append("|---|" + "---:|" * (len(table.header) - 1))
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return "\n".join(lines)


def load() -> float:
    """The number of runnable processes per core, over the last minute."""
    return round(os.getloadavg()[0] / (os.cpu_count() or 1), 2)


def machine() -> dict[str, str]:
    """The machine's cores, memory and system."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """The versions of the measured software."""
    found = {"Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def paired_ratio(ours: Sequence[float], floor: Sequence[float]) -> float:
    """The median of the ratios of pairs. The values of a pair are measured in succession, so that load affects both."""
    return statistics.median(one / other for one, other in zip(ours, floor, strict=True))


def paired_difference(ours: Sequence[float], floor: Sequence[float]) -> float:
    """The median of the differences of pairs, as in ``paired_ratio``."""
    return statistics.median(one - other for one, other in zip(ours, floor, strict=True))


def seconds(values: Sequence[float]) -> str:
    """The median of durations in s, as text."""
    return f"{statistics.median(values):.2f} s"


def milliseconds(values: Sequence[float]) -> str:
    """The median of durations in s, as text in ms."""
    return f"{1000 * statistics.median(values):.1f} ms"


def at_most(aim: float, ratio: float) -> str:
    """The aim for a ratio as text, and whether the ratio misses it."""
    return f"≤ {aim:.2f}" + (" missed" if ratio > aim else "")


def times(ratio: float, aim: float) -> str:
    """A ratio as text, and whether it is below an aim."""
    return f"{ratio:.1f}" + (" missed" if ratio < aim else "")

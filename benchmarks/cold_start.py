"""The time from the start of `dbt run` to the first model's first statement, on the embedded lakehouse, and its parts.

The time is compared with a floor: the start of a bare SparkSession with the same settings and jars, plus `dbt parse` of
the same project. Each runs in a separate process, in turn. The lakehouse, the jars and dbt's partial parse exist before
the measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyspark

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from iceberg_incremental.jvm import jars

from . import first_project, results
from .lake import Project
from .results import Result, Table

NAME = "cold_start"
_DBT = Path(sys.executable).with_name("dbt")
_MODELS = 20
_AIM_BESIDE = 0.55
"""The aim for the first cold `dbt build`, compared with the build before the class data archive."""
_BARE = """\
import json, sys, time
from pyspark.sql import SparkSession
builder = SparkSession.builder
for key, value in json.loads(sys.argv[1]).items():
    builder = builder.config(key, value)
builder.getOrCreate()
print(time.time())
"""
_PARTS = (
    "imports",
    "profile and parsing",
    "Spark's JVM and context",
    "session and catalog",
    "dbt's listings, compiling the model",
)
"""The parts of the time, in order."""

Event = Mapping[str, Any]


def moments(events: Iterable[Event]) -> list[float]:
    """The end of each part in a run's log, in seconds since 1970. Raises ValueError if an end is missing."""
    found: dict[str, float] = {}
    for event in events:
        for part in filter(None, [_ends(event)]):
            found.setdefault(part, datetime.fromisoformat(event["info"]["ts"].replace("Z", "+00:00")).timestamp())
    if missing := [part for part in _PARTS if part not in found]:
        raise ValueError(f"the log does not show the end of {', '.join(missing)}")
    return [found[part] for part in _PARTS]


def _ends(event: Event) -> str | None:
    """The part that ends with an event in dbt's log. None if no part does."""
    info, data = event["info"], event["data"]
    if info["name"] == "MainReportVersion":
        return _PARTS[0]
    if info["name"] == "SQLQuery":
        node = (data.get("node_info") or {}).get("unique_id", "")
        return _PARTS[4] if node.startswith("model.") else _PARTS[3]
    if "Starting Spark" in info["msg"]:
        return _PARTS[1]
    return _PARTS[2] if "Spark is up" in info["msg"] else None


def run(project: Project) -> list[float]:
    """The durations of the parts of `dbt run` in s."""
    log = project.folder / "logs" / "dbt.log"
    log.unlink(missing_ok=True)
    began = time.time()
    _dbt(project, "run", "--log-level-file", "debug", "--log-format-file", "json")
    ends = moments(map(json.loads, log.read_text(encoding="utf-8").splitlines()))
    return [end - start for start, end in zip([began, *ends[:-1]], ends, strict=True)]


def parse(project: Project) -> float:
    """The duration of `dbt parse` in s."""
    began = time.time()
    _dbt(project, "parse")
    return time.time() - began


def bare_session(confs: Mapping[str, str]) -> float:
    """The time from the start of a Python process to its SparkSession, in s."""
    began = time.time()
    done = subprocess.run(
        [sys.executable, "-c", _BARE, json.dumps(dict(confs))], check=True, capture_output=True, text=True
    )
    return float(done.stdout) - began


def _dbt(project: Project, *arguments: str) -> None:
    done = subprocess.run([_DBT, *arguments], cwd=project.folder, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"dbt {arguments[0]} failed:\n{done.stdout}")


def measure(folder: Path, rounds: int, result: Result) -> None:
    """Measure `dbt run`, the bare session and `dbt parse` in turn. The first round fills caches and is omitted."""
    target = {"type": "spark_iceberg", "method": "session", "warehouse": str(folder / "lakehouse")}
    project = Project(folder, "cold", target)
    for number in range(_MODELS):
        project.model(f"m_{number}", "select 1 as id", materialized="table")
    credentials = SparkIcebergCredentials.from_dict({**target, "schema": "cold"})
    confs = jars.in_place(credentials.spark_confs(pyspark.__version__), os.environ)
    parts: list[list[float]] = []
    bare: list[float] = []
    parsing: list[float] = []
    for number in range(rounds + 1):
        taken = run(project), bare_session(confs), parse(project)
        print("run {}; bare {:.2f} s; parse {:.2f} s".format([f"{s:.2f}" for s in taken[0]], *taken[1:]), flush=True)
        if number:
            parts.append(taken[0])
            bare.append(taken[1])
            parsing.append(taken[2])
    wholes = [sum(each) for each in parts]
    floor = [one + other for one, other in zip(bare, parsing, strict=True)]
    table = Table(
        "From the start of `dbt run` to the first model's first statement, in an embedded lakehouse and a project of "
        f"{_MODELS} models",
        ["", "duration"],
        note=f"Medians of {rounds} runs, each in a separate process. The floor is the time to start a bare "
        "SparkSession and then run `dbt parse`. Aim: at most 1.2 times the floor.",
    )
    table.add("`dbt run` until the first model's first statement", results.seconds(wholes))
    for name, values in zip(_PARTS, zip(*parts, strict=True), strict=True):
        table.add(f"of which: {name}", results.seconds(values))
    table.add("the floor in total", results.seconds(floor))
    table.add("of which: a bare SparkSession, with the same settings and jars", results.seconds(bare))
    table.add("of which: `dbt parse`", results.seconds(parsing))
    table.add("ratio of `dbt run` to the floor", f"{results.paired_ratio(wholes, floor):.2f}")
    result.tables.append(table)
    result.measured |= {"dbt run": wholes, "bare session": bare, "dbt parse": parsing}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--beside",
        type=Path,
        default=os.environ.get("BESIDE"),
        metavar="DBT",
        help="the dbt executable of another build of this package, with which the README's first project is compared; "
        "by default, the environment variable BESIDE",
    )
    options = parser.parse_args(argv)
    result = results.begin(NAME)
    if options.beside is not None:
        builds = {"this build": first_project.this_build(), "the other": Path(options.beside).absolute()}
        result.tables.append(first_project.table(first_project.measure(builds, options.rounds), _AIM_BESIDE))
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        measure(Path(folder), options.rounds, result)
    result.save()


if __name__ == "__main__":
    main()

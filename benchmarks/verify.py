"""Compares `ip_verify` of a table, and of a sample of its keys, with a rebuild by `materialized: table`."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import results
from .lake import CATALOG, RAW, Lake, Project
from .meter import Meter, Spent, open_metered_lake
from .results import Result, Table

NAME = "verify"
_SCHEMA = "verified"
_SOURCE = f"{CATALOG}.{RAW}.events"
_MODELS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "rows": (
        "select * from {{ ip_changes(source('raw', 'events')) }}",
        {"incremental_strategy": "merge", "unique_key": "id"},
    ),
    "groups": (
        "select account, count(*) as n, sum(amount) as amount, max(note) as note from {{ source('raw', 'events') }}"
        " group by account",
        {"incremental_strategy": "auto"},
    ),
}
_REBUILD, _VERIFY, _SAMPLE = "rebuild", "ip_verify", "sample"
SHARE = 0.05
AIM = 1.0
"""The maximum cost of a comparison, as a share of a rebuild's cost."""


def make_project(lake: Lake) -> Project:
    """A project with each model, and a model with the same SQL and `materialized: table`."""
    project = lake.project(_SCHEMA)
    project.sources("events", database=CATALOG)
    for name, (sql, config) in _MODELS.items():
        project.model(name, sql, materialized="iceberg_incremental_snapshot", **config)
        plain = sql.replace("ip_changes(source('raw', 'events'))", "source('raw', 'events')")
        project.model(f"{name}_rebuilt", plain, materialized="table")
    return project


def commit(lake: Lake, first: int, rows: int) -> None:
    """Commit new rows to the source."""
    lake.sql(
        f"insert into {_SOURCE} select id, id % 99991, cast(id % 1000 as decimal(12, 2)), md5(cast(id as string))"
        f" from range({first}, {first + rows})"
    )


def spent(meter: Meter, project: Project, model: str, way: str) -> Spent:
    """The cost of one method."""
    with meter.measuring() as found:
        if way == _REBUILD:
            project.run("--select", f"{model}_rebuilt")
        else:
            arguments = {"model": model, **({"sample": SHARE} if way == _SAMPLE else {})}
            project.run("--args", json.dumps(arguments), command="run-operation ip_verify")
    return found


def measure(lake: Lake, meter: Meter, result: Result, rows: int, rounds: int) -> None:
    """Build tables from ``rows`` rows of the source in two runs, then measure rounds of each method."""
    lake.sql(f"create table {_SOURCE} (id bigint, account bigint, amount decimal(12, 2), note string) using iceberg")
    project = make_project(lake)
    for first, number in ((0, rows * 9 // 10), (rows * 9 // 10, rows // 10)):
        commit(lake, first, number)
        project.run()
    ways = (_REBUILD, _VERIFY, _SAMPLE)
    table = Table(
        f"A rebuild, `ip_verify`, and `ip_verify` of {SHARE:.0%} of the keys",
        [
            *("model", "rows", "rounds", "executor CPU, rebuild", "verify / rebuild", "aim", "sample / rebuild"),
            *("wall, rebuild", "verify / rebuild", "sample / rebuild"),
            *("whole CPU, rebuild", "verify / rebuild", "sample / rebuild"),
        ],
        note="The model `rows` copies a table, and `groups` aggregates it. A rebuild computes the rows and writes "
        "them. `ip_verify` computes the rows, reads the table's rows, and shuffles both. `whole CPU` is the CPU time "
        "of dbt's process and Spark's JVM.",
    )
    result.tables.append(table)
    for model in _MODELS:
        found: dict[str, list[Spent]] = defaultdict(list)
        for way in ways:
            spent(meter, project, model, way)  # warm-up
        for number in range(rounds):
            for way in ways if number % 2 else ways[::-1]:
                found[way].append(spent(meter, project, model, way))
        cpu = {way: [each.cpu for each in found[way]] for way in ways}
        wall = {way: [each.wall for each in found[way]] for way in ways}
        whole = {way: [each.whole for each in found[way]] for way in ways}
        ratio = results.paired_ratio(cpu[_VERIFY], cpu[_REBUILD])
        table.add(
            f"`{model}`",
            f"{rows:,}",
            str(rounds),
            results.seconds(cpu[_REBUILD]),
            f"{ratio:.2f}",
            results.at_most(AIM, ratio),
            f"{results.paired_ratio(cpu[_SAMPLE], cpu[_REBUILD]):.2f}",
            results.seconds(wall[_REBUILD]),
            f"{results.paired_ratio(wall[_VERIFY], wall[_REBUILD]):.2f}",
            f"{results.paired_ratio(wall[_SAMPLE], wall[_REBUILD]):.2f}",
            results.seconds(whole[_REBUILD]),
            f"{results.paired_ratio(whole[_VERIFY], whole[_REBUILD]):.2f}",
            f"{results.paired_ratio(whole[_SAMPLE], whole[_REBUILD]):.2f}",
        )
        result.measured |= {f"{model}.{way}.cpu": values for way, values in cpu.items()}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the source")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(argv)
    result = results.begin(NAME)
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        open_metered_lake(Path(folder) / "lake") as (lake, meter),
    ):
        measure(lake, meter, result, options.rows, options.rounds)
    result.save()


if __name__ == "__main__":
    main()

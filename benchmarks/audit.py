"""Compares an audit before publishing with the same data tests after publishing, in `dbt build` of two models."""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import results
from .lake import CATALOG, RAW, Lake, Project
from .meter import Meter, Spent, open_metered_lake
from .results import Result, Table

NAME = "audit"
_SCHEMA = "audits"
_SOURCE = f"{CATALOG}.{RAW}.events"
_AUDITED, _AFTER = "audited", "tested_afterwards"
_TESTS: dict[str, list[Any]] = {
    "id": ["not_null", "unique"],
    "account": ["not_null"],
    "kind": [{"accepted_values": {"arguments": {"values": ["a", "b", "c", "d"]}}}],
}


def make_project(lake: Lake) -> Project:
    """A project with two models that have the same tests."""
    project = lake.project(_SCHEMA)
    project.sources("events", database=CATALOG)
    for name in (_AUDITED, _AFTER):
        project.model(
            name,
            f"select * from {{{{ ip_changes(source('{RAW}', 'events')) }}}}",
            materialized="iceberg_incremental_snapshot",
            incremental_strategy="merge",
            unique_key="id",
            audit=name == _AUDITED,
        )
        project.tests(name, _TESTS)
    return project


def commit(lake: Lake, first: int, rows: int) -> None:
    """Commit new rows to the source."""
    lake.sql(
        f"insert into {_SOURCE} select id, id % 9973, substr('abcd', cast(id % 4 as int) + 1, 1),"
        f" md5(cast(id as string)) from range({first}, {first + rows})"
    )


def spent(meter: Meter, project: Project, model: str, *arguments: str) -> Spent:
    """The cost of `dbt build` of a model and its tests."""
    with meter.measuring() as found:
        project.run("--select", model, *arguments, command="build")
    return found


def measure(lake: Lake, meter: Meter, result: Result, rows: int, rounds: int) -> None:
    """Build tables of ``rows`` rows, then measure rounds with 1% new rows, and rounds with --full-refresh."""
    lake.sql(f"create table {_SOURCE} (id bigint, account bigint, kind string, note string) using iceberg")
    commit(lake, 0, rows)
    project = make_project(lake)
    for model in (_AUDITED, _AFTER):  # warm-up
        spent(meter, project, model)
    table = Table(
        "`dbt build` of a model with four data tests: tests before and after publishing",
        [
            *("run", "rows", "rounds", "executor CPU, audit", "executor CPU, tests after", "ratio"),
            *("wall, audit", "ratio", "whole CPU, audit", "ratio"),
        ],
        note="With `audit: true`, the tests run before the commit, and `dbt build` reuses their results. "
        "`whole CPU` is the CPU time of dbt's process and Spark's JVM.",
    )
    result.tables.append(table)
    new = rows // 100
    for run, arguments in ((f"{new:,} new rows", ()), ("--full-refresh", ("--full-refresh",))):
        found: dict[str, list[Spent]] = defaultdict(list)
        for number in range(rounds):
            if not arguments:
                commit(lake, rows + number * new, new)
            for model in (_AUDITED, _AFTER) if number % 2 else (_AFTER, _AUDITED):
                found[model].append(spent(meter, project, model, *arguments))
        cpu = {model: [each.cpu for each in all_of] for model, all_of in found.items()}
        wall = {model: [each.wall for each in all_of] for model, all_of in found.items()}
        whole = {model: [each.whole for each in all_of] for model, all_of in found.items()}
        table.add(
            run,
            f"{rows:,}",
            str(rounds),
            *(results.seconds(cpu[model]) for model in (_AUDITED, _AFTER)),
            f"{results.paired_ratio(cpu[_AUDITED], cpu[_AFTER]):.2f}",
            results.seconds(wall[_AUDITED]),
            f"{results.paired_ratio(wall[_AUDITED], wall[_AFTER]):.2f}",
            results.seconds(whole[_AUDITED]),
            f"{results.paired_ratio(whole[_AUDITED], whole[_AFTER]):.2f}",
        )
        result.measured |= {f"{run}.{model}.cpu": values for model, values in cpu.items()}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the table")
    parser.add_argument("--rounds", type=int, default=5)
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

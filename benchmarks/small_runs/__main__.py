"""Measures runs with little work, compared with ``materialized='table'``: total CPU, executors' CPU and duration."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .. import results
from ..meter import open_metered_lake
from ..results import Result, Table
from . import one_model, pipeline
from .one_model import Size
from .ways import AUTO, AUTO_FEED, AUTO_GROUPS, GROUPS, MIRROR, UPSERTS, WAYS

NAME = "small_runs"
SCRATCH = results.scratch(NAME)
_SMALL, _LARGER = Size("small", 20_000, 2, 10), Size("larger", 1_500_000, 32, 4, 0.5)
_SIZES = (_SMALL, _LARGER)
_AIMS = {
    _SMALL.name: {MIRROR: 1.2, AUTO: 1.0, UPSERTS: 1.2, GROUPS: 1.2, AUTO_GROUPS: 1.0, AUTO_FEED: 1.0},
    _LARGER.name: {MIRROR: 0.7, UPSERTS: 0.5, GROUPS: 0.9},
}
_PIPELINE_AIMS = {pipeline.OURS: 1.0, pipeline.PLAIN: 0.7}


def one_model_table(size: Size, costs: Mapping[str, Sequence[one_model.Cost]]) -> Table:
    """The median costs of each method, and the medians of the ratios to its rebuild in the same round."""
    table = Table(
        f"A run of one model: {size.rows:,} rows in {size.files} files, {size.percent:g}% changed",
        ["", "whole CPU", "ratio", "aim", "wall", "ratio", "executors' CPU", "ratio", "CPU of `dbt run`", "ratio"],
        note=f"Medians of {size.rounds} rounds in one long-lived Spark process, from the start to the end of each "
        "model. `whole CPU` is the CPU time of dbt's process and the JVM, including planning, compilation and garbage "
        "collection. Ratios are relative to a `materialized='table'` model of the same rows. The feed is a second "
        "source, which only receives new rows.",
    )
    for way in WAYS:
        ours, rebuilt = costs[way.name], costs[way.rebuild]
        aim = _AIMS.get(size.name, {}).get(way.name)
        cells = []
        for part in (
            lambda cost: cost.whole,
            lambda cost: cost.wall,
            lambda cost: cost.executors,
            lambda cost: cost.command[0],
        ):
            values, others = [part(each) for each in ours], [part(each) for each in rebuilt]
            cells += [results.seconds(values), f"{results.paired_ratio(values, others):.2f}"]
        cells.insert(2, "" if aim is None else results.at_most(aim, float(cells[1])))
        table.add(way.label, *cells)
    return table


def pipeline_table(costs: Mapping[str, Sequence[pipeline.Cost]]) -> Table:
    """The median costs of the projects, and the ratios to the rebuilt project."""
    rebuilt = costs[pipeline.REBUILT]
    table = Table(
        f"A pipeline of {pipeline.MODELS} small models in three stages, {pipeline.PERCENT}% changed",
        ["", "rebuilt", "macros", "ratio", "aim", "plain SQL, auto", "ratio", "aim"],
        note=f"Medians of {len(rebuilt)} rounds of `dbt run` with {pipeline.THREADS} threads, in one long-lived Spark "
        "process.",
    )
    for label, name in (("whole CPU", "whole"), ("wall", "wall"), ("executors' CPU", "executors")):
        others = [getattr(each, name) for each in rebuilt]
        cells = [results.seconds(others)]
        for project, most in _PIPELINE_AIMS.items():
            values = [getattr(each, name) for each in costs[project]]
            ratio = results.paired_ratio(values, others)
            aim = results.at_most(most, ratio) if name != "executors" else ""
            cells += [results.seconds(values), f"{ratio:.2f}", aim]
        table.add(label, *cells)
    return table


def measure(sizes: Sequence[Size], pipeline_rounds: int, result: Result) -> None:
    """Measure one model at several sizes, and the pipeline, unless it has no rounds."""
    with open_metered_lake(SCRATCH / str(os.getpid())) as (lake, meter):
        for size in sizes:
            costs = one_model.measure(lake, meter, size)
            _add(result, one_model_table(size, costs))
            for way, found in costs.items():
                for part in ("whole", "wall", "executors"):
                    result.measured[f"{size.name}.{way}.{part}"] = [getattr(each, part) for each in found]
        if pipeline_rounds:
            found_costs = pipeline.Pipeline(lake, meter, _SMALL.rows, _SMALL.files).measure(pipeline_rounds)
            _add(result, pipeline_table(found_costs))
            for name, each in found_costs.items():
                result.measured[f"pipeline.{name}.whole"] = [cost.whole for cost in each]


def _add(result: Result, table: Table) -> None:
    result.tables.append(table)
    print(f"\n{results.render(table)}\n", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result if all measurements were complete."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_runs", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="*",
        choices=[_SMALL.name, _LARGER.name, "pipeline"],
        help="measure only these, and save nothing",
    )
    parser.add_argument("--rounds", type=int, help="measured rounds of each part after the warm-up")
    options = parser.parse_args(argv)
    chosen = options.only or [_SMALL.name, _LARGER.name, "pipeline"]
    sizes = [replace(size, rounds=options.rounds or size.rounds) for size in _SIZES if size.name in chosen]
    result = results.begin(NAME)
    measure(sizes, (options.rounds or 4) if "pipeline" in chosen else 0, result)
    if options.only is None and options.rounds is None:
        result.save()


if __name__ == "__main__":
    main()

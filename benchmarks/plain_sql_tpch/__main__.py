"""Compares the 22 queries of TPC-H as ``auto`` models, with both methods, with rebuilds by ``materialized='table'``.

Writes the raw measurements to build/plain_sql_tpch/measurements.jsonl: the cost of each model's run, the method that
the run chose, and the inputs of its estimate. The constants in iceberg_incremental/plan/rebuild_cost.py are fitted to
these measurements. Without options, also saves the figures.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import results
from ..meter import open_metered_lake
from . import data, summary
from .measure import WAYS, Measurement, Queries

NAME = "plain_sql_tpch"
SCRATCH = results.scratch(NAME)
MEASUREMENTS = SCRATCH / "measurements.jsonl"


def measured(found: Sequence[Measurement]) -> dict[str, list[float]]:
    """The values behind the tables: the whole CPU time of each model of each series and query, round by round."""
    values: dict[str, list[float]] = {}
    for each in found:
        for way in WAYS:
            if (run := getattr(each, way)) is not None:
                values.setdefault(f"{each.series}.{each.query}.{way}.whole", []).append(run.whole)
    return values


def main(argv: Sequence[str] | None = None) -> None:
    """Measure. Raises ValueError if a table differs from its rebuild."""
    arguments = sys.argv[1:] if argv is None else argv
    names = tuple(data.queries())
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{NAME}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="scale of the data (default: %(default)s)")
    listed = ", ".join(f"{name} {count}" for name, count in data.ROUNDS.items())
    parser.add_argument("--rounds", type=int, help=f"rounds of each series after the warm-up (default: {listed})")
    parser.add_argument("--series", nargs="+", choices=tuple(data.SERIES), default=tuple(data.SERIES))
    parser.add_argument("--queries", nargs="+", choices=names, default=names, metavar="q01")
    options = parser.parse_args(arguments)
    result = results.begin(NAME)
    with open_metered_lake(SCRATCH / str(os.getpid())) as (lake, meter):
        queries = Queries(lake, meter, options.scale, options.queries)
        rounds = {series: options.rounds or data.ROUNDS[series] for series in options.series}
        found = queries.measure(rounds, MEASUREMENTS)
    result.tables = summary.tables(found, options.scale)
    result.measured = measured(found)
    if not arguments:
        result.save()
    else:
        result.show()


if __name__ == "__main__":
    main()

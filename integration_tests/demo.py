"""Lands a year of real flights day by day, and runs dbt in between. Shows what each run reads and a watermark loses.

Prints only measured values. Exits with 1 if a model differs from its rebuild.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import land_flights
from dbt.cli.main import dbtRunner
from dbt_common.events.base_types import EventMsg
from land_flights import Landing
from pyspark.sql import SparkSession
from scans import Read, ScanMeter

PROJECT = Path(__file__).resolve().parent
CATALOG = "lakehouse"
SOURCE = f"{CATALOG}.ops.flights"
OURS = "stg_flights"
WATERMARK = "stg_flights_watermark"
# Each model and the table that it must equal in the rebuild. For staging models, dbt's own materialization builds it.
REBUILDS = {
    OURS: WATERMARK,
    "carrier_days": "carrier_days",
    "aircraft": "aircraft",
    "departure_weather": "departure_weather",
    WATERMARK: WATERMARK,
}
MIB = 1 << 20


class DbtError(Exception):
    """A dbt command that failed."""


def dbt(*args: str, progress: Callable[[EventMsg], None] | None = None) -> dict[str, dict[str, Any]]:
    """Runs a dbt command in this process and returns the adapter's response of each node, by the node's name.

    ``progress``: called with each event of dbt.
    """
    runner = dbtRunner(callbacks=[] if progress is None else [progress])
    result = runner.invoke([*args, "--quiet", "--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)])
    if not result.success:
        raise DbtError(f"dbt {' '.join(args)} failed: {result.exception or 'see above'}")
    return {node.node.name: node.adapter_response for node in getattr(result.result, "results", [])}


def start(warehouse: Path) -> SparkSession:
    """Opens a session on an empty lakehouse, which the dbt profile then uses too."""
    if (warehouse / "catalog.db").exists():
        shutil.rmtree(warehouse)
    os.environ["FLIGHTS_WAREHOUSE"] = str(warehouse)
    dbt("debug")  # starts Spark, with the profile's settings
    return land_flights.open_lakehouse(warehouse)


def batches(landings: Sequence[Landing], days: int) -> Iterator[Sequence[Landing]]:
    """The landings between two runs."""
    for first in range(0, len(landings), days):
        yield landings[first : first + days]


def ours(response: dict[str, Any]) -> Read:
    """What our staging model read, according to the run's result."""
    (source,) = response["ip"]["sources"].values()
    return Read(source["files"], source["records"], source["bytes"])


def lost(spark: SparkSession) -> int:
    """The number of flights that our staging model has and the watermark's lacks."""
    return spark.table(f"{CATALOG}.analytics.{OURS}").count() - spark.table(f"{CATALOG}.analytics.{WATERMARK}").count()


def print_finished(event: EventMsg) -> None:
    """Prints each model that dbt has built, with the time since the start of the run."""
    if event.info.name == "LogModelResult":
        print(f"  {event.data.node_info.node_name:<37}{event.data.execution_time:>8.0f} seconds")


def difference(spark: SparkSession, model: str) -> tuple[int, int, int]:
    """Counts the rows of a model, the rows that it lacks, and the rows that its rebuild lacks."""
    built = spark.table(f"{CATALOG}.analytics.{model}")
    rebuilt = spark.table(f"{CATALOG}.rebuild.{REBUILDS[model]}")
    return built.count(), rebuilt.exceptAll(built).count(), built.exceptAll(rebuilt).count()


def figures(read: Read) -> str:
    """The files, rows and bytes that were read, as three columns."""
    return f"{read.files:>8,}{read.rows:>12,}{read.bytes / MIB:>7.1f}"


def line(run: object, landed: str, commits: object, by_ours: str, by_watermark: str, lost_flights: str) -> str:
    """A line of the table of runs."""
    return f"{run:>3}  {landed:<10}{commits:>9}{by_ours:>27}{by_watermark:>27}{lost_flights:>16}"


def run_all(spark: SparkSession, landings: Sequence[Landing], days: int) -> None:
    """Lands all flights, runs dbt after every ``days`` days and once more at the end, and prints what each run read."""
    titles = f"{'files':>8}{'rows':>12}{'MiB':>7}"
    print(line("", "", "", "ip_changes reads", "max() watermark reads", "flights that"))
    print(line("run", "landed by", "commits", titles, titles, "watermark lost"))

    meter = ScanMeter(spark)
    read_by_ours = read_by_watermark = Read()
    for number, batch in enumerate([*batches(landings, days), []], start=1):
        for landing in batch:
            land_flights.land(spark, f"{CATALOG}.ops", landing)
        meter.mark()
        responses = dbt("run")
        by_ours = ours(responses[OURS])
        by_watermark = meter.read(SOURCE, f"{CATALOG}.analytics.{WATERMARK}")
        read_by_ours += by_ours
        read_by_watermark += by_watermark
        landed = batch[-1].day.isoformat() if batch else "-"
        print(line(number, landed, len(batch), figures(by_ours), figures(by_watermark), f"{lost(spark):,}"))
    print(line("all", "", len(landings), figures(read_by_ours), figures(read_by_watermark), ""))


def check(spark: SparkSession, flights: int) -> bool:
    """Rebuilds every model from the whole source, prints the differences, and returns whether our models have none."""
    print("\nrebuilding every model from the whole source:")
    dbt("run", "--full-refresh", "--target", "rebuild", progress=print_finished)
    print(f"\n{'compared with a rebuild from scratch':<39}{'rows':>12}{'missing':>9}{'too many':>10}")
    differences = {}
    for model in REBUILDS:
        rows, missing, extra = differences[model] = difference(spark, model)
        print(f"{model:<39}{rows:>12,}{missing:>9,}{extra:>10,}")
    right = all(differences[model][1:] == (0, 0) for model in REBUILDS if model != WATERMARK)
    return right and differences[OURS][0] == flights


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the demo and returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--warehouse",
        type=Path,
        default=PROJECT / "lakehouse",
        help="the folder of the lakehouse, which is emptied first",
    )
    parser.add_argument(
        "--days", type=int, default=28, help="landing days between two runs of dbt; each day is one commit"
    )
    parser.add_argument("--until", type=int, default=None, help="stop after this many landing days")
    options = parser.parse_args(argv)

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # through a pipe, too, each line is shown immediately
    began = time.monotonic()
    print("reading the flights and starting Spark")
    landings = land_flights.read_landings()[: options.until]
    flights = sum(landing.flights.num_rows for landing in landings)
    late = sum(landing.late for landing in landings)
    spark = start(options.warehouse.resolve())
    land_flights.create_tables(spark, f"{CATALOG}.ops")

    print(f"{flights:,} flights land in {len(landings)} daily commits, {late:,} of them a day after their flight day.")
    print(f"dbt runs after every {options.days} commits, and once more at the end. What the staging models read of the")
    print("source is taken from run_results.json for ip_changes, from Spark's scan metrics for the watermark.\n")
    run_all(spark, landings, options.days)
    right = check(spark, flights)
    verdict = "Ours equal the rebuild" if right else "OURS DIFFER FROM THE REBUILD"
    print(f"\n{verdict}. {time.monotonic() - began:.0f} seconds in all.")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

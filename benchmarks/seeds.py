"""Measures `dbt seed` of 10,000 rows and 10 columns, with this adapter and dbt-spark, in one Spark.

Both load the same file into an Iceberg table. The values have no apostrophes, which dbt-spark does not escape. As a
warm-up, both first load a twentieth of the rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import results
from .lake import CATALOG, Lake, open_lake
from .results import Result, Table

NAME = "seeds"
_AIM = 10
_TYPES = ["bigint", "bigint", "double", "double", "string", "string", "boolean", "date", "timestamp", "string"]


def csv(rows: int) -> str:
    """The text of a seed file with numbers, texts, a boolean, a date and a timestamp."""
    header = "id,number,amount,ratio,name,code,flag,day,moment,note"
    lines = (
        f"{n},{n * 7},{n}.25,0.{n:05},name {n},C-{n:05},{'true' if n % 2 else 'false'},2026-01-{n % 28 + 1:02},"
        f"2026-01-01 {n % 24:02}:{n % 60:02}:00,a note on {n}"
        for n in range(rows)
    )
    return "\n".join([header, *lines]) + "\n"


def measure(lake: Lake, rows: int, rounds: int, result: Result) -> None:
    """Load the file with both adapters in turn. Raises ValueError if the loaded table is wrong."""
    projects = {"dbt-spark-iceberg": lake.project("ours"), "dbt-spark": lake.dbt_spark_project("theirs")}
    durations: dict[str, list[float]] = {name: [] for name in projects}
    for name, project in projects.items():
        project.seed("big", csv(rows // 20))
        took = project.run(command="seed").seconds
        print(f"first load by {name}: {took:.1f} s", flush=True)
        project.seed("big", csv(rows))
    for _ in range(rounds):
        for name, project in projects.items():
            (seconds,) = project.run("--full-refresh", command="seed").models.values()
            durations[name].append(seconds)
            print(f"{name}: {seconds:.1f} s", flush=True)
    schema = [row[1] for row in lake.sql(f"describe {CATALOG}.ours.big")]
    if schema != _TYPES or lake.sql(f"select count(*) from {CATALOG}.ours.big")[0][0] != rows:
        raise ValueError(f"expected {rows} rows of {_TYPES}, found {schema}")
    table = Table(f"`dbt seed` of {rows:,} rows and 10 columns", ["", *projects], note=f"Aim: ≥ {_AIM} times faster.")
    table.add("`dbt seed`", *(results.seconds(each) for each in durations.values()))
    ratio = results.paired_ratio(durations["dbt-spark"], durations["dbt-spark-iceberg"])
    table.add("relative to dbt-spark-iceberg", "1.0", results.times(ratio, _AIM))
    result.tables.append(table)
    result.measured |= durations


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=1, help="rounds to measure; dbt-spark takes minutes for each")
    options = parser.parse_args(argv)
    result = results.begin(NAME)
    with open_lake() as lake:
        measure(lake, options.rows, options.rounds, result)
    result.save()


if __name__ == "__main__":
    main()

"""Lists a schema of 1,000 Iceberg tables, and runs `dbt docs generate` for 300 models, with this adapter and dbt-spark.

Both adapters read the same tables of the same catalog, with one Spark, in turn. dbt's own time is the same for both. It
is the time of `dbt docs generate --empty-catalog --no-populate-cache`, which compiles the models without Spark.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from dbt.adapters.base import BaseAdapter
from dbt.adapters.spark.impl import SparkAdapter

from dbt.adapters.spark_iceberg.impl import SparkIcebergAdapter
from dbt.adapters.spark_iceberg.profile.lakehouse import CATALOG_FILE

from . import results
from .lake import CATALOG, Invocation, Lake, Project, open_lake, timing
from .results import Result, Table

NAME = "listing"
_SCHEMA = "wide"
_OURS, _THEIRS = "dbt-spark-iceberg", "dbt-spark"
_COLUMNS = (
    "id bigint comment 'the key', account bigint, at timestamp, day date, amount decimal(12, 2), ratio double, "
    "name string comment 'what it is called', code string, flag boolean, note string"
)
_ROW = "select 1, 2, timestamp'2026-01-01', date'2026-01-01', 3.25, 0.5, 'name', 'code', true, 'note'"
_MODEL = "select 1 as id"
_DBT_ALONE = ("--empty-catalog", "--no-populate-cache")
_AIM = 5
_LISTS = {_OURS: SparkIcebergAdapter, _THEIRS: SparkAdapter}


@dataclass
class Figures:
    """The durations with one adapter in s, round by round, and the last command of each kind."""

    listing: list[float] = field(default_factory=list)
    run: list[float] = field(default_factory=list)
    cache: list[float] = field(default_factory=list)
    catalog: list[float] = field(default_factory=list)
    docs: list[float] = field(default_factory=list)
    dbt_alone: list[float] = field(default_factory=list)
    last_run: Invocation | None = None
    last_docs: Invocation | None = None

    @property
    def from_spark(self) -> list[float]:
        """The time in s that `dbt docs generate` spends on the cache and the catalog, round by round."""
        return [cache + catalog for cache, catalog in zip(self.cache, self.catalog, strict=True)]


def make_tables(lake: Lake, models: int, others: int) -> None:
    """Create the tables of the models, and other tables, each with one row.

    Spark creates the first table. The others are copies of its metadata file with their own UUIDs and locations.
    """
    first = f"{CATALOG}.{_SCHEMA}.m_0"
    lake.sql(f"create schema {CATALOG}.{_SCHEMA}")
    lake.sql(f"create table {first} ({_COLUMNS}) using iceberg comment 'a table'")
    lake.sql(f"insert into {first} {_ROW}")
    names = [*(f"m_{number}" for number in range(1, models)), *(f"other_{number}" for number in range(others))]
    with closing(sqlite3.connect(lake.folder / "lakehouse" / CATALOG_FILE)) as catalog, catalog:
        row = catalog.execute("select * from iceberg_tables where table_name = 'm_0'")
        keys = [each[0] for each in row.description]
        copied = dict(zip(keys, row.fetchone(), strict=True))
        source = Path(copied["metadata_location"].removeprefix("file:"))
        document = json.loads(source.read_bytes())
        for name in names:
            location = source.parents[2] / name
            file = location / "metadata" / source.name
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps({**document, "table-uuid": str(uuid4()), "location": str(location)}))
            values = {**copied, "table_name": name, "metadata_location": str(file)}
            catalog.execute(
                f"insert into iceberg_tables ({', '.join(keys)}) values ({', '.join('?' * len(keys))})",
                [values[key] for key in keys],
            )


def make_projects(lake: Lake, models: int) -> dict[str, Project]:
    """Create two projects with the same models in the same schema. One additional model, a view, is run."""
    projects = {
        _OURS: lake.project("ours", schema=_SCHEMA),
        _THEIRS: lake.dbt_spark_project("theirs", schema=_SCHEMA),
    }
    for name, project in projects.items():
        for number in range(models):
            config = {"file_format": "iceberg"} if name == _THEIRS else {}
            project.model(f"m_{number}", _MODEL, materialized="table", **config)
        project.model("one", _MODEL, materialized="view")
    return projects


def run_one(project: Project, adapter: str, figures: Figures) -> None:
    """Run one view. dbt lists the schema before."""
    with timing(_LISTS[adapter], "list_relations_without_caching") as listing:
        figures.last_run = project.run("--select", "one")
    figures.listing.append(sum(listing))
    figures.run.append(figures.last_run.seconds)


def generate_docs(project: Project, figures: Figures, expected: int) -> None:
    """Run `dbt docs generate` with and without Spark. Raises ValueError if the catalog lacks models or columns."""
    with timing(BaseAdapter, "set_relations_cache") as cache, timing(BaseAdapter, "get_filtered_catalog") as catalog:
        figures.last_docs = project.run(command="docs generate")
    figures.cache.append(sum(cache))
    figures.catalog.append(sum(catalog))
    figures.docs.append(figures.last_docs.seconds)
    found = json.loads((project.folder / "target" / "catalog.json").read_text(encoding="utf-8"))["nodes"]
    if len(found) < expected or any(len(node["columns"]) < 1 for node in found.values()):
        raise ValueError(f"expected {expected} models in the catalog of {project.name}, found {len(found)}")
    figures.dbt_alone.append(project.run(*_DBT_ALONE, command="docs generate").seconds)


def measure(lake: Lake, models: int, tables: int, rounds: int, result: Result) -> None:
    """Create the tables, and run both projects in turn. The first round is a warm-up."""
    make_tables(lake, models, tables - models)
    projects = make_projects(lake, models)
    found = {name: Figures() for name in projects}
    for number in range(rounds + 1):
        for name in list(projects)[:: 1 if number % 2 else -1]:
            figures = Figures() if number == 0 else found[name]
            run_one(projects[name], name, figures)
            generate_docs(projects[name], figures, models)
            parts = {part: values[-1] for part, values in vars(figures).items() if isinstance(values, list)}
            print(f"{name}: " + ", ".join(f"{part} {seconds:.2f} s" for part, seconds in parts.items()), flush=True)
    for name, figures in found.items():
        for kind, last in (("run", figures.last_run), ("docs generate", figures.last_docs)):
            for statement in last.statements if last else ():
                shown = " ".join(statement.sql.split())[:120]
                print(f"{name}, {kind}: {statement.node or 'dbt'}: {shown} ({statement.seconds:.2f} s)", flush=True)
    result.tables += [_of_listing(found, tables), _of_docs(found, models, tables)]
    result.measured |= {
        f"{name}.{part}": values
        for name, figures in found.items()
        for part, values in vars(figures).items()
        if isinstance(values, list)
    }


def _of_listing(found: dict[str, Figures], tables: int) -> Table:
    ours, theirs = found[_OURS], found[_THEIRS]
    table = Table(
        f"Listing a schema of {tables:,} Iceberg tables",
        ["", *found],
        note=f"Aim for the listing: ≥ {_AIM} times faster.",
    )
    table.add("listing", *(results.seconds(each.listing) for each in found.values()))
    table.add("whole `dbt run` of one view", *(results.seconds(each.run) for each in found.values()))
    table.add(f"listing, relative to {_OURS}", "1.0", _times(theirs.listing, ours.listing, _AIM))
    table.add(f"`dbt run`, relative to {_OURS}", "1.0", _times(theirs.run, ours.run))
    return table


def _of_docs(found: dict[str, Figures], models: int, tables: int) -> Table:
    ours, theirs = found[_OURS], found[_THEIRS]
    table = Table(
        f"`dbt docs generate` of {models} models, in a schema of {tables:,} tables",
        ["", *found],
        note="`dbt alone` compiles the same models and reads no table. Aim for the listing and the catalog: "
        f"≥ {_AIM} times faster.",
    )
    table.add("listing, for dbt's cache", *(results.seconds(each.cache) for each in found.values()))
    table.add("catalog", *(results.seconds(each.catalog) for each in found.values()))
    table.add("whole `dbt docs generate`", *(results.seconds(each.docs) for each in found.values()))
    table.add("dbt alone", *(results.seconds(each.dbt_alone) for each in found.values()))
    table.add(f"listing and catalog, relative to {_OURS}", "1.0", _times(theirs.from_spark, ours.from_spark, _AIM))
    table.add(f"`dbt docs generate`, relative to {_OURS}", "1.0", _times(theirs.docs, ours.docs))
    return table


def _times(theirs: Sequence[float], ours: Sequence[float], aim: float = 0) -> str:
    return results.times(results.paired_ratio(theirs, ours), aim)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(argv)
    result = results.begin(NAME)
    with open_lake() as lake:
        measure(lake, options.models, options.tables, options.rounds, result)
    result.save()


if __name__ == "__main__":
    main()

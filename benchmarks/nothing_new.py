"""Measures runs without new commits: models of this package, and incremental models with a max() watermark.

Both are dbt projects with the same models and sources. They run in turn in one process and one Spark. The models with a
watermark run on dbt-spark, not on this adapter.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import results
from .lake import CATALOG, RAW, Invocation, Lake, Project, open_lake
from .results import Result, Table

NAME = "nothing_new"
_AIM = 10
_SOURCES = 10
_COMMITS = 5
_OURS, _DBT_SPARK = "ip_changes", "watermark"
_NOTHING = "NOTHING NEW"


@dataclass
class Runs:
    """The runs of a project with nothing new. ``executions``: the number of Spark's executions in each run."""

    invocations: list[Invocation] = field(default_factory=list)
    executions: list[int] = field(default_factory=list)

    @property
    def models(self) -> list[float]:
        """The sum of all models' durations in s, run by run."""
        return [sum(each.models.values()) for each in self.invocations]

    @property
    def wholes(self) -> list[float]:
        """The durations of `dbt run` in s, run by run."""
        return [each.seconds for each in self.invocations]


def make_sources(lake: Lake) -> list[str]:
    """Create small tables with a few commits. Returns their names."""
    names = [f"events_{number}" for number in range(_SOURCES)]
    for name in names:
        table = f"{CATALOG}.{RAW}.{name}"
        lake.sql(f"create table {table} (id bigint, amount double) using iceberg")
        for commit in range(_COMMITS):
            lake.sql(f"insert into {table} select {commit} * 1000 + id, rand() from range(1000)")
    return names


def make_projects(lake: Lake, sources: Sequence[str], models: int) -> dict[str, Project]:
    """Create two projects with the same models."""
    projects = {_OURS: lake.project(_OURS), _DBT_SPARK: lake.dbt_spark_project(_DBT_SPARK)}
    for name, project in projects.items():
        # dbt-spark does not support catalogs. Its names have two parts, and refer to Spark's default catalog.
        project.sources(*sources, **({} if name == _DBT_SPARK else {"database": CATALOG}))
        for number in range(models):
            source = f"source('{RAW}', '{sources[number % len(sources)]}')"
            if name == _OURS:
                project.model(
                    f"m_{number}",
                    f"select id, amount from {{{{ ip_changes({source}) }}}}",
                    materialized="iceberg_incremental_snapshot",
                )
            else:
                watermark = "where id > (select max(id) from {{ this }})"
                project.model(
                    f"m_{number}",
                    f"select id, amount from {{{{ {source} }}}} {{% if is_incremental() %}} {watermark} {{% endif %}}",
                    materialized="incremental",
                    incremental_strategy="append",
                    file_format="iceberg",
                )
    return projects


def last_execution(lake: Lake) -> int:
    """The number of the last statement or query that Spark executed, in any session."""
    lake.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = lake.spark._jsparkSession.sharedState().statusStore().executionsList()
    return max((found.apply(index).executionId() for index in range(found.size())), default=-1)


def run(lake: Lake, project: Project, runs: Runs, *arguments: str) -> None:
    """Run a project once, and count the statements that Spark executed."""
    before = last_execution(lake)
    runs.invocations.append(project.run(*arguments))
    runs.executions.append(last_execution(lake) - before)


def measure(lake: Lake, models: int, rounds: int, result: Result) -> None:
    """Build the projects, and run them in turn with nothing new."""
    projects = make_projects(lake, make_sources(lake), models)
    for name, project in projects.items():
        print(f"first build of {name}: {project.run().seconds:.0f} s", flush=True)
    projects[_OURS].run()
    found = {name: Runs() for name in projects}
    for number in range(rounds):
        for name in list(projects)[:: 1 if number % 2 else -1]:
            run(lake, projects[name], found[name])
    ours = found[_OURS]
    messages = {message for each in ours.invocations for message in each.messages.values()}
    if any(_NOTHING not in message for message in messages):
        raise ValueError(f"expected nothing new, found {messages}")

    one = Runs()
    run(lake, projects[_OURS], one, "--select", "m_0")
    for_models = {name: len(runs.invocations[-1].for_models) for name, runs in found.items()}
    table = Table(
        f"`dbt run` of {models} models without new commits, {rounds} rounds, one thread",
        ["", "ip_changes", "dbt-spark's incremental"],
        note=f"The models read {_SOURCES} sources. The `incremental` models append with `where id > (select max(id) "
        f"from this)`. Aims: the models run ≥ {_AIM} times faster, and send no statements.",
    )
    columns = [found[name] for name in projects]
    table.add("all models", *(results.seconds(runs.models) for runs in columns))
    table.add("whole `dbt run`", *(results.seconds(runs.wholes) for runs in columns))
    table.add(
        "all models, relative to ip_changes",
        "1.0",
        results.times(results.paired_ratio(columns[1].models, ours.models), _AIM),
    )
    table.add(
        "whole `dbt run`, relative to ip_changes",
        *(f"{results.paired_ratio(runs.wholes, ours.wholes):.1f}" for runs in columns),
    )
    table.add(
        "statements that dbt sent for the models",
        *(str(for_models[name]) for name in projects),
    )
    table.add("statements that dbt sent in total", *(str(len(runs.invocations[-1].statements)) for runs in columns))
    table.add("executions, as counted by Spark", *(str(runs.executions[-1]) for runs in columns))
    table.add("executions in a run of one model, as counted by Spark", str(one.executions[-1]), "")
    result.tables.append(table)
    result.measured |= {f"{name}.models": runs.models for name, runs in found.items()}
    result.measured |= {f"{name}.run": runs.wholes for name, runs in found.items()}
    result.measured["ip_changes.executions"] = [float(count) for count in ours.executions]
    result.measured["ip_changes.executions of one model's run"] = [float(count) for count in one.executions]
    for statement in ours.invocations[-1].for_models:
        print(f"sent for {statement.node}: {' '.join(statement.sql.split())[:150]}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args(argv)
    result = results.begin(NAME)
    with open_lake() as lake:
        measure(lake, options.models, options.rounds, result)
    result.save()


if __name__ == "__main__":
    main()

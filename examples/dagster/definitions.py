"""Dagster: build what is due, as soon as the sources of the dbt project have new commits.

DBT_PROJECT is the folder of the project, whose manifest `dbt parse` has written.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DbtCliResource, build_dbt_asset_selection, dbt_assets

DBT_PROJECT = Path(os.environ["DBT_PROJECT"])
NOTHING_DUE = 99
RUNNING = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]


@dbt_assets(manifest=DBT_PROJECT / "target" / "manifest.json")
def shop(context: dg.AssetExecutionContext, dbt: DbtCliResource) -> Iterator[Any]:
    """The models of the project."""
    yield from dbt.cli(["build"], context=context).stream()


build_due = dg.define_asset_job("build_due", selection=dg.AssetSelection.assets(shop))


@dg.sensor(job=build_due, minimum_interval_seconds=10)
def due(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Ask for a run of just what is due; one run at a time."""
    running = dg.RunsFilter(job_name=build_due.name, statuses=RUNNING)
    if context.instance.get_runs_count(running):
        return dg.SkipReason("a run is still going on")
    found = subprocess.run(
        ["dbt-spark-iceberg", "pending", "--output", "json"],
        cwd=DBT_PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode == NOTHING_DUE:
        return dg.SkipReason("nothing is due")
    if found.returncode:
        raise RuntimeError(found.stderr)
    selection = build_dbt_asset_selection([shop], dbt_select=json.loads(found.stdout)["select"])
    return dg.RunRequest(asset_selection=sorted(selection.resolve([shop])))


defs = dg.Definitions(
    assets=[shop],
    jobs=[build_due],
    sensors=[due],
    resources={"dbt": DbtCliResource(project_dir=DBT_PROJECT)},
)

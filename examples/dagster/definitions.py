"""Dagster: build the due models as soon as the sources of the dbt project have new commits.

DBT_PROJECT is the folder of the project. `dbt parse` must have written its manifest.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DbtCliResource, build_dbt_asset_selection, dbt_assets

DBT_PROJECT = Path(os.environ["DBT_PROJECT"])
NOTHING_DUE = 99
RETRY_AFTER = 120
"""Seconds between a failed run and the next one."""


@dbt_assets(manifest=DBT_PROJECT / "target" / "manifest.json")
def shop(context: dg.AssetExecutionContext, dbt: DbtCliResource) -> Iterator[Any]:
    """The models of the project."""
    yield from dbt.cli(["build"], context=context).stream()


build_due = dg.define_asset_job("build_due", selection=dg.AssetSelection.assets(shop))


@dg.sensor(job=build_due, minimum_interval_seconds=10)
def due(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Request a run of the due assets: one run at a time, with a pause after a failure."""
    for last in context.instance.get_run_records(dg.RunsFilter(job_name=build_due.name), limit=1):
        if not last.dagster_run.is_finished:
            return dg.SkipReason("a run is in progress")
        if last.dagster_run.is_failure and time.time() - (last.end_time or 0) < RETRY_AFTER:
            return dg.SkipReason("waiting to retry after a failed run")
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

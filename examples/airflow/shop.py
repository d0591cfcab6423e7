"""Airflow 3: build the due models as soon as the sources of the dbt project have new commits.

The sensor frees its worker between two checks. dbt and the package can have a separate environment. DBT_BIN is the
folder with the commands of this environment, and DBT_PROJECT is the folder of the project.
"""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import dag, task

DBT_BIN = os.environ["DBT_BIN"]
DBT_PROJECT = os.environ["DBT_PROJECT"]
NOTHING_DUE = 99


@dag(
    schedule="@continuous",
    max_active_runs=1,
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    # a delay between attempts; without it, failed runs would repeat every few seconds
    default_args={"retries": 5, "retry_delay": timedelta(minutes=2)},
)
def shop() -> None:
    """Wait until nodes are due, and build these nodes."""

    @task.sensor(poke_interval=10, mode="reschedule", timeout=timedelta(days=1), soft_fail=True)
    def due() -> bool:
        found = subprocess.run(
            [f"{DBT_BIN}/dbt-spark-iceberg", "pending"], cwd=DBT_PROJECT, capture_output=True, text=True, check=False
        )
        if found.returncode not in (0, NOTHING_DUE):
            raise RuntimeError(found.stderr)
        return found.returncode == 0

    # check in each attempt, so that a retry builds what is due at that time; exit code 99 skips the task
    build = BashOperator(
        task_id="build",
        bash_command=f"due=$({DBT_BIN}/dbt-spark-iceberg pending) && {DBT_BIN}/dbt build --select $due",
        cwd=DBT_PROJECT,
    )
    due() >> build


shop()

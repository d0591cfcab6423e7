"""Airflow: build what is due, as soon as the sources of the dbt project have new commits.

The sensor frees its worker between two looks. dbt and the package may have an environment of their own: DBT_BIN is its
folder of commands, DBT_PROJECT the folder of the project.
"""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import PokeReturnValue, dag, task

DBT_BIN = os.environ["DBT_BIN"]
DBT_PROJECT = os.environ["DBT_PROJECT"]
NOTHING_DUE = 99


@dag(
    schedule="@continuous",
    max_active_runs=1,
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
)
def shop() -> None:
    """Wait until something is due, and build just that."""

    @task.sensor(poke_interval=10, mode="reschedule", timeout=timedelta(days=1), soft_fail=True)
    def due() -> PokeReturnValue:
        found = subprocess.run(
            [f"{DBT_BIN}/dbt-spark-iceberg", "pending"], cwd=DBT_PROJECT, capture_output=True, text=True, check=False
        )
        if found.returncode not in (0, NOTHING_DUE):
            raise RuntimeError(found.stderr)
        return PokeReturnValue(is_done=found.returncode == 0, xcom_value=found.stdout.strip())

    build = BashOperator(
        task_id="build",
        bash_command=f"{DBT_BIN}/dbt build --select {{{{ ti.xcom_pull(task_ids='due') }}}}",
        cwd=DBT_PROJECT,
    )
    due() >> build


shop()

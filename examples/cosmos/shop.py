"""Airflow 3 with Cosmos: one task for each model, seed and snapshot of the dbt project, and one for its tests.

DBT_PROJECT is the folder of the project, with its profiles.yml. Airflow, Cosmos, dbt and the package share an
environment, so dbt runs in the process of the task.
"""

import os
from datetime import datetime, timezone
from pathlib import Path

from cosmos import (
    DbtDag,
    ExecutionConfig,
    ExecutionMode,
    InvocationMode,
    LoadMode,
    ProfileConfig,
    ProjectConfig,
    RenderConfig,
)

DBT_PROJECT = Path(os.environ["DBT_PROJECT"])

shop = DbtDag(
    dag_id="shop",
    schedule="@hourly",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    # each task starts its own Spark, unless the profile's method is connect, thrift or http
    max_active_tasks=1,
    project_config=ProjectConfig(DBT_PROJECT, install_dbt_deps=False),
    # Cosmos maps Airflow connections only to the adapters on its own list; a profiles.yml works for every adapter
    profile_config=ProfileConfig(
        profile_name="shop", target_name="dev", profiles_yml_filepath=DBT_PROJECT / "profiles.yml"
    ),
    render_config=RenderConfig(load_method=LoadMode.DBT_LS, invocation_mode=InvocationMode.DBT_RUNNER),
    execution_config=ExecutionConfig(execution_mode=ExecutionMode.LOCAL, invocation_mode=InvocationMode.DBT_RUNNER),
)

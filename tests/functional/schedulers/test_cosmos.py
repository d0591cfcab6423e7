"""examples/cosmos with Airflow and Cosmos themselves: each model is a task, which runs dbt in Airflow's process."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.functional.environments import ROOT, installed
from tests.functional.watch.test_watch import CHANGES

PLAYER = Path(__file__).with_name("play_cosmos.py")
EXAMPLE = ROOT / "examples" / "cosmos"


def play(commands, project, folder):
    """Run the DAG once; returns the state of each task, and the log."""
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLE),
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "120",
        "AIRFLOW__COSMOS__ENABLE_TELEMETRY": "False",
        "DBT_PROJECT": str(project),
        "PATH": f"{commands}:{os.environ['PATH']}",
    }
    environment.pop("DBT_LOG_PATH", None)
    subprocess.run([commands / "airflow", "db", "migrate"], env=environment, check=True, capture_output=True)
    done = subprocess.run(
        [commands / "python", PLAYER, EXAMPLE / "shop.py", folder / "states.json"],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return json.loads((folder / "states.json").read_text(encoding="utf-8")), done.stdout + done.stderr


@pytest.mark.thorough
def test_a_task_for_each_model(shop, tmp_path):
    commands = installed("cosmos", with_package=True)
    source = shop.source("events")
    shop.model("staged", CHANGES.format("events"))
    shop.model("counted", "select count(*) as n from {{ ref('staged') }}", materialized="table")
    shop.write("models/tests.yml", "models: [{name: staged, columns: [{name: id, data_tests: [not_null]}]}]")

    shop.insert(source, "(1, 'a')")
    states, log = play(commands, shop.folder, tmp_path)
    assert states == dict.fromkeys(("counted_run", "staged.run", "staged.test"), "success")
    assert "Trying to run dbtRunner" in log
    assert shop.rows(shop.built("counted")) == {(1,): 1}

    shop.insert(source, "(2, 'b')", "(null, 'c')")
    states, _ = play(commands, shop.folder, tmp_path)
    assert states == {"staged.run": "success", "staged.test": "failed", "counted_run": "upstream_failed"}
    assert shop.rows(shop.built("staged")) == {(1, "a"): 1, (2, "b"): 1, (None, "c"): 1}
    assert len(shop.snapshots(shop.built("staged"))) == 2
    assert shop.rows(shop.built("counted")) == {(1,): 1}

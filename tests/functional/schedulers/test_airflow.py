"""examples/airflow with Airflow itself: the sensor waits until nodes are due, and the next task builds them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.functional.environments import ROOT, installed
from tests.functional.watch.test_watch import CHANGES


@contextmanager
def playing(project, folder):
    """A run of the DAG, and its log file."""
    airflow, log = installed("airflow") / "airflow", folder / "airflow.log"
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "examples" / "airflow"),
        "DBT_BIN": str(Path(sys.executable).parent),
        "DBT_PROJECT": str(project),
    }
    subprocess.run([airflow, "db", "migrate"], env=environment, check=True, capture_output=True, timeout=120)
    with log.open("w") as output:
        run = subprocess.Popen([airflow, "dags", "test", "shop"], env=environment, stdout=output, stderr=output)
    try:
        yield run, log
    finally:
        run.kill()
        run.wait()


@pytest.mark.thorough
def test_the_sensor_and_the_build(shop, tmp_path):
    source = shop.source("events")
    shop.source("others")
    shop.model("staged", CHANGES.format("events"))
    shop.model("counted", "select count(*) as n from {{ ref('staged') }}", materialized="table")
    shop.model("other", CHANGES.format("others"))
    shop.run()
    before = shop.properties(shop.built("other"))

    with playing(shop.folder, tmp_path) as (run, log):
        until(lambda: "marking task as UP_FOR_RESCHEDULE" in log.read_text(), run, log)  # nothing is due yet
        shop.insert(source, "(1, 'a')", "(2, 'b')")
        assert run.wait(280) == 0, log.read_text()[-5000:]

    assert shop.rows(shop.built("counted")) == {(2,): 1}
    assert shop.properties(shop.built("other")) == before  # only the due nodes were built
    assert "1 of 2 START sql iceberg_incremental_snapshot model" in log.read_text()


@pytest.mark.thorough
def test_a_failed_check_is_retried_after_a_pause(tmp_path):
    """Otherwise, failed runs would follow each other without a pause."""
    (tmp_path / "dbt_project.yml").write_text("{name: shop, profile: nowhere}")
    (tmp_path / "profiles.yml").write_text("other: {}")
    with playing(tmp_path, tmp_path) as (run, log):
        until(lambda: "[up_for_retry]" in log.read_text(), run, log)
    assert "Could not find profile named 'nowhere'" in log.read_text()


def until(holds, process, log):
    end = time.monotonic() + 120
    while not holds():
        assert process.poll() is None, log.read_text()[-5000:]
        assert time.monotonic() < end, log.read_text()[-5000:]
        time.sleep(0.5)

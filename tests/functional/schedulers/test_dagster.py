"""examples/dagster with Dagster and dagster-dbt themselves: the sensor requests due assets, and the run builds them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.functional.environments import ROOT, installed
from tests.functional.watch.test_watch import CHANGES, is_built

PLAYER = Path(__file__).with_name("play_dagster.py")


def play(folder, commands):
    """Evaluate the sensor, execute the run that it requests, and evaluate the sensor again."""
    done = subprocess.run(
        [commands / "python", PLAYER, ROOT / "examples" / "dagster" / "definitions.py"],
        env={**os.environ, "DBT_PROJECT": str(folder), "PATH": f"{commands}:{os.environ['PATH']}"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.thorough
def test_the_sensor_and_its_run(shop):
    commands = installed("dagster", with_package=True)
    source = shop.source("events")
    shop.source("others")
    shop.model("staged", CHANGES.format("events"))
    shop.model("latest", "select id, v from {{ ip_changes(ref('staged')) }}")
    shop.model("counted", "select count(*) as n from {{ ref('latest') }}", materialized="table")
    shop.model("other", CHANGES.format("others"))
    shop.run()
    assert shop.dbt("parse").success

    assert play(shop.folder, commands) == {"skipped": "nothing is due"}
    shop.insert(source, "(1, 'a')")
    selected = ["counted", "latest", "staged"]
    assert play(shop.folder, commands) == {"selected": selected, "success": True, "then": "nothing is due"}
    assert shop.rows(shop.built("counted")) == {(1,): 1}
    assert is_built(shop, "other")

    shop.model("counted", "select assert_true(false) as n from {{ ref('latest') }}", materialized="table")
    shop.insert(source, "(2, 'b')")
    assert play(shop.folder, commands) == {
        "selected": selected,
        "success": False,
        "then": "waiting to retry after a failed run",
    }

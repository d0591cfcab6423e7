"""Processes of PySpark jobs are killed with SIGKILL at random times, or run at once. Each row is written once.

``CHAOS_KILLS`` and ``CHAOS_ROUNDS`` set the number of kills and rounds in the tests that are marked thorough.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.in_process.session import wanted_confs

from .test_jobs import appended, lake  # noqa: F401 (fixture)

SCRIPT = Path(__file__).with_name("job_in_a_loop.py")
KILLS = int(os.environ.get("CHAOS_KILLS", "5"))
ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "2"))


class Loops:
    """Processes that repeat a job."""

    def __init__(self, lake, embedded_target, folder):  # noqa: F811
        credentials = SparkIcebergCredentials.from_dict({**embedded_target, "schema": "default"})
        settings = {**wanted_confs(credentials), "spark.master": "local[1]"}
        self.stop = folder / "stop"
        self._command = [
            sys.executable, str(SCRIPT), json.dumps(settings), lake.source, lake.target, str(self.stop)
        ]  # fmt: skip

    def start(self):
        process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
        return process


@pytest.fixture
def loops(lake, embedded_target, tmp_path):  # noqa: F811
    return Loops(lake, embedded_target, tmp_path)


def killed(process, *, with_jvm):
    """Kill a process. A JVM that is not killed finishes its current statement."""
    if with_jvm:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()


@pytest.mark.parametrize("kills", [1, pytest.param(KILLS, marks=pytest.mark.thorough)])
def test_jobs_that_are_killed_at_random_times(lake, loops, kills):  # noqa: F811
    chance = random.Random(20260101)
    lake.insert((0, "x", 1))
    appended(lake)
    written = 1
    for number in range(kills):
        process = loops.start()
        deadline = time.monotonic() + chance.uniform(1, 4)
        while time.monotonic() < deadline:
            lake.insert((written, "x", 1))
            written += 1
        killed(process, with_jvm=number % 2 == 0)
        assert not [each for each, times in lake.rows("id").items() if times > 1]
    time.sleep(2)  # for the current statement of a JVM whose process was killed
    lake.insert((written, "x", 1))
    for _ in range(2):
        appended(lake)
    assert lake.rows("id") == Counter((number,) for number in range(written + 1))
    assert lake.branches() == {"main"}


@pytest.mark.thorough
def test_concurrent_jobs(lake, loops):  # noqa: F811
    lake.insert((0, "x", 1))
    appended(lake)
    processes = [loops.start() for _ in range(2)]
    rows = 10 * ROUNDS
    for number in range(1, rows + 1):
        lake.insert((number, "x", 1))
    deadline = time.monotonic() + 120
    while len(lake.rows("id")) <= rows and time.monotonic() < deadline:
        time.sleep(0.5)
    loops.stop.touch()
    for process in processes:
        printed, said = process.communicate(timeout=120)
        assert process.returncode == 0 and printed.startswith("lost "), said
    assert lake.rows("id") == Counter((number,) for number in range(rows + 1))

"""What the reporter writes while the loop is busy, and how it handles errors."""

from __future__ import annotations

import io
import json
import math
import shutil
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dbt.adapters.spark_iceberg.status.live import Failure, Live, RunInProgress
from dbt.adapters.spark_iceberg.watch.due import Backoff, Failures
from dbt.adapters.spark_iceberg.watch.log import Log
from dbt.adapters.spark_iceberg.watch.metrics import Metrics
from dbt.adapters.spark_iceberg.watch.report import Reporter, Situation
from dbt.adapters.spark_iceberg.watch.version import Version
from iceberg_incremental.errors import ConfigError

from .statuses import status, up_to_date

A = "model.shop.a"


class World:
    """Simulated tables, status page and loop for a reporter."""

    def __init__(self, folder):
        self.now = 1_000.0
        self.statuses = {A: up_to_date(A)}
        self.looks = 0
        self.pages = []
        self.log = io.StringIO()
        self.file = folder / "metrics" / "m.prom"
        self.file.parent.mkdir()
        self.situation = Situation(Version(self, None, None, page=self), Failures(Backoff(5, 60)))
        self.reporter = Reporter(
            lambda: self.situation, 2.0, Log(as_json=True, stream=self.log), Metrics(self.file), lambda: self.now
        )

    def look(self):
        self.looks += 1

    def write(self, live):
        self.pages.append(live)

    def step(self, seconds=0.0):
        self.now += seconds
        self.reporter.step()

    def metric(self, name):
        found = text_string_to_metric_families(self.file.read_text())
        (value,) = [
            each.value for family in found for each in family.samples if each.name == f"dbt_spark_iceberg_{name}"
        ]
        return value

    def run(self, run):
        self.situation = Situation(self.situation.version, self.situation.failures, run, run is not None)

    def events(self):
        return [json.loads(line)["info"]["name"] for line in self.log.getvalue().splitlines()]


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_metrics_and_page_are_updated_during_a_run(world):
    world.step()
    assert (world.looks, len(world.pages)) == (0, 1)  # between runs, the loop itself checks the tables
    assert math.isnan(world.metric("run_started_timestamp_seconds"))

    world.run(RunInProgress(1_001.0, 4))
    world.statuses = {A: status(A, since=1_001_000)}
    world.step(2)
    assert (world.looks, world.metric("run_started_timestamp_seconds")) == (1, 1_001)
    assert (world.metric("lag_seconds"), world.metric("oldest_pending_timestamp_seconds")) == (1, 1_001)
    assert world.pages[-1] == Live(RunInProgress(1_001.0, 4))
    world.statuses = {A: status(A, since=1_001_000)}
    world.step(2)
    assert (world.looks, world.metric("lag_seconds"), len(world.pages)) == (2, 3, 2)  # no page for each model of a run
    world.step(10)
    assert (world.metric("lag_seconds"), len(world.pages)) == (13, 3)

    world.run(None)
    world.step(2)
    assert math.isnan(world.metric("run_started_timestamp_seconds"))
    assert (world.looks, world.pages[-1]) == (3, Live())
    world.step(50)
    assert len(world.pages) == 4
    world.step(10)
    assert len(world.pages) == 5  # the ages on the page have changed


def test_page_and_metrics_show_failing_nodes(world):
    failures = world.situation.failures.add(A, "no", 1_000).add(A, "no", 1_005)
    world.situation = Situation(world.situation.version, failures)
    world.step(6)
    assert world.pages[-1].failing == {A: Failure("no", False, 2, 1_000, 1_015, is_repeated=True)}
    assert world.metric("failing") == 1


def test_write_errors_are_raised_at_the_start_and_later_logged_once(world):
    shutil.rmtree(world.file.parent)
    with pytest.raises(ConfigError, match="were not written"):
        world.reporter.start()
    for _ in range(3):
        world.step(1)
    world.write = None  # any error
    for _ in range(3):
        world.step(60)
    assert world.events() == ["MetricsNotWritten", "ChoreFailed"]
    world.file.parent.mkdir()
    world.step(1)
    shutil.rmtree(world.file.parent)
    world.step(1)
    assert world.events() == ["MetricsNotWritten", "ChoreFailed", "MetricsNotWritten"]


def test_the_thread_writes_when_it_is_woken(world):
    world.reporter.start()
    written = threading.Event()
    world.write = lambda live: written.set()
    world.run(RunInProgress(1_001.0, 4))
    world.reporter.wake()
    assert written.wait(10)
    world.reporter.stop()
    assert not [each for each in threading.enumerate() if each.name == "report"]

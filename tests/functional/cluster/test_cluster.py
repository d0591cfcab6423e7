"""One project on a standalone cluster with a master and two workers as processes. Only the profile changes.

Each connection method continues where the previous one stopped, is interrupted, and loses a worker during a run.
"""

from __future__ import annotations

import signal
import time

import pytest

from tests.functional.metadata import servers

from .places import ProcessShop

pytestmark = pytest.mark.thorough

ROWS = 40
# Deterministic. The variable sets how slow it is.
SLOW = "aggregate(sequence(1, {{ var('work', 1) }}), 0, (a, x) -> pmod(a + x, 7)) >= 0"
MODELS = {
    "appended": ({}, "select * from {{ ip_changes(source('raw', 'events')) }}"),
    "merged": (
        {"incremental_strategy": "merge", "unique_key": "id"},
        "select * from {{ ip_changes(ref('appended')) }}",
    ),
    "applied": (
        {"incremental_strategy": "apply_changes", "unique_key": "id"},
        f"select * from {{{{ ip_changelog(source('raw', 'accounts'), unique_key='id') }}}} where {SLOW}",
    ),
}


class Travelling(ProcessShop):
    """The project of all connection methods. A Spark outside the cluster writes its sources and reads all tables."""

    landed = 0

    def land(self) -> None:
        """Add events; add, change and delete accounts."""
        number, self.landed = self.landed, self.landed + 1
        rows = [f"({number * ROWS + n}, 'run {number}')" for n in range(ROWS)]
        self.insert(self.raw("events"), *rows)
        self.insert(self.raw("accounts"), *rows)
        self.sql(f"update {self.raw('accounts')} set v = 'changed in {number}' where id % 3 = {number % 3}")
        self.sql(f"delete from {self.raw('accounts')} where id % 7 = {number % 7}")

    def assert_right(self) -> None:
        for model, source in (("appended", "events"), ("merged", "events"), ("applied", "accounts")):
            assert self.rows(self.built(model)) == self.rows(self.raw(source)), model
            assert self.branches(self.built(model)) == {"main"}


@pytest.fixture(scope="package")
def project(cluster, outside):
    shop = Travelling(cluster.folder / "project", {}, "travelling", outside)
    shop.source("events", "id int, v string")
    shop.source("accounts", "id int, v string", "tblproperties ('format-version' = '3')")
    for name, (config, sql) in MODELS.items():
        shop.model(name, sql, **config)
    return shop


@pytest.fixture
def at_rest(project, place):
    """The project with the current profile, after all rows so far were applied and new rows have landed."""
    project.use(place.target)
    project.land()
    project.run()
    project.assert_right()
    project.land()
    return project


def started(cluster, shop, work):
    """Start a dbt process that runs `applied`, and wait until its tasks have run for a second. ``work``: per row."""
    at_work = servers.at_work(cluster.logs)
    process = shop.start("run", "--select", "applied", "--vars", f"{{work: {work}}}")
    servers.until(at_work)
    return process


def test_the_project_survives_the_loss_of_a_worker(cluster, at_rest):
    process = started(cluster, at_rest, 400_000)
    cluster.workers[0].send_signal(signal.SIGKILL)
    printed, _ = process.communicate(timeout=300)
    print(printed)  # noqa: T201 (shows which case occurred)
    assert process.returncode == 0 or "run the model again" in printed
    assert "\tat " not in printed
    cluster.fill()
    at_rest.run()
    at_rest.assert_right()


def test_an_interrupted_run_stops_the_job_and_publishes_nothing(cluster, place, at_rest):
    before = at_rest.head(at_rest.built("applied"))
    assert not place.running()
    process = started(cluster, at_rest, 2_000_000)
    assert place.running()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < 15
    assert process.returncode != 0
    assert "Interrupted: the running Spark statements" in printed
    assert "Traceback" not in printed
    servers.until(lambda: not place.running(), seconds=10)
    assert at_rest.head(at_rest.built("applied")) == before
    at_rest.run()
    at_rest.assert_right()

"""One project, unchanged but for its profile, on a standalone cluster: a master and two workers as processes.

Each way runs it from where the one before stopped, and then loses a worker in the middle of a run.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.session import open_session
from tests.functional.incremental.shop import CATALOG, Outcome, Shop
from tests.functional.metadata import servers
from tests.functional.metadata.servers import HOST

pytestmark = pytest.mark.thorough

CLASS = str(servers.JARS.parent / "bin" / "spark-class")
WORKERS = 2
ROWS = 40
# Deterministic, and as slow as the variable says.
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


class Cluster:
    """A master, and workers of one core each."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        port, self._web = servers.free_port(), servers.free_port()
        self.url = f"spark://{HOST}:{port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._start("master", "master.Master", "--port", str(port), "--webui-port", str(self._web), ready=self._is_up)
        self.fill()

    def fill(self) -> None:
        """Start workers, until there are as many as there should be."""
        self.workers = [each for each in self.workers if each.poll() is None]
        while len(self.workers) < WORKERS:
            name = f"worker_{len(list(self.folder.glob('worker_*')))}"
            alive = self.alive()
            size = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(self.folder / name))
            ready = lambda before=alive: self.alive() > before  # noqa: E731
            self.workers.append(self._start(name, "worker.Worker", *size, self.url, ready=ready))

    def alive(self) -> int:
        """How many workers the master knows."""
        with urllib.request.urlopen(f"http://{HOST}:{self._web}/json/", timeout=10) as answer:
            return int(json.load(answer)["aliveworkers"])

    def logs(self) -> list[Path]:
        """What the executors have written."""
        return list(self.folder.glob("worker_*/app-*/*/stderr"))

    def _is_up(self) -> bool:
        return servers.accepts(self._web)

    def _start(self, name: str, main: str, *args: str, ready: Any) -> subprocess.Popen[bytes]:
        folder = self.folder / name
        folder.mkdir()
        command = [CLASS, f"org.apache.spark.deploy.{main}", "--host", HOST, *args]
        memory = {"SPARK_DAEMON_MEMORY": "256m"}
        return self._stack.enter_context(servers.running(command, folder / "log", ready=ready, environment=memory))


class ClusterShop(Shop):
    """A project whose dbt is a process, which has a Spark of its own in `method: session`."""

    def use(self, target: dict[str, Any]) -> None:
        """Change the profile, and nothing else."""
        self._target = {**target, "schema": self.schema}
        self.configure({})

    def dbt(self, *arguments: str) -> Outcome:
        script = "from dbt.cli.main import cli; cli()"
        command = [sys.executable, "-c", script, "--no-use-colors", "--no-send-anonymous-usage-stats", *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=300)
        return Outcome(done.returncode == 0, {}, None, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("cluster"), stack)


@pytest.fixture(scope="module")
def settings(cluster: Cluster, embedded_target: dict[str, Any]) -> dict[str, str]:
    """The settings of a server in front of the cluster, whose catalog is in `lake` beside the cluster's files."""
    found = servers.lake_settings(cluster.folder / "lake", CATALOG, embedded_target)
    return {**found, **on(cluster), "spark.executor.extraClassPath": found["spark.driver.extraClassPath"]}


def on(cluster: Cluster) -> dict[str, str]:
    """What makes a Spark run on the cluster."""
    return {
        "spark.master": cluster.url,
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "600m",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "2",
    }


@pytest.fixture(scope="module")
def shop(cluster: Cluster, settings: dict[str, str], embedded_target: dict[str, Any]) -> Iterator[ClusterShop]:
    """The project; its sources are written, and all is read, by a Spark apart from the cluster."""
    lake = {**embedded_target, "warehouse": str(cluster.folder / "lake"), "schema": "s"}
    outside = open_session(SparkIcebergCredentials.from_dict(lake))
    shop = ClusterShop(cluster.folder / "project", lake, "shop", outside.session)
    shop.source("events", "id int, v string")
    shop.source("accounts", "id int, v string", "tblproperties ('format-version' = '3')")
    for name, (config, sql) in MODELS.items():
        shop.model(name, sql, **config)
    yield shop
    outside.close()


def session(cluster: Cluster, settings: dict[str, str]) -> AbstractContextManager[dict[str, Any]]:
    @contextmanager
    def started() -> Iterator[dict[str, Any]]:
        yield {"method": "session", "warehouse": str(cluster.folder / "lake"), "server_side_parameters": on(cluster)}

    return started()


@contextmanager
def connect(cluster: Cluster, settings: dict[str, str]) -> Iterator[dict[str, Any]]:
    with servers.connect_server(cluster.folder / "connect", settings) as port:
        yield {"method": "connect", "host": HOST, "port": port, "catalog": CATALOG}


@contextmanager
def thrift(cluster: Cluster, settings: dict[str, str]) -> Iterator[dict[str, Any]]:
    with servers.thrift_server(cluster.folder / "thrift", settings) as port:
        login = {"user": "me", "auth": "NOSASL"}
        yield {"method": "thrift", "host": HOST, "port": port, "catalog": CATALOG, **login}


def land(shop: ClusterShop, number: int) -> None:
    """New events; accounts that come, change and go."""
    shop.insert(shop.raw("events"), *(f"({number * ROWS + n}, 'run {number}')" for n in range(ROWS)))
    shop.insert(shop.raw("accounts"), *(f"({number * ROWS + n}, 'run {number}')" for n in range(ROWS)))
    shop.sql(f"update {shop.raw('accounts')} set v = 'changed in {number}' where id % 3 = {number % 3}")
    shop.sql(f"delete from {shop.raw('accounts')} where id % 7 = {number % 7}")


def assert_right(shop: ClusterShop) -> None:
    for model, source in (("appended", "events"), ("merged", "events"), ("applied", "accounts")):
        assert shop.rows(shop.built(model)) == shop.rows(shop.raw(source)), model
        assert shop.branches(shop.built(model)) == {"main"}


@pytest.mark.parametrize("way", [session, connect, thrift])
def test_the_project_runs_there_and_outlives_a_worker(cluster, settings, shop, way):
    number = 2 * [session, connect, thrift].index(way)
    with way(cluster, settings) as profile:
        shop.use({"type": "spark_iceberg", "threads": 2, **profile})
        land(shop, number)
        shop.run()
        assert_right(shop)

        land(shop, number + 1)
        found: list[Outcome] = []
        at_work = servers.at_work(cluster.logs)
        slow = ("run", "--select", "applied", "--vars", "{work: 400000}")
        run = threading.Thread(target=lambda: found.append(shop.dbt(*slow)))
        run.start()
        servers.until(at_work)
        cluster.workers[0].send_signal(signal.SIGKILL)
        run.join(timeout=300)
        print(found[0].printed)  # noqa: T201 (which of the two it was)
        assert found[0].success or "run the model again" in found[0].printed
        assert "\tat " not in found[0].printed
        shop.run()
        assert_right(shop)
    cluster.fill()

"""A standalone cluster on loopback, and the connection methods through which dbt runs on it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.functional.incremental.shop import CATALOG, Outcome, Shop
from tests.functional.metadata import servers
from tests.functional.metadata.servers import HOST

CLASS = str(servers.JARS.parent / "bin" / "spark-class")
WORKERS = 2


class Cluster:
    """A master, and workers with one core each."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        port, self._web = servers.free_port(), servers.free_port()
        self.url = f"spark://{HOST}:{port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._start("master", "master.Master", "--port", str(port), "--webui-port", str(self._web), ready=self._is_up)
        self.fill()

    def fill(self) -> None:
        """Start workers until all of them run."""
        self.workers = [each for each in self.workers if each.poll() is None]
        while len(self.workers) < WORKERS:
            name = f"worker_{len(list(self.folder.glob('worker_*')))}"
            alive = self.state()["aliveworkers"]
            size = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(self.folder / name))
            ready = lambda before=alive: self.state()["aliveworkers"] > before  # noqa: E731
            self.workers.append(self._start(name, "worker.Worker", *size, self.url, ready=ready))

    def state(self) -> dict[str, Any]:
        """The state that the master reports."""
        state: dict[str, Any] = servers.get_json(self._web, "json/")
        return state

    def applications(self) -> list[str]:
        """The names of the applications that the master runs."""
        return [each["name"] for each in self.state()["activeapps"]]

    def logs(self) -> list[Path]:
        """The logs of the executors."""
        return list(self.folder.glob("worker_*/app-*/*/stderr"))

    def settings(self) -> dict[str, str]:
        """The settings with which Spark runs on the cluster."""
        return {
            "spark.master": self.url,
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.driver.memory": "1g",
            "spark.executor.memory": "600m",
            "spark.executor.cores": "1",
            "spark.sql.shuffle.partitions": "2",
        }

    def _is_up(self) -> bool:
        return servers.accepts(self._web)

    def _start(self, name: str, main: str, *args: str, ready: Any) -> subprocess.Popen[bytes]:
        folder = self.folder / name
        folder.mkdir()
        command = [CLASS, f"org.apache.spark.deploy.{main}", "--host", HOST, *args]
        memory = {"SPARK_DAEMON_MEMORY": "256m"}
        return self._stack.enter_context(servers.running(command, folder / "log", ready=ready, environment=memory))


class ProcessShop(Shop):
    """A project whose dbt is a separate process. In `method: session`, this process has its own Spark."""

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        script = "from dbt.cli.main import cli; cli()"
        command = [sys.executable, "-c", script, "--no-use-colors", "--no-send-anonymous-usage-stats", *arguments]
        return subprocess.Popen(
            command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
        )

    def dbt(self, *arguments: str) -> Outcome:
        results = self.folder / "target" / "run_results.json"
        results.unlink(missing_ok=True)
        process = self.start(*arguments)
        printed, _ = process.communicate(timeout=300)
        found = json.loads(results.read_text(encoding="utf-8"))["results"] if results.exists() else []
        nodes = {each["unique_id"].split(".")[2]: SimpleNamespace(**each) for each in found}
        return Outcome(process.returncode == 0, nodes, None, printed)

    def use(self, target: dict[str, Any]) -> None:
        """Replace the profile only."""
        self._target = {**target, "schema": self.schema}
        self.configure({})


@dataclass(frozen=True)
class Place:
    """A connection method: its name, its profile without a schema, and its running jobs."""

    name: str
    target: dict[str, Any]
    running: Callable[[], list[Any]]

    @property
    def shop(self) -> type[Shop]:
        """The class of a project. Spark in this process is not on the cluster, so `method: session` uses another."""
        return ProcessShop if self.name == "session" else Shop


@contextmanager
def session(cluster: Cluster, settings: dict[str, str]) -> Iterator[Place]:
    target = {"method": "session", "warehouse": str(cluster.folder / "lake"), "server_side_parameters": {
        **cluster.settings(), "spark.ui.enabled": "false"
    }}  # fmt: skip
    yield place("session", target, cluster.applications)


@contextmanager
def connect(cluster: Cluster, settings: dict[str, str]) -> Iterator[Place]:
    web = servers.free_port()
    with servers.connect_server(cluster.folder / "connect", settings | servers.web(web)) as port:
        target = {"method": "connect", "host": HOST, "port": port}
        yield place("connect", target, lambda: servers.running_jobs(web))


@contextmanager
def thrift(cluster: Cluster, settings: dict[str, str]) -> Iterator[Place]:
    web = servers.free_port()
    with servers.thrift_server(cluster.folder / "thrift", settings | servers.web(web)) as port:
        target = {"method": "thrift", "host": HOST, "port": port, "user": "me", "auth": "NOSASL"}
        yield place("thrift", target, lambda: servers.running_jobs(web))


def place(name: str, target: dict[str, Any], running: Callable[[], list[Any]]) -> Place:
    return Place(name, {"type": "spark_iceberg", "catalog": CATALOG, "threads": 2, **target}, running)


WAYS = {"session": session, "connect": connect, "thrift": thrift}

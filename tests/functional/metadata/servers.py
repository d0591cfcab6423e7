"""The real servers behind the catalogs, which the tests start and stop."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyspark

from dbt.adapters.spark_iceberg.profile import lakehouse
from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.in_process.session import open_session

JARS = Path(pyspark.__file__).parent / "jars"
JAVA = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
HOST = "127.0.0.1"
# As in the Spark of this process, the optimizing compiler would take more time than its code saves.
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}


def free_port() -> int:
    """A free port that the system gives to nobody unasked: a Spark of another worker could take one of those first."""
    while True:
        port = 10_000 + secrets.randbelow(22_000)
        with socket.socket() as probe:
            # as a server binds it, beside connections that have ended
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


@contextmanager
def running(
    command: Sequence[str],
    log: Path,
    *,
    ready: Callable[[], bool],
    seconds: float = 120,
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a process within a block, which begins when ``ready`` returns true. The output goes to ``log``."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            env={**os.environ, **ENVIRONMENT, **(environment or {})},
        )
        try:
            wait_until(ready, process, log, seconds)
            yield process
        finally:
            process.terminate()
            process.wait(timeout=60)


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"process {process.pid} did not come up:\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.1)


@contextmanager
def postgresql(folder: Path, password: str) -> Iterator[int]:
    """A new PostgreSQL cluster with user and database ``postgres``; yields its port."""
    programs = postgresql_programs()
    assert programs is not None
    # PostgreSQL refuses to run as root
    user = "nobody" if os.geteuid() == 0 else None
    data, secret = folder / "data", folder / "password"
    folder.mkdir()
    secret.write_text(password)
    if user is not None:
        for path in (folder, secret):
            shutil.chown(path, user)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    run(
        f"{programs}/initdb",
        "--pgdata",
        str(data),
        "--username=postgres",
        "--auth=scram-sha-256",
        f"--pwfile={secret}",
        "--no-sync",
    )
    port = free_port()
    options = f"-c listen_addresses={HOST} -c port={port} -c fsync=off -c unix_socket_directories="
    control = (f"{programs}/pg_ctl", "--pgdata", str(data), "--wait", "--log", str(folder / "log"))
    run(*control, "--options", options, "start")
    try:
        yield port
    finally:
        run(*control, "--mode=immediate", "stop")


def postgresql_programs() -> Path | None:
    """The folder of initdb and pg_ctl, which is not on Debian's path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


@contextmanager
def rest_catalog(folder: Path) -> Iterator[int]:
    """Iceberg's reference REST catalog; yields its port."""
    jars = folder / "jars"
    folder.mkdir()
    ivy = [str(path) for path in JARS.glob("ivy-*.jar")]
    module = Path(__file__).parent / "rest_server" / "ivy.xml"
    subprocess.run(
        [
            JAVA,
            "-cp",
            *ivy,
            "org.apache.ivy.Main",
            "-warn",
            "-ivy",
            str(module),
            "-retrieve",
            f"{jars}/[artifact]-[revision](-[classifier]).[ext]",
        ],
        check=True,
        cwd=folder,
    )
    hadoop = [str(path) for path in JARS.glob("hadoop-client-*.jar")]
    port = free_port()
    with running(
        [JAVA, "-cp", ":".join([f"{jars}/*", *hadoop]), "org.apache.iceberg.rest.RESTCatalogServer"],
        folder / "log",
        ready=lambda: accepts(port),
        environment={
            "CATALOG_REST_PORT": str(port),
            "CATALOG_WAREHOUSE": str(folder / "warehouse"),
            "CATALOG_URI": f"jdbc:sqlite:file:{folder}/catalog.db",
        },
    ):
        yield port


@contextmanager
def hive_metastore(folder: Path) -> Iterator[int]:
    """A Hive metastore from the jars of PySpark, on its own Derby database; yields its port."""
    folder.mkdir()
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/db;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"{folder}/warehouse",
        "hive.async.log.enabled": "false",
    }
    entries = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>" for key, value in settings.items()
    )
    (folder / "hive-site.xml").write_text(f"<configuration>{entries}</configuration>")
    port = free_port()
    with running(
        [JAVA, "-cp", f"{folder}:{JARS}/*", "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)],
        folder / "log",
        ready=lambda: accepts(port),
    ):
        yield port


def lake_settings(folder: Path, catalog: str, embedded_target: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a Spark server with its jars and an Iceberg catalog on SQLite in a folder."""
    folder.mkdir()
    session = open_session(SparkIcebergCredentials.from_dict({**embedded_target, "schema": "s"}))
    embedded = session.settings()
    session.close()
    # A server closes the class loader of its packages with its first connection, so the settings name the jar files.
    # The embedded lakehouse resolved these with Ivy, or found them in place.
    jars = embedded.get("spark.jars", "").replace("file://", "").replace(",", ":")
    own = {"spark.driver.extraClassPath": jars or embedded["spark.driver.extraClassPath"]}
    settings = {**lakehouse.spark_confs(folder, catalog, pyspark.__version__, own), "spark.master": "local[2]"}
    # PyHive sends USE default on connecting, and an Iceberg catalog has no such schema.
    del settings["spark.sql.defaultCatalog"]
    return settings


@contextmanager
def thrift_server(folder: Path, settings: Mapping[str, str]) -> Iterator[int]:
    """Spark's Thrift server with the given settings; yields its port."""
    port = free_port()
    own = {
        "spark.hadoop.hive.server2.authentication": "NOSASL",
        "spark.hadoop.hive.server2.thrift.bind.host": HOST,
        "spark.hadoop.hive.server2.thrift.port": str(port),
    }
    with spark_server(folder, "hive.thriftserver.HiveThriftServer2", port, {**own, **settings}):
        yield port


@contextmanager
def connect_server(folder: Path, settings: Mapping[str, str]) -> Iterator[int]:
    """A Spark Connect server with the given settings; yields its port."""
    port = free_port()
    with connect_process(folder, port, settings):
        yield port


def connect_process(
    folder: Path, port: int, settings: Mapping[str, str]
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """A Spark Connect server on a port, as a process that can be killed."""
    own = {"spark.connect.grpc.binding.address": HOST, "spark.connect.grpc.binding.port": str(port)}
    return spark_server(folder, "connect.service.SparkConnectServer", port, {**own, **settings})


@contextmanager
def spark_server(
    folder: Path, main_class: str, port: int, settings: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A server from Spark's SQL packages, as soon as it accepts connections. Its log is in the folder."""
    folder.mkdir(exist_ok=True)
    site = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        **settings,
    }
    conf = folder / "spark.conf"
    conf.touch(mode=0o600)
    conf.write_text("".join(f"{key}={value}\n" for key, value in site.items()), encoding="utf-8")
    submit = [str(JARS.parent / "bin" / "spark-submit"), "--class", f"org.apache.spark.sql.{main_class}"]
    with running(
        [*submit, "--properties-file", str(conf), "spark-internal"],
        folder / "log",
        ready=lambda: accepts(port),
        seconds=300,
        environment={"SPARK_NO_DAEMONIZE": "1", "PYSPARK_PYTHON": sys.executable},  # for Python functions in models
    ) as process:
        yield process


def web(port: int) -> dict[str, str]:
    """The settings with which a Spark server reports its jobs on a port."""
    return {"spark.ui.enabled": "true", "spark.ui.port": str(port)}


def get_json(port: int, path: str) -> Any:
    with urllib.request.urlopen(f"http://{HOST}:{port}/{path}", timeout=60) as answer:
        return json.load(answer)


def running_jobs(port: int) -> list[Any]:
    """The running jobs of a Spark server."""
    (application,) = get_json(port, "api/v1/applications")
    jobs: list[Any] = get_json(port, f"api/v1/applications/{application['id']}/jobs?status=running")
    return jobs


def at_work(logs: Callable[[], Iterable[Path]]) -> Callable[[], bool]:
    """A condition that holds once a later task has run for a second, according to the logs of Spark's executors."""

    def unfinished() -> int:
        texts = [log.read_text(errors="replace") for log in logs()]
        return sum(text.count("Running task") - text.count("Finished task") for text in texts)

    before = unfinished()

    def still_unfinished() -> bool:
        if unfinished() <= before:
            return False
        time.sleep(1)
        return unfinished() > before

    return still_unfinished


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)

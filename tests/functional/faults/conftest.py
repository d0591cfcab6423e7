"""Projects whose dbt reaches a server through a proxy. Other writers connect to the server directly."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pyspark
import pytest
import requests
from moto.server import ThreadedMotoServer

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.profile.lakehouse import CATALOG_CLASS, EXTENSIONS, packages
from dbt.adapters.spark_iceberg.spark.connections import open_own_session
from tests.functional.incremental.shop import Shop
from tests.functional.metadata import servers
from tests.functional.metadata.conftest import POSTGRESQL_DRIVER

from .pipeline import Pipeline
from .proxy import PATIENCE, Proxy

CATALOG = "faulty"
PASSWORD = "p@ss/w:rd"
BUCKET = "lake"
KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}


def with_catalog(target: Mapping[str, Any], settings: Mapping[str, str]) -> dict[str, Any]:
    """The profile of a running Spark, with a catalog that has these settings."""
    prefix = f"spark.sql.catalog.{CATALOG}"
    catalog = {prefix: CATALOG_CLASS, **{f"{prefix}.{key}": value for key, value in settings.items()}}
    parameters = {**target.get("server_side_parameters", {}), **catalog}
    kept = {key: value for key, value in target.items() if key != "warehouse"}
    return {**kept, "catalog": CATALOG, "server_side_parameters": parameters}


class Projects:
    """Creates projects on a Spark. Each project has its own schema and its own other writer."""

    def __init__(self, folder: Path, target: Mapping[str, Any]) -> None:
        self._folder, self._target = folder, target
        self._writers: list[Any] = []

    def shop(
        self,
        name: str,
        settings: Mapping[str, str],
        beside: Mapping[str, str] | None = None,
        schema: str | None = None,
        **profile: str,
    ) -> Shop:
        """Create a project. ``settings``: of its catalog. ``beside``: those of the other writer, if they differ.

        ``schema``: by default the project's name.
        """
        own = {**with_catalog(self._target, beside or settings), "schema": "beside"}
        writer = open_own_session(SparkIcebergCredentials.from_dict(SparkIcebergCredentials.translate_aliases(own)))
        self._writers.append(writer)
        target = {**with_catalog(self._target, settings), **profile}
        return Shop(self._folder / name, target, schema or name, writer.session)

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


@pytest.fixture
def projects(tmp_path: Path, embedded_target: dict[str, Any]) -> Iterator[Projects]:
    """Projects on the Spark of this process."""
    with closing(Projects(tmp_path, embedded_target)) as made:
        yield made


# A REST catalog


@pytest.fixture(scope="package")
def rest_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Iceberg's reference REST catalog."""
    with servers.rest_catalog(tmp_path_factory.mktemp("faults") / "rest") as port:
        yield port


@pytest.fixture
def rest_proxy(rest_port: int) -> Iterator[Proxy]:
    """The proxy in front of the REST catalog."""
    with closing(Proxy(rest_port)) as made:
        yield made


def rest(port: int) -> dict[str, str]:
    return {
        "type": "rest",
        "uri": f"http://{servers.HOST}:{port}",
        # Iceberg's default of 5 retries waits for a minute, and doubles this time before each retry
        "rest.client.max-retries": "1",
        "rest.client.socket-timeout-ms": str(PATIENCE * 1000),
    }


@pytest.fixture
def shop_on_rest(projects: Projects, rest_port: int, rest_proxy: Proxy, request: pytest.FixtureRequest) -> Shop:
    return projects.shop(request.node.name, rest(rest_proxy.port), rest(rest_port))


# A Spark with the jars for PostgreSQL and S3


@pytest.fixture(scope="package")
def connect_target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The profile of a Spark Connect server, without catalog and schema."""
    iceberg = packages(pyspark.__version__)
    version = iceberg.partition(",")[0].rpartition(":")[2]
    settings = {
        "spark.jars.packages": f"{iceberg},{POSTGRESQL_DRIVER},org.apache.iceberg:iceberg-aws-bundle:{version}",
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.catalogImplementation": "in-memory",
        "spark.driver.memory": "1g",
        # Glue's client takes its keys and region from the machine
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Daws.accessKeyId=testing "
        "-Daws.secretAccessKey=testing -Daws.region=us-east-1",
    }
    with servers.connect_server(tmp_path_factory.mktemp("faults") / "spark", settings) as port:
        yield {"type": "spark_iceberg", "method": "connect", "host": "localhost", "port": port, "threads": 4}


@pytest.fixture
def remote_projects(tmp_path: Path, connect_target: dict[str, Any]) -> Iterator[Projects]:
    """Projects on a Spark Connect server."""
    with closing(Projects(tmp_path, connect_target)) as made:
        yield made


# PostgreSQL


@pytest.fixture(scope="package")
def postgresql_port() -> Iterator[int]:
    if servers.postgresql_programs() is None:
        pytest.skip("needs PostgreSQL: initdb and pg_ctl")
    # not in pytest's folder: under root, PostgreSQL runs as another user, who has no access to that folder
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with servers.postgresql(Path(folder) / "pg", PASSWORD) as port:
            yield port


@pytest.fixture
def postgresql_proxy(postgresql_port: int) -> Iterator[Proxy]:
    with closing(Proxy(postgresql_port)) as made:
        yield made


def postgresql(port: int, warehouse: Path) -> dict[str, str]:
    return {
        "type": "jdbc",
        "uri": f"jdbc:postgresql://{servers.HOST}:{port}/postgres",
        "jdbc.user": "postgres",
        "jdbc.password": PASSWORD,
        "jdbc.schema-version": "V1",
        "warehouse": str(warehouse),
    }


@pytest.fixture
def on_postgresql(remote_projects: Projects, postgresql_port: int, postgresql_proxy: Proxy, tmp_path: Path) -> Pipeline:
    through, directly = (postgresql(port, tmp_path / "lake") for port in (postgresql_proxy.port, postgresql_port))
    return Pipeline(remote_projects.shop("on_postgresql", through, directly))


# An object store


@pytest.fixture(scope="package")
def s3_port() -> Iterator[int]:
    """An S3-compatible server with an empty bucket."""
    server = ThreadedMotoServer(ip_address=servers.HOST, port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    requests.post(f"http://{servers.HOST}:{port}/moto-api/reset", timeout=30).raise_for_status()
    bucket(port).create()
    yield port
    server.stop()


@pytest.fixture
def s3_proxy(s3_port: int) -> Iterator[Proxy]:
    with closing(Proxy(s3_port)) as made:
        yield made


def bucket(port: int) -> Any:
    client = boto3.resource("s3", endpoint_url=f"http://{servers.HOST}:{port}", region_name="us-east-1", **KEYS)
    return client.Bucket(BUCKET)


def s3(port: int, catalog: Path) -> dict[str, str]:
    """A catalog on SQLite, with tables in the bucket."""
    return {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:file:{catalog}",
        "jdbc.schema-version": "V1",
        "warehouse": f"s3://{BUCKET}/{catalog.parent.name}",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": f"http://{servers.HOST}:{port}",
        "s3.path-style-access": "true",
        "s3.access-key-id": KEYS["aws_access_key_id"],
        "s3.secret-access-key": KEYS["aws_secret_access_key"],
        "client.region": "us-east-1",
        # Iceberg's default of 5 retries waits for a minute, and doubles this time before each retry
        "s3.retry.num-retries": "1",
        "s3.retry.min-wait-ms": "100",
    }


@pytest.fixture
def on_s3(remote_projects: Projects, s3_port: int, s3_proxy: Proxy, tmp_path: Path) -> Pipeline:
    through, directly = (s3(port, tmp_path / "catalog.db") for port in (s3_proxy.port, s3_port))
    return Pipeline(remote_projects.shop("on_s3", through, directly))

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from dbt.adapters.spark_iceberg import lakehouse
from dbt.adapters.spark_iceberg.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.session import root_settings
from tests.functional.metadata import servers

from .factory import CATALOG, Factory


@pytest.fixture(scope="package")
def thrift_port(tmp_path_factory: pytest.TempPathFactory, embedded_target: dict[str, Any]) -> Iterator[int]:
    """A Thrift Server with an Iceberg catalog on SQLite."""
    folder = tmp_path_factory.mktemp("chaos")
    (folder / "lake").mkdir()
    # A server closes the class loader of packages with the first of its connections, so it gets the jars themselves.
    embedded = root_settings(SparkIcebergCredentials.from_dict({**embedded_target, "schema": "s"}))
    own = {"spark.driver.extraClassPath": embedded["spark.jars"].replace("file://", "").replace(",", ":")}
    settings = {**lakehouse.spark_confs(folder / "lake", CATALOG, pyspark.__version__, own), "spark.master": "local[2]"}
    # PyHive says USE default on connecting, and an Iceberg catalog has no such schema.
    del settings["spark.sql.defaultCatalog"]
    with servers.thrift_server(folder / "server", settings) as port:
        yield port


@pytest.fixture
def factory(tmp_path: Path, thrift_port: int, request: pytest.FixtureRequest) -> Iterator[Factory]:
    """A project with a schema of its own."""
    made = Factory(tmp_path, servers.HOST, thrift_port, request.node.name.split("[")[0])
    yield made
    made.connection.close()

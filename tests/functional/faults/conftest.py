from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.session import SessionConnection, open_session
from tests.functional.incremental.shop import Shop
from tests.functional.metadata import servers

from .proxy import Proxy

FAULTY = "faulty"


@pytest.fixture(scope="package")
def rest_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Iceberg's reference REST catalog."""
    with servers.rest_catalog(tmp_path_factory.mktemp("faults") / "rest") as port:
        yield port


@pytest.fixture(scope="package")
def proxy(rest_port: int) -> Iterator[Proxy]:
    """The proxy before the REST catalog."""
    made = Proxy(rest_port)
    yield made
    made.close()


def rest(embedded_target: dict[str, Any], catalog: str, port: int) -> dict[str, Any]:
    """A profile whose catalog is a REST catalog at a port, in the Spark of all tests."""
    prefix = f"spark.sql.catalog.{catalog}"
    settings = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "rest",
        f"{prefix}.uri": f"http://{servers.HOST}:{port}",
        f"{prefix}.cache-enabled": "false",
        # Iceberg's default of 5 waits for a minute, twice as long before each
        f"{prefix}.rest.client.max-retries": "1",
    }
    parameters = {**embedded_target["server_side_parameters"], **settings}
    return {**embedded_target, "catalog": catalog, "server_side_parameters": parameters}


@pytest.fixture
def beside(embedded_target: dict[str, Any], rest_port: int, proxy: Proxy) -> Iterator[SessionConnection]:
    """A session of another writer, whose network has no faults: under the name of the catalog of the models."""
    target = rest(embedded_target, FAULTY, rest_port)
    del target["warehouse"]
    connection = open_session(SparkIcebergCredentials.from_dict({**target, "schema": "beside"}))
    yield connection
    connection.close()


@pytest.fixture
def shop(
    tmp_path: Path,
    embedded_target: dict[str, Any],
    beside: SessionConnection,
    proxy: Proxy,
    request: pytest.FixtureRequest,
) -> Shop:
    """An empty project whose dbt reaches its catalog through the proxy, and whose own statements do not."""
    target = rest(embedded_target, FAULTY, proxy.port)
    del target["warehouse"]
    schema = "".join(letter if letter.isalnum() else "_" for letter in request.node.name.lower())
    return Shop(tmp_path, {**target, "threads": 2}, schema, beside.session)

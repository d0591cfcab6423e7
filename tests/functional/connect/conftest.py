"""One Spark Connect server for all tests of the folder. Each project and each session has its own schema."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.connect.session import ConnectSession, open_connect
from tests.functional.adapter import any_server
from tests.functional.incremental.shop import CATALOG, Shop
from tests.functional.metadata import servers

TOKEN = "let-me;in"

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server_settings(tmp_path_factory: pytest.TempPathFactory, embedded_target: dict[str, Any]) -> dict[str, str]:
    """The settings of the server: the catalogs of `any_server` and the incremental tests, with Iceberg's cache on."""
    folder = tmp_path_factory.mktemp("connect_lakes")
    settings = any_server.settings(folder, embedded_target)
    settings |= servers.lake_settings(folder / CATALOG, CATALOG, embedded_target)
    del settings[f"spark.sql.catalog.{CATALOG}.cache-enabled"]
    return {
        **settings,
        "spark.sql.defaultCatalog": CATALOG,
        "spark.connect.authenticate.token": TOKEN,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }


@pytest.fixture(scope="session")
def port(tmp_path_factory: pytest.TempPathFactory, server_settings: dict[str, str]) -> Iterator[int]:
    """The port of the server."""
    with servers.connect_server(tmp_path_factory.mktemp("connect") / "server", server_settings) as port:
        yield port


def target_on(port: int) -> dict[str, Any]:
    """The profile of a server, without a schema. Without TLS, the client sends a token to `localhost` only."""
    return {
        "type": "spark_iceberg",
        "method": "connect",
        "host": "localhost",
        "port": port,
        "token": TOKEN,
        "catalog": CATALOG,
        "threads": 4,
    }


@pytest.fixture(scope="session")
def target(port: int) -> dict[str, Any]:
    return target_on(port)


@pytest.fixture(scope="session")
def credentials(target: dict[str, Any]) -> SparkIcebergCredentials:
    data = SparkIcebergCredentials.translate_aliases({**target, "schema": "sessions"})
    return SparkIcebergCredentials.from_dict(data)


@pytest.fixture
def connection(credentials: SparkIcebergCredentials) -> Iterator[ConnectSession]:
    opened = open_connect(credentials)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def outside(credentials: SparkIcebergCredentials) -> Iterator[ConnectSession]:
    """A separate session, for another writer."""
    opened = open_connect(credentials)
    yield opened
    opened.close()


@pytest.fixture
def shop(tmp_path: Path, target: dict[str, Any], outside: ConnectSession) -> Shop:
    """An empty project with its own schemas."""
    return Shop(tmp_path, target, f"shop_{next(_numbers)}", outside.session)


@pytest.fixture(scope="module")
def module_shop(tmp_path_factory: pytest.TempPathFactory, target: dict[str, Any], outside: ConnectSession) -> Shop:
    """A project for all tests of a module, which check the results of one run of many models."""
    return Shop(tmp_path_factory.mktemp("shop"), target, f"shop_{next(_numbers)}", outside.session)

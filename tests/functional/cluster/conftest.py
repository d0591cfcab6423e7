"""One cluster for all tests of the folder. Every connection method uses it in turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.in_process.session import open_session
from tests.functional.incremental.shop import CATALOG, Shop
from tests.functional.metadata import servers

from .places import WAYS, Cluster, Place

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("cluster"), stack)


@pytest.fixture(scope="package")
def settings(cluster: Cluster, embedded_target: dict[str, Any]) -> dict[str, str]:
    """The settings of a server that runs on the cluster. Its catalog is in `lake`, next to the cluster's files."""
    found = servers.lake_settings(cluster.folder / "lake", CATALOG, embedded_target)
    jars = found["spark.driver.extraClassPath"]
    return {**found, **cluster.settings(), "spark.executor.extraClassPath": jars}


@pytest.fixture(scope="package", params=list(WAYS))
def place(request: pytest.FixtureRequest, cluster: Cluster, settings: dict[str, str]) -> Iterator[Place]:
    """Each connection method in turn. All tests of one method run before those of the next."""
    with WAYS[request.param](cluster, settings) as place:
        yield place


@pytest.fixture(scope="package")
def outside(cluster: Cluster, settings: dict[str, str], embedded_target: dict[str, Any]) -> Iterator[SparkSession]:
    """A Spark session outside the cluster, on the same tables."""
    lake = {**embedded_target, "warehouse": str(cluster.folder / "lake"), "schema": "s"}
    opened = open_session(SparkIcebergCredentials.from_dict(lake))
    yield opened.session
    opened.close()


@pytest.fixture
def shop(tmp_path: Path, place: Place, outside: SparkSession) -> Shop:
    """An empty project with its own schemas."""
    return place.shop(tmp_path, place.target, f"{place.name}_{next(_numbers)}", outside)

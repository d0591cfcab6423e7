from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from dbt.adapters.spark_iceberg import lakehouse
from tests.functional.metadata import servers

from .factory import CATALOG, Factory


@pytest.fixture(scope="package")
def thrift_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A Thrift Server with an Iceberg catalog on SQLite."""
    folder = tmp_path_factory.mktemp("chaos")
    (folder / "lake").mkdir()
    settings = lakehouse.spark_confs(folder / "lake", CATALOG, pyspark.__version__, {"spark.master": "local[2]"})
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

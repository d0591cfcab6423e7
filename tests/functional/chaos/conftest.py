from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.functional.metadata import servers

from .factory import CATALOG, Factory


@pytest.fixture(scope="package")
def thrift_port(tmp_path_factory: pytest.TempPathFactory, embedded_target: dict[str, Any]) -> Iterator[int]:
    """A Thrift Server with an Iceberg catalog on SQLite."""
    folder = tmp_path_factory.mktemp("chaos")
    settings = servers.lake_settings(folder / "lake", CATALOG, embedded_target)
    with servers.thrift_server(folder / "server", settings) as port:
        yield port


@pytest.fixture
def factory(tmp_path: Path, thrift_port: int, request: pytest.FixtureRequest) -> Iterator[Factory]:
    """A project with its own schema."""
    made = Factory(tmp_path, servers.HOST, thrift_port, request.node.name.split("[")[0])
    yield made
    made.connection.close()

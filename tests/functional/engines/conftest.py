from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from platform import python_version_tuple
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.profile.lakehouse import CATALOG_FILE
from tests.functional.metadata import servers

from ..incremental.conftest import module_shop  # noqa: F401 (a fixture)
from .outcomes import ENGINES
from .process import Engine, started


def of_engine(name: str) -> list[pytest.MarkDecorator]:
    """The markers of tests with an engine."""
    return [] if ENGINES[name].is_small else [pytest.mark.nightly]


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Engine]]:
    """Starts engines when they are first needed."""
    if tuple(map(int, python_version_tuple()[:2])) < (3, 11):
        pytest.skip("Polars requires Python 3.11")
    folder = tmp_path_factory.mktemp("engines")
    with ExitStack() as stack:
        yield cache(lambda name: stack.enter_context(started(name, folder)))


@pytest.fixture(scope="session")
def embedded(warehouse: Path) -> Mapping[str, str]:
    """PyIceberg's properties of the embedded lakehouse."""
    return {"type": "sql", "uri": f"sqlite:///{warehouse / CATALOG_FILE}", "warehouse": str(warehouse)}


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Spark's properties of a REST catalog."""
    with servers.rest_catalog(tmp_path_factory.mktemp("rest") / "server") as port:
        yield {"type": "rest", "uri": f"http://{servers.HOST}:{port}"}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Spark's properties of a hadoop catalog."""
    return {"type": "hadoop", "warehouse": str(tmp_path_factory.mktemp("folders"))}


def settings(name: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """The Spark settings of a catalog."""
    prefix = f"spark.sql.catalog.{name}"
    found = {prefix: "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.cache-enabled": "false"}
    return found | {f"{prefix}.{key}": value for key, value in properties.items()}

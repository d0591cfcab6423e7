"""One embedded lakehouse, and therefore one Spark, for all tests of a process. Each test project has its own schema."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.factory import reset_adapters

from tests.compat.environments import ICEBERG_VERSION

if iceberg := os.environ.get(ICEBERG_VERSION):  # before the conftest of a folder reads the version
    import pyspark

    from dbt.adapters.spark_iceberg.profile import lakehouse

    lakehouse.RUNTIMES[lakehouse.minor_version(pyspark.__version__)] = iceberg

pytest_plugins = ["dbt.tests.fixtures.project"]

# A second catalog, for tests that use more than one.
OTHER_CATALOG = "archive"


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and ignore a warning that dbt-tests-adapter causes."""
    config.addinivalue_line("markers", "thrift: needs a Spark Thrift Server, which the test starts")
    config.addinivalue_line("filterwarnings", "ignore:Class-scoped fixtures defined as instance methods")


@pytest.hookimpl(tryfirst=True)  # before pytest selects tests by ``-m``
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the marker ``core`` from parameters that it does not name, and from tests that only inherit or import it.

    Raises UsageError if it names a parameter that no test has.
    """
    ids = {item: item.nodeid.partition("[")[::2] for item in items}
    named: set[tuple[str, str]] = set()
    for item, (name, parameters) in ids.items():
        for node, mark in [*item.iter_markers_with_node("core")]:
            named |= {(name, f"{each}]") for each in mark.args}
            if not _is_own(item, node, mark) or (mark.args and parameters.removesuffix("]") not in mark.args):
                node.own_markers.remove(mark)
    unknown = named - set(ids.values())
    if unknown and "core" in config.option.markexpr:
        raise pytest.UsageError(f"The marker core names parameters that no test has: {sorted(unknown)}")


def _is_own(item: pytest.Item, node: Any, mark: pytest.Mark) -> bool:
    """Whether the class or the module in which a test is collected also defines what has the marker."""
    if isinstance(node, pytest.Class):
        return mark in node.obj.__dict__.get("pytestmark", ())
    module = item.getparent(pytest.Module)
    return not isinstance(node, pytest.Function) or module is None or node.function.__module__ == module.obj.__name__


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the embedded lakehouse."""
    return tmp_path_factory.mktemp("lakehouse")


@pytest.fixture(scope="session")
def embedded_target(warehouse: Path) -> dict[str, Any]:
    """The profile of the embedded lakehouse, without a schema, and with a second, hadoop catalog."""
    other = f"spark.sql.catalog.{OTHER_CATALOG}"
    return {
        "type": "spark_iceberg",
        "method": "session",
        "warehouse": str(warehouse),
        "threads": 4,
        "server_side_parameters": {
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            # The tests run many small statements, so the C2 compiler would cost more time than it saves.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
            "spark.sql.shuffle.partitions": "2",
            other: "org.apache.iceberg.spark.SparkCatalog",
            f"{other}.type": "hadoop",
            f"{other}.warehouse": str(warehouse / OTHER_CATALOG),
        },
    }


@pytest.fixture(scope="class")
def dbt_profile_target(embedded_target: dict[str, Any]) -> dict[str, Any]:
    """The profile for the `project` fixture of dbt-tests-adapter."""
    reset_adapters()  # the fixture would use the adapter of an earlier test, with the catalog of its profile
    return dict(embedded_target)


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The folder of dbt's logs, outside the repository."""
    folder = str(tmp_path_factory.mktemp("logs"))
    os.environ["DBT_LOG_PATH"] = folder
    yield folder
    del os.environ["DBT_LOG_PATH"]

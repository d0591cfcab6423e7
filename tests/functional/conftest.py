"""`make` runs the functional tests in two processes. Each process has its own Spark."""

from __future__ import annotations

import fcntl
import gc
from collections.abc import Iterator
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.in_process.session import SessionConnection, open_session


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the last tally of the random histories, the faults and the long watch, from all processes."""
    played = {
        name: value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name.startswith(("fuzz", "faults", "watched"))
    }
    for tally in played.values():
        terminalreporter.write_line(tally)


@pytest.fixture(scope="session", autouse=True)
def rare_collections() -> None:
    """Collect garbage less often. A manifest has many small objects, and collections took a tenth of each dbt run."""
    gc.set_threshold(100_000)


@pytest.fixture(scope="session", autouse=True)
def started_spark(tmp_path_factory: pytest.TempPathFactory, embedded_target: dict[str, Any]) -> None:
    """The embedded lakehouse's Spark. Processes start it one after the other, since Ivy does not lock its downloads.

    It runs before every test, including tests whose Spark runs in another process.
    """
    with (tmp_path_factory.getbasetemp().parent / "ivy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        open_session(SparkIcebergCredentials.from_dict({**embedded_target, "schema": "default"})).close()


@pytest.fixture(scope="session")
def outside(embedded_target: dict[str, Any]) -> Iterator[SessionConnection]:
    """A Spark session other than dbt's, for another writer."""
    connection = open_session(SparkIcebergCredentials.from_dict({**embedded_target, "schema": "outside"}))
    yield connection
    connection.close()

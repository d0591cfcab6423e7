"""All functional tests need Spark; `make test` runs them in two processes, each with a Spark of its own."""

from __future__ import annotations

import fcntl
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.session import open_session


@pytest.fixture(scope="session", autouse=True)
def started_spark(tmp_path_factory: pytest.TempPathFactory, embedded_target: dict[str, Any]) -> None:
    """The embedded lakehouse's Spark. One process starts it after the other: Ivy does not lock what it downloads."""
    with (tmp_path_factory.getbasetemp().parent / "ivy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        open_session(SparkIcebergCredentials.from_dict({**embedded_target, "schema": "default"})).close()

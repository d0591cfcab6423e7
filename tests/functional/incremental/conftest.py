from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.spark.connections import SparkIcebergConnectionManager
from dbt.adapters.spark_iceberg.spark.in_process.session import SessionConnection

from .shop import Shop

_numbers = itertools.count(1)


@pytest.fixture
def shop(tmp_path: Path, embedded_target: dict[str, Any], outside: SessionConnection) -> Shop:
    """An empty project with its own schemas."""
    return Shop(tmp_path, embedded_target, f"shop_{next(_numbers)}", outside.session)


@pytest.fixture(scope="module")
def module_shop(
    tmp_path_factory: pytest.TempPathFactory, embedded_target: dict[str, Any], outside: SessionConnection
) -> Shop:
    """A project for all tests of a module, which check the results of one run of many models."""
    return Shop(tmp_path_factory.mktemp("shop"), embedded_target, f"shop_{next(_numbers)}", outside.session)


@pytest.fixture
def asked_of_spark(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that dbt sends."""
    sent: list[str] = []
    add_query = SparkIcebergConnectionManager.add_query

    def record(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        sent.append(sql)
        return add_query(self, sql, *args, **kwargs)

    monkeypatch.setattr(SparkIcebergConnectionManager, "add_query", record)
    return sent

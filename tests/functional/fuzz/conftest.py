from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.spark.in_process.session import SessionConnection
from tests.functional.incremental.shop import Shop

from .together import SMALL

_numbers = itertools.count(1)


@pytest.fixture
def shop(tmp_path: Path, embedded_target: dict[str, Any], outside: SessionConnection) -> Shop:
    """An empty project with its own schemas, on the Spark session of the incremental tests."""
    return Shop(tmp_path, embedded_target, f"fuzz_{next(_numbers)}", outside.session)


@pytest.fixture
def small_shop(shop: Shop, outside: SessionConnection) -> Iterator[Shop]:
    """The same, for many tables with few rows."""
    before = {key: str(outside.session.conf.get(key)) for key in SMALL}
    shop.configure(SMALL)
    for key, value in SMALL.items():
        outside.session.conf.set(key, value)
    yield shop
    for key, value in before.items():
        outside.session.conf.set(key, value)

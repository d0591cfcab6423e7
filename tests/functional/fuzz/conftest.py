from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.spark.in_process.session import SessionConnection
from tests.functional.incremental.conftest import outside
from tests.functional.incremental.shop import Shop

__all__ = ["outside"]

_numbers = itertools.count(1)


@pytest.fixture
def shop(tmp_path: Path, embedded_target: dict[str, Any], outside: SessionConnection) -> Shop:
    """An empty project with schemas of its own, on the Spark session of the incremental tests."""
    return Shop(tmp_path, embedded_target, f"fuzz_{next(_numbers)}", outside.session)

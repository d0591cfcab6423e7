from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.spark.in_process.session import SessionConnection
from tests.functional.incremental.shop import Shop

from .watching import Watching

_numbers = itertools.count(1)


@pytest.fixture
def shop(tmp_path: Path, embedded_target: dict[str, Any], outside: SessionConnection) -> Shop:
    """An empty project with its own schemas."""
    return Shop(tmp_path, embedded_target, f"watched_{next(_numbers)}", outside.session)


@pytest.fixture
def watch(shop: Shop) -> Iterator[Callable[..., Watching]]:
    """Starts ``watch`` on the project in its own process, with its own Spark. Kills remaining processes at the end."""
    started: list[Watching] = []

    def start(*options: str, **environment: str) -> Watching:
        started.append(Watching(shop.folder, len(started), options, environment))
        return started[-1]

    yield start
    for each in started:
        each.kill()

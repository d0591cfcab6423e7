"""Plays many histories at once. Each has its own tables, and one dbt run builds the models of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

BATCH = int(os.environ.get("FUZZ_BATCH", "25"))
"""The number of histories in a project. A dbt run costs as much as the statements of several small models."""

_THREADS = 4

SMALL = {
    # For a few rows, compiling generated code takes longer than running it, and one task is enough.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""Session settings with which Spark answers queries of small tables faster. They do not change results."""


def batches(numbers: Sequence[int], size: int = BATCH) -> list[list[int]]:
    """The numbers of histories, grouped by the project in which they are played."""
    return [list(numbers[first : first + size]) for first in range(0, len(numbers), size)]


@contextmanager
def at_once() -> Iterator[Callable[[Callable[[Any], object], Iterable[Any]], None]]:
    """Yields a function that calls another one for each history in parallel. It raises the first error, in order."""
    with ThreadPoolExecutor(_THREADS) as pool:

        def call(function: Callable[[Any], object], histories: Iterable[Any]) -> None:
            for each in [pool.submit(function, history) for history in histories]:
                each.result()

        yield call

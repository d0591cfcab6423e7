"""Playing many histories at once: each has its own tables, and one run of dbt builds the models of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

BATCH = int(os.environ.get("FUZZ_BATCH", "25"))
"""How many histories share a project. A run of dbt costs as much as the statements of several small models."""

_THREADS = 4

SMALL = {
    # For a handful of rows, generated code is compiled for longer than it runs, and one task does what two would.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""Session settings with which Spark answers queries of small tables sooner. They change no result."""


def batches(numbers: Sequence[int], size: int = BATCH) -> list[list[int]]:
    """The numbers of histories by the project in which they are played."""
    return [list(numbers[first : first + size]) for first in range(0, len(numbers), size)]


@contextmanager
def at_once() -> Iterator[Callable[[Callable[[Any], object], Iterable[Any]], None]]:
    """Calls a function for each history, some at the same time. It raises the first error of a call, in their order."""
    with ThreadPoolExecutor(_THREADS) as pool:

        def call(function: Callable[[Any], object], histories: Iterable[Any]) -> None:
            for each in [pool.submit(function, history) for history in histories]:
                each.result()

        yield call

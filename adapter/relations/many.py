"""Processes many relations in dbt's number of threads, each with its own connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.utils import executor

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def over_many(
    adapter: SparkAdapter, name: str, items: Iterable[_Item], work: Callable[[_Item], _Result]
) -> list[tuple[_Item, _Result | DbtRuntimeError]]:
    """The result of ``work`` for each item, or its DbtRuntimeError, in order of completion.

    A connection is opened only if the work uses it. With one thread, dbt's own connection is used. Other exceptions are
    raised.
    """
    waiting = deque(items)
    done: list[tuple[_Item, _Result | DbtRuntimeError]] = []

    def run() -> None:
        while waiting:
            try:
                item = waiting.popleft()
            except IndexError:  # another thread has taken the last item
                return
            try:
                done.append((item, work(item)))
            except DbtRuntimeError as error:
                done.append((item, error))

    with executor(adapter.config) as pool:
        runs: list[Future[None]] = [
            pool.submit_connected(adapter, f"{name}_{number}", run) for number in range(adapter.config.threads)
        ]
    for each in runs:
        each.result()
    return done

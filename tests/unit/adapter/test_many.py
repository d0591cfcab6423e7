from __future__ import annotations

import threading
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.context import set_invocation_context
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.relations.many import over_many


@pytest.fixture(autouse=True)
def invocation():
    set_invocation_context({})


class Adapter:
    """An adapter that records the names of the connections that are opened."""

    def __init__(self, threads: int) -> None:
        self.config = SimpleNamespace(threads=threads, args=SimpleNamespace(single_threaded=threads == 1))
        self.named: list[str] = []

    @contextmanager
    def connection_named(self, name: str, *_: Any) -> Any:
        self.named.append(name)
        yield


@pytest.mark.parametrize("threads", [1, 3])
def test_every_item_is_processed_once_and_errors_are_kept_per_item(threads: int):
    def work(number: int) -> int:
        if number == 7:
            raise DbtRuntimeError("seven")
        return number * 2

    adapter: Any = Adapter(threads)
    done = dict(over_many(adapter, "n", range(50), work))

    assert str(done.pop(7)) == str(DbtRuntimeError("seven"))
    assert done == {number: number * 2 for number in range(50) if number != 7}
    # with a single thread, the existing connection is used
    assert sorted(adapter.named) == ([] if threads == 1 else [f"n_{number}" for number in range(threads)])


def test_items_are_processed_in_parallel():
    all_here = threading.Barrier(3, timeout=10)
    adapter: Any = Adapter(3)
    assert len(over_many(adapter, "n", range(3), lambda _: all_here.wait())) == 3


def test_unexpected_errors_are_raised():
    adapter: Any = Adapter(2)
    with pytest.raises(ZeroDivisionError):
        over_many(adapter, "n", [1], lambda n: n // 0)

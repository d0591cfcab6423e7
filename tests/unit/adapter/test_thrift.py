"""Cancelling statements on a Thrift server, which the test simulates behind PyHive's interface."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.spark.connections import PyhiveConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError
from TCLIService.ttypes import TOperationState

from dbt.adapters.spark_iceberg.spark.thrift import ThriftConnection


class Server:
    """A server that records calls and their threads. If it is ``endless``, statements run until they are cancelled."""

    def __init__(self, *, endless: bool) -> None:
        self.state = TOperationState.RUNNING_STATE if endless else TOperationState.FINISHED_STATE
        self.calls: list[tuple[str, int]] = []
        self.polled = threading.Event()

    def cursor(self) -> Server:
        return self

    def execute(self, sql: str, bindings: Any, async_: bool) -> None:
        self._note(sql)

    def poll(self) -> Any:
        self._note("poll")
        self.polled.set()
        return SimpleNamespace(operationState=self.state, errorMessage=None)

    def cancel(self) -> None:
        self._note("cancel")
        self.state = TOperationState.CANCELED_STATE

    def names(self) -> list[str]:
        return [name for name, _ in self.calls if name != "poll"]

    def _note(self, name: str) -> None:
        self.calls.append((name, threading.get_ident()))


def connection(server: Server) -> ThriftConnection:
    return ThriftConnection(PyhiveConnectionWrapper(server, poll_interval=0))


def test_the_thread_that_runs_a_statement_cancels_it():
    server = Server(endless=True)
    handle = connection(server)
    threading.Thread(target=lambda: (server.polled.wait(10), handle.cancel())).start()
    with pytest.raises(DbtDatabaseError, match="CANCELED"):
        handle.cursor().execute("select 1")
    assert server.names() == ["select 1", "cancel"]
    assert {thread for _, thread in server.calls} == {threading.get_ident()}


def test_a_statement_after_a_cancellation_is_not_sent():
    server = Server(endless=False)
    handle = connection(server)
    handle.cancel()
    with pytest.raises(DbtDatabaseError, match="Cancelled"):
        handle.cursor().execute("insert")
    assert server.calls == []


def test_cleanup_also_runs_after_a_cancellation():
    server = Server(endless=False)
    handle = connection(server)
    handle.cancel()
    handle.tidy("drop view v")
    assert server.names() == ["drop view v"]

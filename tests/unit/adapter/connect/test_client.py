"""What the client sends when the connection to the server breaks. The test runs a gRPC server of its own."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from dbt_common.exceptions import DbtDatabaseError
from google.rpc import code_pb2, status_pb2
from grpc_status import rpc_status
from pyspark.errors import PySparkException
from pyspark.sql.connect.client import DefaultChannelBuilder, SparkConnectClient
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

from dbt.adapters.spark_iceberg.spark.connect import client
from dbt.adapters.spark_iceberg.spark.messages import describe

UNKNOWN = "[INVALID_HANDLE.OPERATION_NOT_FOUND] The handle is invalid. Operation not found."


class Server(base_pb2_grpc.SparkConnectServiceServicer):
    """Accepts each statement, then breaks the connection. ``knows``: whether it still has the statement afterwards."""

    def __init__(self, knows: bool) -> None:
        self.knows = knows
        self.executed: list[str] = []

    def ExecutePlan(self, request, context):  # noqa: N802 (gRPC's name)
        self.executed.append(request.operation_id)
        context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")

    def ReattachExecute(self, request, context):  # noqa: N802
        if not self.knows:
            context.abort_with_status(rpc_status.to_status(status_pb2.Status(code=code_pb2.INTERNAL, message=UNKNOWN)))
        yield base_pb2.ExecutePlanResponse(
            session_id=request.session_id,
            response_id="1",
            result_complete=base_pb2.ExecutePlanResponse.ResultComplete(),
        )

    def ReleaseExecute(self, request, context):  # noqa: N802
        return base_pb2.ReleaseExecuteResponse()

    def ReleaseSession(self, request, context):  # noqa: N802
        return base_pb2.ReleaseSessionResponse(session_id=request.session_id)

    def Config(self, request, context):  # noqa: N802
        return base_pb2.ConfigResponse(session_id=request.session_id)


def serve(knows: bool) -> Iterator[tuple[Server, str]]:
    server, servicer = grpc.server(ThreadPoolExecutor(4)), Server(knows)
    base_pb2_grpc.add_SparkConnectServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, f"sc://127.0.0.1:{port}/"
    server.stop(None).wait()


@pytest.fixture
def restarted() -> Iterator[tuple[Server, str]]:
    """A server that has lost earlier statements."""
    yield from serve(knows=False)


@pytest.fixture
def reachable_again() -> Iterator[tuple[Server, str]]:
    """A server that still has earlier statements."""
    yield from serve(knows=True)


@pytest.fixture
def connect() -> Iterator[Any]:
    sessions = []

    def opened(url: str) -> Any:
        sessions.append(client.connect(url))
        client.call_again(sessions[-1], times=3, pause=1)
        return sessions[-1]

    yield opened
    for session in sessions:
        client.close(session)


def test_a_statement_is_not_sent_again_to_a_restarted_server(restarted, connect):
    server, url = restarted
    with pytest.raises(DbtDatabaseError, match="it was not sent again"):
        connect(url).sql("insert into t values (1)")
    assert len(server.executed) == 1


def test_sparks_client_sends_the_statement_again(restarted):
    server, url = restarted
    plain = SparkConnectClient(DefaultChannelBuilder(url), retry_policy={"max_retries": 1, "initial_backoff": 1})
    request = plain._execute_plan_request_with_metadata()
    with pytest.raises(Exception, match=r"UNAVAILABLE|RETRIES_EXCEEDED"):
        plain._execute(request)
    assert len(server.executed) > 1
    assert len(set(server.executed)) == 1
    plain.close()


def test_the_client_reattaches_to_a_statement_that_the_server_still_has(reachable_again, connect):
    server, url = reachable_again
    session = connect(url)
    session.client._execute(session.client._execute_plan_request_with_metadata())
    assert len(server.executed) == 1


def test_an_unreachable_server_is_an_error_without_a_stack_trace(connect):
    with pytest.raises(PySparkException) as caught:
        connect("sc://127.0.0.1:1/").sql("select 1")
    said = describe(caught.value)
    assert "Connection refused\n" in said
    assert "To fix: run dbt again" in said


def test_closing_does_not_wait_for_an_unreachable_server(connect):
    session = connect("sc://127.0.0.1:1/")
    client.call_again(session, times=100, pause=1000)
    closing = threading.Thread(target=client.close, args=[session], daemon=True)
    closing.start()
    closing.join(timeout=20)
    assert not closing.is_alive()


def test_retries_end_after_a_server_was_unreachable_once(connect):
    session = connect("sc://127.0.0.1:1/")
    client.call_again(session, times=2, pause=300)
    took = []
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises(PySparkException):
            session.conf.get("spark.sql.ansi.enabled")
        took.append(time.monotonic() - began)
    assert took[0] > 0.5 > took[1]


def test_a_garbage_collected_session_does_not_close_itself():
    """If this happened in a gRPC thread, closing would wait for that thread, which never ends."""
    session = client.connect("sc://127.0.0.1:1/")
    its_client = session.client
    del session
    gc.collect()
    assert not its_client.is_closed
    its_client.close()

"""Spark's thin client, changed so that no statement is sent twice.

If the connection breaks, and the server then reports that a statement is unknown, Spark's client sends the statement
again (``ExecutePlanResponseReattachableIterator._call_iter`` in pyspark/sql/connect/client/reattach.py). However, a
restarted server also reports this for statements that it has executed. Each operation is therefore sent only once.
Spark's client may still reattach to an operation any number of times, because this starts nothing.
"""

from __future__ import annotations

import atexit
import copy
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import grpc
from dbt_common.exceptions import DbtDatabaseError
from pyspark.errors import PySparkException
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicyState
from pyspark.sql.connect.session import SparkSession as ConnectSparkSession

from . import errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXECUTE = "/ExecutePlan"
_IS_REMOTE, _REMOTE = "SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE"


class SentOnce(grpc.UnaryStreamClientInterceptor):  # type: ignore[misc] # grpc has no types
    """Refuses to send an operation a second time, with a DbtDatabaseError."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: set[str] = set()

    def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
        """Called by gRPC for each call with a streamed response. Spark's client assigns an id to each operation."""
        if details.method.endswith(_EXECUTE):
            with self._lock:
                if request.operation_id in self._sent:
                    raise DbtDatabaseError(errors.lost("The server no longer knows the statement."))
                self._sent.add(request.operation_id)
        return continuation(details, request)


class ConnectRetryPolicy(DefaultPolicy):
    """Spark's retry policy without the warning after the last attempt. Times are in ms.

    After the policy has given up on a server, it never waits again, for example during the cleanup of a failed model.
    """

    given_up = False

    def to_state(self) -> RetryPolicyState:
        """The retry state of one call."""
        return _Calls(self)


class _Calls(RetryPolicyState):
    def __init__(self, patience: ConnectRetryPolicy) -> None:
        super().__init__(patience)
        self._patience = patience

    def can_retry(self, exception: BaseException) -> bool:
        """Whether to retry. False after the last attempt, so that the exception itself is raised."""
        if not super().can_retry(exception):
            return False
        self._patience.given_up |= self._attempt >= (self._patience.max_retries or 0)
        return not self._patience.given_up


class _Session(ConnectSparkSession):
    """A session that only its owner closes.

    Spark's own session closes itself when it is garbage-collected. If this happens in one of gRPC's threads, the call
    never returns.
    """

    def __del__(self) -> None:
        pass


def connect(url: str) -> SparkSession:
    """A new session on a server. The server is not called yet."""
    return _open(DefaultChannelBuilder(url), None)


def beside(given: Any) -> SparkSession:
    """A new session on the server of a given session, with a channel of the same kind. The server is not called yet."""
    client = given.client
    builder: Any = copy.copy(client._builder)
    builder._params = {key: value for key, value in builder._params.items() if key != builder.PARAM_SESSION_ID}
    session: Any = _open(builder, client._user_id)
    if not client._use_reattachable_execute:
        session.client.disable_reattachable_execute()
    return cast("SparkSession", session)


def address_of(given: Any) -> str:
    """The host and port of a given session's server."""
    builder: Any = given.client._builder
    endpoint = getattr(builder, "endpoint", None)  # other builders have only a host
    return str(endpoint or builder.host)


def _open(builder: DefaultChannelBuilder, user: str | None) -> SparkSession:
    to_channel: Any = builder.toChannel
    # Not `add_interceptor`, which vendors' builders ignore if they create the channel in another way.
    builder.toChannel = lambda: grpc.intercept_channel(to_channel(), SentOnce())  # type: ignore[method-assign]
    session: Any = _Session(builder, user)
    # At exit, the client would call the server again to delete cached machine-learning models.
    if at_exit := getattr(session.client, "_cleanup_ml_cache", None):
        atexit.unregister(at_exit)
    return cast("SparkSession", session)


def activate(session: Any) -> None:
    """Make a session the active session of this thread, to which Spark's client assigns results."""
    ConnectSparkSession._active_session.session = session


@contextmanager
def chosen(session: Any, address: str) -> Iterator[None]:
    """Within the block, PySpark's functions, pandas-on-Spark and ``SparkSession.builder`` use this session.

    Otherwise, a full PySpark would start Spark in this process: ``is_remote`` in pyspark/sql/utils.py checks the
    environment. ``address``: a connection string without secrets. It is not used, because a session is active.
    """
    before = {key: os.environ.get(key) for key in (_IS_REMOTE, _REMOTE)}
    os.environ |= {_IS_REMOTE: "1", _REMOTE: address}
    activate(session)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def call_again(session: Any, times: int, pause: int, factor: float = 1.0) -> None:
    """Set the number of retries for an unreachable server, and the first delay in ms, which grows by ``factor``."""
    policy = ConnectRetryPolicy(
        max_retries=times, initial_backoff=pause, backoff_multiplier=factor, max_backoff=pause * 100
    )
    session.client.set_retry_policies([policy])


def close(session: Any) -> None:
    """End a session on its server, which also ends its running statements. Does not wait for a lost server."""
    session.client.set_retry_policies([])
    with suppress(PySparkException, grpc.RpcError):
        session.client.release_session()
    session.client.close()

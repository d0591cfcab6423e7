"""The handle of a dbt connection to a Thrift server: methods ``thrift`` and ``http``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from dbt.adapters.spark.connections import PyhiveConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError

from .interrupt import CANCELLED


class ThriftConnection(PyhiveConnectionWrapper):
    """dbt-spark's handle. Another thread can cancel its statement.

    Thrift's client does not support two threads, because a call during another call could receive that call's response.
    The thread that waits for a statement therefore cancels it when it next requests the state, every ``poll_interval``.
    """

    def __init__(self, opened: PyhiveConnectionWrapper) -> None:
        super().__init__(opened.handle, opened.poll_interval, opened.query_timeout, opened.query_retries)
        self._cancelled = threading.Event()

    def cursor(self) -> ThriftConnection:
        """This handle, for a new statement."""
        super().cursor()
        self._cursor = _Cancellable(self._cursor, self._cancelled)
        return self

    def cancel(self) -> None:
        """Cancel the running statement, and refuse later ones. Called by another thread."""
        self._cancelled.set()

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Execute a statement. Raises DbtDatabaseError if it fails or is cancelled."""
        if self._cancelled.is_set():
            raise DbtDatabaseError(CANCELLED)
        super().execute(sql, None if bindings is None else list(bindings))

    def tidy(self, sql: str) -> None:
        """Execute a cleanup statement, even after a cancellation. Raises DbtDatabaseError."""
        self._cancelled.clear()
        self.cursor().execute(sql)


class _Cancellable:
    """A PyHive cursor that cancels its statement when its state is requested after a cancellation."""

    def __init__(self, cursor: Any, cancelled: threading.Event) -> None:
        self._cursor = cursor
        self._cancelled = cancelled

    def poll(self) -> Any:
        """The state of the statement."""
        if self._cancelled.is_set():
            self._cursor.cancel()
        return self._cursor.poll()

    def __getattr__(self, name: str) -> Any:
        """The attributes of PyHive's cursor."""
        return getattr(self._cursor, name)

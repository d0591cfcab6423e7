"""What dbt holds as a connection's handle on a Thrift server: methods ``thrift`` and ``http``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from dbt.adapters.spark.connections import PyhiveConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError

from .interrupt import CANCELLED


class ThriftConnection(PyhiveConnectionWrapper):
    """dbt-spark's, whose statement another thread can stop.

    Thrift's client is not made for two threads: a call in the middle of another one takes that one's answer. So the
    thread that waits for a statement cancels it, when it next asks for its state, every ``poll_interval``.
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
        """Have the statement that runs cancelled, and any that follows refused; called by another thread."""
        self._cancelled.set()

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement; raises DbtDatabaseError, also where it is cancelled."""
        if self._cancelled.is_set():
            raise DbtDatabaseError(CANCELLED)
        super().execute(sql, None if bindings is None else list(bindings))

    def tidy(self, sql: str) -> None:
        """Run a statement that cleans up, also after a cancellation. Raises DbtDatabaseError."""
        self._cancelled.clear()
        self.cursor().execute(sql)


class _Cancellable:
    """A cursor of PyHive that cancels its statement when it is asked for its state after a cancellation."""

    def __init__(self, cursor: Any, cancelled: threading.Event) -> None:
        self._cursor = cursor
        self._cancelled = cancelled

    def poll(self) -> Any:
        """The state of the statement."""
        if self._cancelled.is_set():
            self._cursor.cancel()
        return self._cursor.poll()

    def __getattr__(self, name: str) -> Any:
        """All else is PyHive's."""
        return getattr(self._cursor, name)

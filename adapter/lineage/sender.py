"""The sender of events: a separate thread, so that a slow or unavailable receiver neither delays nor fails a run."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from .facts import Event

_CLIENT = "openlineage"
"""The name of the client's Python logger."""


class Sender:
    """Sends events in order. After the first event that cannot be sent, no more events are sent."""

    def __init__(self, build: Callable[[], Callable[[Event], Any]]) -> None:
        """``build``: called in the thread; returns the function that converts an event to the client's class."""
        self._build = build
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._failure: str | None = None
        self._deadline = 0.0
        self._thread = threading.Thread(target=copy_context().run, args=(self._send,), name="lineage", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Queue an event without waiting until it is sent."""
        self._events.put(event)

    def close(self, seconds: float) -> str | None:
        """Wait until all events are sent, at most for this many seconds. Returns the error, or None."""
        self._deadline = time.monotonic() + seconds
        self._events.put(None)
        self._thread.join(seconds)
        if self._failure is None and self._thread.is_alive():
            return f"The receiver has not accepted the events within {seconds:g} seconds."
        return self._failure

    def _send(self) -> None:
        """Send events until the queue is closed, or until an event cannot be sent."""
        logging.getLogger(_CLIENT).addHandler(logging.NullHandler())  # otherwise, Python prints the client's warnings
        try:
            from openlineage.client import OpenLineageClient

            client, run_event = OpenLineageClient(), self._build()
            while (event := self._events.get()) is not None:
                client.emit(run_event(event))
            client.close(max(self._deadline - time.monotonic(), 0.1))
        except Exception as error:  # noqa: BLE001 (no error may affect the run)
            self._failure = f"{type(error).__name__}: {error}"

"""SIGTERM and Ctrl-C: a build is cancelled, a pause ends immediately, and ``watch`` exits cleanly."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ..spark.interrupt import InterruptError

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """Whether a signal has requested a stop. Signals are handled in the main thread."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._builds = False
        self._interrupted = False

    @property
    def asked(self) -> bool:
        """Whether to stop."""
        return self._asked.is_set()

    def wait(self, seconds: float) -> bool:
        """Pause for this time, or until a signal arrives. Returns whether a signal has arrived."""
        return self._asked.wait(max(0.0, seconds))

    @contextmanager
    def building(self) -> Iterator[None]:
        """Within the block, the first signal raises InterruptError, after which dbt cancels its statements and ends.

        Raises InterruptError immediately if a signal has already arrived.
        """
        self._builds = True
        try:
            if self.asked:
                self._interrupt("A signal to stop")
            yield
        finally:
            self._builds = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle signals within the block."""
        before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._asked.set()
        if self._builds:
            self._interrupt(signal.Signals(number).name)

    def _interrupt(self, cause: str) -> None:
        if not self._interrupted:  # a second signal would interrupt the handling of the first
            self._interrupted = True
            raise InterruptError(f"{cause}: the running Spark statements were cancelled.")

"""The last line of the terminal, below dbt's log lines."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any, TextIO, cast

_LOG = "stdout_log"
"""The name of the Python logger with which dbt writes to the terminal."""

_ERASE = "\r\x1b[K"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_LEVELS = ("debug", "info")
_USUAL_COLUMNS = 80
"""The assumed width of a terminal of unknown size."""


def wanted(flags: Any, environment: Mapping[str, str]) -> bool:
    """Whether dbt's flags and the environment permit a progress line.

    There is none in CI, with ``--quiet``, for JSON logs and logs of warnings only, and if escape sequences are not
    permitted, for example with ``--no-use-colors``.
    """
    return (
        environment.get("CI", "").lower() in ("", "false", "0")
        and environment.get("TERM", "dumb") != "dumb"
        and not getattr(flags, "QUIET", False)
        and getattr(flags, "USE_COLORS", True)
        and getattr(flags, "LOG_FORMAT", "default") != "json"
        and getattr(flags, "LOG_LEVEL", "info") in _LEVELS
    )


class Terminal:
    """Wraps the stream of dbt's log and of ``print``. Erases the progress line before each write."""

    def __init__(self, handler: logging.StreamHandler[Any]) -> None:
        self._handler = handler
        self._stream: TextIO = handler.stream
        self._lock = threading.Lock()
        self._drawn = False
        handler.setStream(self)
        if sys.stdout is self._stream:
            sys.stdout = cast(TextIO, self)

    @classmethod
    def of_dbt(cls) -> Terminal | None:
        """The terminal to which dbt writes its log. None if the log is not written to a terminal."""
        for handler in logging.getLogger(_LOG).handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream.isatty():
                return cls(handler)
        return None

    @property
    def width(self) -> int:
        """The number of characters that fit on a line."""
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except OSError:
            columns = 0
        return (columns or _USUAL_COLUMNS) - 1

    def draw(self, text: str) -> None:
        """Show a text as the last line. It replaces the previous one."""
        with self._lock:
            self._stream.write(f"{_ERASE}{_DIM}{text}{_PLAIN}")
            self._stream.flush()
            self._drawn = True

    def close(self) -> None:
        """Erase the line, and restore dbt's stream."""
        with self._lock:
            self._erase()
            self._stream.flush()
        if self._handler.stream is self:
            self._handler.setStream(self._stream)
        if sys.stdout is cast(TextIO, self):
            sys.stdout = self._stream

    def write(self, text: str) -> int:
        """Write permanent text, such as a log line of dbt."""
        with self._lock:
            self._erase()
            return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        """The attributes of the wrapped stream."""
        return getattr(self._stream, name)

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(_ERASE)
            self._drawn = False

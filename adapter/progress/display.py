"""The display of running statements, and its thread."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO, cast

from iceberg_incremental.quantities import counted, size_text

from .work import WatchedWork, Work


@dataclass(frozen=True)
class Running:
    """A running statement: its node, its time in seconds, and its progress, if known."""

    name: str
    seconds: float
    work: Work | None = None


def line(running: Sequence[Running], width: int) -> str:
    """All statements in one line of at most ``width`` characters. Statements that do not fit are counted."""
    shown = [_statement(each) for each in running]
    for count in range(len(shown), 0, -1):
        more = len(shown) - count
        text = " | ".join(shown[:count]) + (f" | {more} more" if more else "")
        if len(text) <= width:
            return text
    return shown[0][: max(width - 1, 0)] + "…" if shown else ""


def _statement(running: Running) -> str:
    parts = [*_work(running.work), _duration(running.seconds)]
    return f"{running.name}: {', '.join(parts)}"


def _work(work: Work | None) -> list[str]:
    if work is None or not work.tasks:
        return []
    parts = [f"stage {work.stage} of {work.stages}", f"{work.tasks_done:,} of {work.tasks:,} tasks"]
    if work.rows:
        parts.append(counted(work.rows, "row"))
    if work.bytes:
        parts.append(size_text(work.bytes))
    return parts


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


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


_SHOWN_AFTER = 2.0
_INTERVAL = 0.5
"""The time after which a statement is displayed, and the interval of updates, both in seconds."""


@dataclass(frozen=True)
class _RunningStatement:
    name: str
    handle: object
    began: float


class Display:
    """Displays the statements of all threads that run for longer than two seconds."""

    def __init__(self, flags: Any) -> None:
        """``flags``: dbt's flags."""
        self._wanted = wanted(flags, os.environ)
        self._statements: dict[int, _RunningStatement] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def statement(self, name: str, handle: object) -> Iterator[None]:
        """Display the statement that this thread runs in the block, if it runs for longer than two seconds.

        ``name``: dbt's name of the connection, such as a node's unique id. ``handle``: the connection's handle. For
        nested statements, the outer one is displayed.
        """
        thread = threading.get_ident()
        if not self._wanted or thread in self._statements:
            yield
            return
        with self._changed:
            self._statements[thread] = _RunningStatement(name.rpartition(".")[2], handle, time.monotonic())
            if self._thread is None:
                self._thread = threading.Thread(target=self._show, name="progress", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._changed:
                del self._statements[thread]
                self._changed.notify()

    def _show(self) -> None:
        """Redraw the line until no statement is running."""
        terminal: Terminal | None = None
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: not self._statements, timeout=_INTERVAL)
                    if not self._statements:
                        self._thread = None
                        return
                    statements = list(self._statements.values())
                running = [each for each in statements if time.monotonic() - each.began >= _SHOWN_AFTER]
                if not running:
                    continue
                terminal = terminal or Terminal.of_dbt()
                if terminal is not None:
                    terminal.draw(line([_now(each) for each in running], terminal.width))
        finally:
            if terminal is not None:
                terminal.close()


def _now(statement: _RunningStatement) -> Running:
    work = statement.handle.progress() if isinstance(statement.handle, WatchedWork) else None
    return Running(statement.name, time.monotonic() - statement.began, work)

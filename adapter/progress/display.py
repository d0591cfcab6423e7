"""The display of running statements, and its thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import text
from .terminal import Terminal, wanted
from .work import WatchedWork

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
                    terminal.draw(text.line([_now(each) for each in running], terminal.width))
        finally:
            if terminal is not None:
                terminal.close()


def _now(statement: _RunningStatement) -> text.Running:
    work = statement.handle.progress() if isinstance(statement.handle, WatchedWork) else None
    return text.Running(statement.name, time.monotonic() - statement.began, work)

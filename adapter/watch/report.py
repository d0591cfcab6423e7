"""The reports of ``watch``: a separate thread writes metrics and the status page, so that they are updated in runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass

from ..status.live import Live, RunInProgress
from ..status.model_status import ModelStatus
from .due import Failures
from .log import Log
from .metrics import Metrics
from .version import Version

PAGE_EVERY, PAGE_EVERY_IN_A_RUN = 60.0, 10.0
"""The intervals in seconds at which the page is written if only ages and lags have changed."""
_MOST_EVERY = 10.0
_PATIENCE = 10.0
"""The maximum time in seconds that the end of ``watch`` waits for a write."""


@dataclass(frozen=True)
class Situation:
    """The state of the loop. ``is_busy``: whether it builds or maintains tables, and does not check the metadata."""

    version: Version
    failures: Failures
    run: RunInProgress | None = None
    is_busy: bool = False


class Reporter:
    """Writes the metrics and the page at intervals and after changes, until it is stopped.

    While the loop is busy, this class checks the metadata.
    """

    def __init__(
        self,
        situation: Callable[[], Situation],
        interval: float,
        log: Log,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``interval``: the seconds between two checks. ``clock``: returns seconds since 1970."""
        self._situation = situation
        self._interval = interval
        self._log = log
        self._metrics = metrics
        self._clock = clock
        self._woken = threading.Event()
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        self._looked = 0.0
        self._paged = 0.0
        self._shown: tuple[Mapping[str, ModelStatus] | None, Failures, RunInProgress | None] | None = None
        self._said: dict[str, str] = {}

    def start(self) -> None:
        """Write once, and then continue in a thread. Raises the errors of the first write."""
        situation, now = self._situation(), self._clock()
        self._measure(situation, now)
        self._draw(situation, now)
        context = copy_context()  # dbt's invocation context, which its log needs
        self._thread = threading.Thread(target=context.run, args=(self._go_on,), name="report", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Write soon, because of a change."""
        self._woken.set()

    def stop(self) -> None:
        """End the thread, and write the metrics one last time."""
        self._ends.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)
        self._try("MetricsNotWritten", "", lambda: self._measure(self._situation(), self._clock()))

    def step(self) -> None:
        """Check the metadata while the loop is busy, and write. An error is logged once."""
        situation, now = self._situation(), self._clock()
        if situation.is_busy and now - self._looked >= self._interval:
            self._try("LookFailed", "A check during the run", lambda: self._look(situation))
        self._try("MetricsNotWritten", "", lambda: self._measure(situation, now))
        self._try("ChoreFailed", "the status page", lambda: self._draw(situation, now))

    def _go_on(self) -> None:
        while not self._ends.is_set():
            self._woken.wait(min(self._interval, _MOST_EVERY))
            self._woken.clear()
            self.step()

    def _look(self, situation: Situation) -> None:
        began = time.monotonic()
        self._looked = self._clock()
        situation.version.watched.look()
        if self._metrics is not None:
            self._metrics.looked(self._clock(), time.monotonic() - began)

    def _measure(self, situation: Situation, now: float) -> None:
        if self._metrics is not None:
            statuses, run = situation.version.watched.statuses, situation.run
            self._metrics.show(statuses, situation.failures.nodes, None if run is None else run.began, now)
            self._metrics.write()

    def _draw(self, situation: Situation, now: float) -> None:
        """Write the page if something has changed, or if it is old.

        This reads the metadata of all models. During a run, every model causes a change, so the page is written only at
        intervals.
        """
        if situation.version.page is None:
            return
        statuses = situation.version.watched.statuses if situation.run is None else None
        shown = (statuses, situation.failures, situation.run)
        is_same = self._shown is not None and all(a is b for a, b in zip(shown, self._shown, strict=True))
        every = PAGE_EVERY if situation.run is None else PAGE_EVERY_IN_A_RUN
        if is_same and now - self._paged < every:
            return
        self._shown, self._paged = shown, now
        situation.version.page.write(Live(situation.run, situation.failures.nodes))

    def _try(self, event: str, what: str, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception as error:  # noqa: BLE001 (the thread must continue after any error)
            said = str(error)
            if self._said.get(event) != said:
                message = f"{what} failed: {said}" if what else said
                data = {"chore": what} if event == "ChoreFailed" else {}
                self._log.problem(event, message, error=said, **data)
            self._said[event] = said
        else:
            self._said.pop(event, None)

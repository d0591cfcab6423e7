"""The Prometheus metrics of ``watch``: in a file for a textfile collector, on a port, or both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Summary,
    disable_created_metrics,
    start_http_server,
    write_to_textfile,
)

from ..status.live import Failure
from ..status.model_status import ModelStatus
from . import watch_errors

LOOPBACK = "127.0.0.1"
_PREFIX = "dbt_spark_iceberg"


class Metrics:
    """The metrics of one process. Raises ConfigError if the port cannot be used."""

    def __init__(self, file: Path | None = None, port: int | None = None, address: str = LOOPBACK) -> None:
        """``address``: the address of this machine that serves the port."""
        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = CollectorRegistry()
        self._file = file
        self._failed: set[str] = set()
        self._models: frozenset[str] = frozenset()

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"{_PREFIX}_{name}", text, ("model",), registry=registry)

        self._lag = gauge("lag_seconds", "Seconds since the oldest commit that the model has not read")
        self._rows = gauge("pending_rows", "Rows that the model's next run would read")
        self._commits = gauge("pending_commits", "Commits of its sources that the model has not read")
        self._oldest = gauge(
            "oldest_pending_timestamp_seconds", "Time of the oldest commit that the model has not read"
        )
        self._failing = gauge("failing", "1 if the model is failing, otherwise 0")
        self._success = gauge("last_success_timestamp_seconds", "Time at which this process last built the model")
        self._failures = Counter(f"{_PREFIX}_failures", "Failures of the model", ("model",), registry=registry)
        self._running = Gauge(
            f"{_PREFIX}_run_started_timestamp_seconds", "Start time of the run in progress", registry=registry
        )
        self._runs = Counter(f"{_PREFIX}_runs", "Runs of dbt build", ("outcome",), registry=registry)
        self._run_seconds = Summary(f"{_PREFIX}_run_duration_seconds", "Duration of a run", registry=registry)
        self._poll_seconds = Summary(f"{_PREFIX}_poll_duration_seconds", "Duration of a check", registry=registry)
        self._polled = Gauge(f"{_PREFIX}_last_poll_timestamp_seconds", "End time of the last check", registry=registry)
        if port is not None:
            try:
                start_http_server(port, addr=address, registry=registry)
            except OSError as error:
                raise watch_errors.metrics_not_served(address, port, str(error)) from error

    def show(
        self,
        statuses: Mapping[str, ModelStatus],
        failing: Mapping[str, Failure],
        run_started: float | None,
        now: float,
    ) -> None:
        """Update the metrics of the models. Times are in seconds since 1970.

        ``run_started``: None without a run in progress.
        """
        for model, status in statuses.items():
            lag_ms, oldest_ms = status.lag_ms(int(now * 1000)), status.oldest_pending_ms
            self._lag.labels(model).set(math.nan if lag_ms is None else lag_ms / 1000)
            self._oldest.labels(model).set(math.nan if oldest_ms is None else oldest_ms / 1000)
            self._rows.labels(model).set(status.rows)
            self._commits.labels(model).set(status.commits)
            self._failures.labels(model)
        for model in self._models - statuses.keys():  # no longer watched, because the project has changed
            for gauge in (self._lag, self._oldest, self._rows, self._commits):
                gauge.remove(model)
        self._models = frozenset(statuses)
        self._failed |= failing.keys()
        for node in self._failed | statuses.keys():
            self._failing.labels(node).set(node in failing)
        self._running.set(math.nan if run_started is None else run_started)

    def looked(self, now: float, took: float) -> None:
        """Record a check that ended at ``now``, and took this many seconds."""
        self._poll_seconds.observe(took)
        self._polled.set(now)

    def succeeded(self, model: str, now: float) -> None:
        """Record that a model was built."""
        self._success.labels(model).set(now)

    def failed(self, model: str) -> None:
        """Record that a model has failed."""
        self._failures.labels(model).inc()

    def ran(self, outcome: str, took: float) -> None:
        """Record the end of a run: ``success``, ``failure`` or ``stopped``."""
        self._runs.labels(outcome).inc()
        self._run_seconds.observe(took)

    def write(self) -> None:
        """Write the file, if configured. Raises ConfigError if that fails."""
        if self._file is not None:
            try:
                write_to_textfile(str(self._file), self._registry)  # atomic: it renames a temporary file
            except OSError as error:
                raise watch_errors.metrics_not_written(self._file, str(error)) from error

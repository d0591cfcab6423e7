"""Measures the cost in Spark from its event log, the bytes that its process read, and the CPU time of all processes."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import cpu
from .lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# the cache holds the generated code of all methods, as if each method had its own long-lived Spark
_SPARK = {
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "4g",
    "spark.sql.codegen.cache.maxEntries": "2000",
}
_TASK_END = '{"Event":"SparkListenerTaskEnd"'
_PLANS = tuple(
    f'{{"Event":"org.apache.spark.sql.execution.ui.{name}"'
    for name in ("SparkListenerSQLExecutionStart", "SparkListenerSQLAdaptiveExecutionUpdate")
)
_DRIVER_METRICS = '{"Event":"org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates"'
_FILES = "number of result data files"
"""Iceberg's metric of a scan."""


@dataclass
class Spent:
    """Sums over Spark's tasks: durations in s, rows that scans returned, sizes in bytes.

    ``wall``: the total duration in s. ``whole``: the CPU time in s of this process and Spark's, including planning,
    compilation and garbage collection. ``files``: the number of data files in the planned scans of Iceberg tables.

    ``read``: the bytes that Spark's process read from files, without shuffles, as Linux reports them. It is 0 on other
    systems. Spark's own metrics count little more than the footers of files of Iceberg tables.
    """

    run: float = 0.0
    cpu: float = 0.0
    rows: int = 0
    shuffled: int = 0
    written: int = 0
    tasks: int = 0
    wall: float = 0.0
    read: int = 0
    whole: float = 0.0
    files: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def settings(folder: Path) -> dict[str, str]:
    """The settings with which Spark writes its event log to one plain file in an existing folder."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


@contextmanager
def open_metered_lake(folder: Path) -> Iterator[tuple[Lake, Meter]]:
    """Create a lakehouse, and a meter for its Spark. The folder is emptied first, and removed at the end."""
    folder = folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    log = folder / "event-log"
    log.mkdir(parents=True)
    try:
        lake = Lake(folder, {**_SPARK, **settings(log)})
        try:
            yield lake, Meter(lake.spark, log)
        finally:
            lake.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Meter:
    """Reads the event log of the running Spark."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        process = spark.sparkContext._jvm.java.lang.ProcessHandle.current()
        self._counters = Path("/proc") / str(process.pid()) / "io"
        self._bus = spark.sparkContext._jsc.sc().listenerBus()
        (self._log,) = folder.iterdir()
        self._position = 0

    @contextmanager
    def measuring(self) -> Iterator[Spent]:
        """Measure the block. The returned values are set at the end of the block."""
        spent = Spent()
        self.new_lines()
        read, whole, began = self._read(), cpu.whole(), time.perf_counter()
        yield spent
        wall, whole, read = time.perf_counter() - began, cpu.whole() - whole, self._read() - read
        found = spent_by(self.new_lines())
        for each in fields(spent):
            setattr(spent, each.name, getattr(found, each.name))
        spent.wall, spent.whole, spent.read = wall, whole, max(0, read - spent.shuffled)

    def _read(self) -> int:
        """The bytes that Spark's process has read since it started."""
        if not self._counters.exists():
            return 0
        return int(self._counters.read_text(encoding="ascii").split()[1])

    def new_lines(self) -> list[str]:
        """The complete lines of the log since the last call. Spark flushes the log at the end of each stage."""
        self._bus.waitUntilEmpty()
        with self._log.open("rb") as log:
            log.seek(self._position)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._position += len(whole)
        return whole.decode().splitlines()


def spent_by(lines: Sequence[str]) -> Spent:
    """The cost of tasks and scans in lines of the event log. ``wall``, ``whole`` and ``read`` are 0."""
    return replace(spent_by_tasks(lines), files=files_read(lines))


def spent_by_tasks(lines: Iterable[str]) -> Spent:
    """The sums over all tasks that have ended, including failed ones."""
    total = Spent()
    for line in lines:
        if line.startswith(_TASK_END):
            total += _spent_by_task(json.loads(line).get("Task Metrics") or {})
    return total


def files_read(lines: Iterable[str]) -> int:
    """The number of data files in scans of Iceberg tables, from the metrics of Iceberg's planning."""
    counters: set[int] = set()
    found = 0
    for line in lines:
        if line.startswith(_PLANS):
            counters.update(_counters(json.loads(line)["sparkPlanInfo"]))
        elif line.startswith(_DRIVER_METRICS):
            found += sum(value for counter, value in json.loads(line)["accumUpdates"] if counter in counters)
    return found


def _counters(plan: Mapping[str, Any]) -> Iterator[int]:
    """The ids of the accumulators in a plan that count data files."""
    yield from (each["accumulatorId"] for each in plan["metrics"] if each["name"] == _FILES)
    for child in plan["children"]:
        yield from _counters(child)


def _spent_by_task(metrics: Mapping[str, Any]) -> Spent:
    def number(*path: str) -> int:
        value: Any = metrics
        for key in path:
            value = value.get(key, {})
        return value or 0

    shuffled = ("Remote Bytes Read", "Local Bytes Read")
    return Spent(
        run=number("Executor Run Time") / 1e3,
        cpu=number("Executor CPU Time") / 1e9,
        rows=number("Input Metrics", "Records Read"),
        shuffled=sum(number("Shuffle Read Metrics", key) for key in shuffled),
        written=number("Output Metrics", "Bytes Written"),
        tasks=1,
    )

"""What Spark's tasks spent, according to Spark's event log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TASK_END = '{"Event":"SparkListenerTaskEnd"'


@dataclass
class Spent:
    """Sums over tasks: durations in s, rows that scans returned, sizes in bytes. ``wall``: the whole duration, in s.

    The bytes that scans read are missing: of an Iceberg table, Spark counts hardly more than the files' footers.
    """

    run: float = 0.0
    cpu: float = 0.0
    rows: int = 0
    shuffled: int = 0
    written: int = 0
    tasks: int = 0
    wall: float = 0.0

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


class Meter:
    """Reads the event log of the running Spark, as far as it is written."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._bus = spark.sparkContext._jsc.sc().listenerBus()
        (self._log,) = folder.iterdir()
        self._position = 0

    @contextmanager
    def measuring(self) -> Iterator[Spent]:
        """What the tasks of the block spent; filled in when the block ends."""
        spent = Spent()
        self._new_lines()
        began = time.perf_counter()
        yield spent
        wall = time.perf_counter() - began
        found = spent_by_tasks(self._new_lines())
        for each in fields(spent):
            setattr(spent, each.name, getattr(found, each.name))
        spent.wall = wall

    def _new_lines(self) -> list[str]:
        """The lines that were written since the last call. Spark flushes the log when a stage has completed."""
        self._bus.waitUntilEmpty()
        with self._log.open("rb") as log:
            log.seek(self._position)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._position += len(whole)
        return whole.decode().splitlines()


def spent_by_tasks(lines: Iterable[str]) -> Spent:
    """The sums over the tasks that ended, including failed ones."""
    total = Spent()
    for line in lines:
        if line.startswith(_TASK_END):
            total += _spent_by_task(json.loads(line).get("Task Metrics") or {})
    return total


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

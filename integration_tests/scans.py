"""The files, rows and bytes that Spark read, according to the metrics of its scans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

FILES = "number of file splits read"
ROWS = "number of output rows"
BYTES = "total data file size (bytes)"


@dataclass(frozen=True)
class Read:
    """Data files, their rows and their size in bytes."""

    files: int = 0
    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Read) -> Read:
        return Read(self.files + other.files, self.rows + other.rows, self.bytes + other.bytes)


class ScanMeter:
    """Reads the metrics of the statements that the Spark application has run since the last `mark`, in any session.

    The data files of the demo are far smaller than a split, so each split is one file.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._listeners = spark.sparkContext._jsc.sc().listenerBus()
        self._store = spark._jsparkSession.sharedState().statusStore()
        self._seen = -1

    def mark(self) -> None:
        """Ignores all statements so far."""
        self._seen = max((execution.executionId() for execution in self._executions()), default=self._seen)

    def read(self, source: str, target: str) -> Read:
        """What statements that wrote the table `target` read from the table `source`. The names include the catalog."""
        catalog, _, name = target.partition(".")
        # The plan of a CREATE TABLE AS names its table without the catalog.
        written = re.compile(rf"table=({re.escape(catalog)}\.)?{re.escape(name)}\b")
        return sum(
            (
                self._scan(execution.executionId(), node)
                for execution in self._executions()
                if execution.executionId() > self._seen and written.search(execution.physicalPlanDescription())
                for node in _items(self._store.planGraph(execution.executionId()).allNodes())
                if node.name() == f"BatchScan {source}"
            ),
            Read(),
        )

    def _executions(self) -> list[Any]:
        self._listeners.waitUntilEmpty()
        return _items(self._store.executionsList())

    def _scan(self, execution: int, node: Any) -> Read:
        values = self._store.executionMetrics(execution)
        found = {metric.name(): values.get(metric.accumulatorId()) for metric in _items(node.metrics())}
        numbers = {
            name: int(value.get().replace(",", ""))
            for name, value in found.items()
            if value.isDefined() and name in (FILES, ROWS, BYTES)
        }
        return Read(numbers.get(FILES, 0), numbers.get(ROWS, 0), numbers.get(BYTES, 0))


def _items(sequence: Any) -> list[Any]:
    """The items of a Scala sequence."""
    return [sequence.apply(index) for index in range(sequence.size())]

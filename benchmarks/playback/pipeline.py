"""One pipeline on one history: the landed tables, and the tables of the methods that process them day by day."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..lake import CATALOG, Invocation, Lake, run_dbt, write_profile
from ..meter import Meter
from .events import WINDOW, Stream, day
from .outcome import Step

PROJECT = Path(__file__).resolve().parent / "project"
PLAYBACK, ADS = "playback", "ad_impressions"
_LANDED: dict[str, Callable[[Stream, int, int], str]] = {PLAYBACK: Stream.playback, ADS: Stream.ad_impressions}


@dataclass
class Pipeline:
    """A history with its own schemas: ``<name>_raw``, and ``<name>_<way>`` for each method.

    ``today``: the last landed day, counted from 0.
    """

    lake: Lake
    meter: Meter
    stream: Stream
    name: str
    landed: tuple[str, ...] = (PLAYBACK, ADS)
    today: int = -1
    steps: list[Step] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The folder of dbt's files."""
        return self.lake.folder / self.name

    def table(self, way: str, table: str) -> str:
        """A table's name in Spark."""
        return f"{CATALOG}.{self.name}_{way}.{table}"

    def raw(self, table: str) -> str:
        """A landed table's name in Spark."""
        return self.table("raw", table)

    def land_history(self, last: int, days: int, files: int = 0) -> None:
        """Land ``days`` days up to and including day ``last``, in one commit per table with about ``files`` files.

        By default, there is one file per date.
        """
        write_profile(self.folder, "playback", {**self.lake.target, "schema": self.name})
        self.lake.sql(f"create schema {CATALOG}.{self.name}_raw")
        for table in self.landed:
            rows = _LANDED[table](self.stream, last - days + 1, days)
            if parts := round(files / (days + WINDOW - 1)):
                rows = f"select /*+ repartition({parts}) */ * from ({rows})"
            # with mode none, each of the parts has all dates, and writes one file per date
            mode = "none" if parts else "hash"
            properties = f"tblproperties ('write.distribution-mode' = '{mode}')"
            name = self.raw(table)
            self.lake.sql(f"create table {name} using iceberg partitioned by (event_date) {properties} as {rows}")
            self.lake.sql(f"alter table {name} set tblproperties ('write.distribution-mode' = 'hash')")
        self.today = last

    def land(self) -> None:
        """Land the next day, in one commit per table."""
        self.today += 1
        for table in self.landed:
            self.lake.sql(f"insert into {self.raw(table)} {_LANDED[table](self.stream, self.today, 1)}")

    def copy(self, way: str, like: str, tables: Iterable[str]) -> None:
        """Copy the tables of method ``like`` for method ``way``."""
        self.lake.sql(f"create schema if not exists {CATALOG}.{self.name}_{way}")
        for table in tables:
            self.lake.sql(
                f"create table {self.table(way, table)} using iceberg partitioned by (event_date)"
                f" as select * from {self.table(like, table)}"
            )

    def build(self, models: Iterable[str]) -> None:
        """Build models for the first time."""
        self.dbt("--select", *models)

    def dbt(self, *arguments: str) -> Invocation:
        """``dbt run`` of the project for today."""
        return run_dbt(PROJECT, self.folder, "--vars", json.dumps({"day": str(day(self.today))}), *arguments)

    @contextmanager
    def measuring(self, way: str, stage: str) -> Iterator[None]:
        """Record the cost of the block as today's step of a method."""
        with self.meter.measuring() as spent:
            yield
        self.steps.append(Step(self.name, way, stage, self.today, spent))
        print(
            f"{self.name:>12} {day(self.today)} {way:>22} {stage:<13} {spent.run:7.2f} s of executors,"
            f" {spent.cpu:6.2f} s of CPU, {spent.wall:6.2f} s in all",
            flush=True,
        )

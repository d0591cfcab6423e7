"""Measures repeated runs of one model after changes of a few rows of a small table, in one long-lived Spark."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .. import check, cpu
from ..lake import CATALOG, RAW, Lake
from ..merged import by_hand, changes
from ..merged.cases import DEFAULT_LAYOUT, FOREIGN, Case, properties
from ..meter import Meter
from .ways import CHANGES, FEED, REBUILD, SOURCE, WAYS, Way

WARM_UP_ROUNDS = 3
_PROPERTIES = properties(DEFAULT_LAYOUT)


@dataclass(frozen=True)
class Size:
    """The numbers of a source's rows and files, and of measured rounds after the warm-up.

    ``percent``: the share of the rows that change in each round, scattered over all files.
    """

    name: str
    rows: int
    files: int
    rounds: int
    percent: float = 1


@dataclass(frozen=True)
class Cost:
    """The cost in s of one model, from its start to its end.

    ``whole``: the CPU time of all processes. ``wall``: the duration. ``executors``: the executors' CPU time during the
    command. ``command``: the CPU time and the duration of the whole ``dbt run``.
    """

    whole: float
    wall: float
    executors: float
    command: tuple[float, float]


def measure(lake: Lake, meter: Meter, size: Size) -> dict[str, list[Cost]]:
    """The costs of each method in each measured round. Raises ValueError if a table is wrong."""
    return OneModel(lake, meter, size).measure()


class OneModel:
    """The tables of one size, and a project with a model for each method."""

    def __init__(self, lake: Lake, meter: Meter, size: Size) -> None:
        self._lake, self._meter, self._size = lake, meter, size
        self._case = Case(percent=size.percent, writer=FOREIGN)
        schema = f"{RAW}_{size.name}"
        self._source, self._feed, self._changes = (f"{CATALOG}.{schema}.{name}" for name in (SOURCE, FEED, CHANGES))
        self._project = lake.project(size.name)
        self._project.sources(SOURCE, FEED, database=CATALOG, schema=schema)
        for way in WAYS:
            if way.sql is not None:
                self._project.model(way.name, way.sql, **way.config)
        lake.sql(f"create schema {CATALOG}.{schema}")
        first = f"select /*+ repartition_by_range({size.files}, id) */ * from ({changes.first_rows(size.rows)})"
        for table in (self._source, self._feed):
            lake.sql(by_hand.table_as(table, _PROPERTIES, first))

    def measure(self) -> dict[str, list[Cost]]:
        """See the function ``measure``."""
        self._project.run()
        for way in WAYS:
            if way.sql is None:
                query = f"select * from {self._source}"
                self._lake.sql(by_hand.table_as(self._table(way.name), _PROPERTIES, query))
        costs: dict[str, list[Cost]] = {way.name: [] for way in WAYS}
        for number in range(1, WARM_UP_ROUNDS + self._size.rounds + 1):
            self._change(number)
            for way in WAYS[:: 1 if number % 2 else -1]:
                cost = self._run(way)
                print(
                    f"  {self._size.name} round {number:2} {way.name:<15} {cost.whole:6.2f} s of CPU,"
                    f" {cost.executors:5.2f} s of executors, {cost.wall:5.2f} s; command {cost.command[0]:6.2f} s,"
                    f" {cost.command[1]:5.2f} s",
                    flush=True,
                )
                if number > WARM_UP_ROUNDS:
                    costs[way.name].append(cost)
        self._check()
        return costs

    def _table(self, name: str) -> str:
        return f"{CATALOG}.{self._size.name}.{name}"

    def _change(self, number: int) -> None:
        made = changes.changes(self._case, self._source, self._size.rows, number)
        self._lake.sql(by_hand.table_as(self._changes, _PROPERTIES, f"select /*+ coalesce(1) */ * from ({made})"))
        self._lake.sql(by_hand.merge_changes(self._source, self._changes))
        self._lake.sql(f"insert into {self._feed} select * except (_change_type) from {self._changes}")

    def _run(self, way: Way) -> Cost:
        with self._meter.measuring() as spent:
            if way.sql is not None:
                invocation = self._project.run("--select", way.name)
                whole, wall = invocation.cpu[way.name], invocation.models[way.name]
            else:
                before, began = cpu.whole(), time.perf_counter()
                self._lake.sql(by_hand.merge_changes(self._table(way.name), self._changes))
                whole, wall = cpu.whole() - before, time.perf_counter() - began
        return Cost(whole, wall, spent.cpu, (spent.whole, spent.wall))

    def _check(self) -> None:
        for way in WAYS:
            ours = self._table(way.name)
            if not way.exact:
                ours = f"(select * from {ours} where id in (select id from {self._table(REBUILD)}))"
            check.require_same_sums(self._lake, self._table(way.rebuild), ours)

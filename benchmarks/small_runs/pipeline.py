"""Compares a pipeline of many small models in three stages with the same models as ``materialized='table'``."""

from __future__ import annotations

from dataclasses import dataclass

from .. import check
from ..lake import CATALOG, RAW, Lake, Project
from ..merged import by_hand, changes
from ..merged.cases import DEFAULT_LAYOUT, FOREIGN, Case, properties
from ..merged.changes import KEY, LISTED
from ..meter import Meter
from .ways import CHANGES

SOURCES, MODELS, THREADS, PERCENT = 10, 50, 4, 1
WARM_UP_ROUNDS = 2
_PROPERTIES = properties(DEFAULT_LAYOUT)
OURS, PLAIN, REBUILT = "kept", "plain", "rebuilt"
"""The projects: with macros and strategies, with plain SQL and the strategy ``auto``, and with rebuilds."""
_OURS = "iceberg_incremental_snapshot"
_MERGE = {"materialized": _OURS, "incremental_strategy": "merge", "unique_key": "group_id"}
_MIRROR = {"materialized": _OURS, "incremental_strategy": "apply_changes"}
_WITHOUT_MACROS = {PLAIN: {"materialized": _OURS, "incremental_strategy": "auto"}, REBUILT: {"materialized": "table"}}


@dataclass(frozen=True)
class Cost:
    """The cost of one ``dbt run`` of the pipeline in s."""

    whole: float
    wall: float
    executors: float


class Pipeline:
    """Tables that are merged into, logs that are appended to, and three projects with 50 models that read them.

    Stage 1: a filtered mirror of each table, and a filtered copy of each log. Stage 2: sums by group of each of these.
    Stage 3: for the sums of each mirror, a mirror with an additional column.
    """

    def __init__(self, lake: Lake, meter: Meter, rows: int, files: int) -> None:
        self._lake, self._meter, self._rows = lake, meter, rows
        self._case = Case(percent=PERCENT, writer=FOREIGN)
        self._schema = f"{RAW}_pipeline"
        lake.sql(f"create schema {CATALOG}.{self._schema}")
        first = f"select /*+ repartition_by_range({files}, id) */ * from ({changes.first_rows(rows)})"
        for number in range(SOURCES):
            for name in ("merged", "log"):
                lake.sql(by_hand.table_as(self._source(f"{name}_{number}"), _PROPERTIES, first))
        self._projects = {name: self._project(name) for name in (OURS, PLAIN, REBUILT)}

    def measure(self, rounds: int) -> dict[str, list[Cost]]:
        """The costs of each project in each measured round. Raises ValueError if their tables differ."""
        costs: dict[str, list[Cost]] = {name: [] for name in self._projects}
        for project in self._projects.values():
            project.run()
        for number in range(1, WARM_UP_ROUNDS + rounds + 1):
            self._change(number)
            for name in list(self._projects)[:: 1 if number % 2 else -1]:
                with self._meter.measuring() as spent:
                    self._projects[name].run()
                print(
                    f"  pipeline round {number:2} {name:<8} {spent.whole:7.2f} s of CPU,"
                    f" {spent.cpu:6.2f} s of executors, {spent.wall:6.2f} s",
                    flush=True,
                )
                if number > WARM_UP_ROUNDS:
                    costs[name].append(Cost(spent.whole, spent.wall, spent.cpu))
        for name in self._models:
            kept = [f"{CATALOG}.{project}.{name}" for project in (OURS, PLAIN)]
            check.require_same_sums(self._lake, f"{CATALOG}.{REBUILT}.{name}", *kept)
        return costs

    def _source(self, name: str) -> str:
        return f"{CATALOG}.{self._schema}.{name}"

    @property
    def _models(self) -> list[str]:
        stages = {"mirror": SOURCES, "log": SOURCES, "sums": 2 * SOURCES, "report": SOURCES}
        return [f"{stage}_{number}" for stage, count in stages.items() for number in range(count)]

    def _project(self, name: str) -> Project:
        project = self._lake.project(name, threads=THREADS)
        sources = [f"{kind}_{number}" for kind in ("merged", "log") for number in range(SOURCES)]
        project.sources(*sources, database=CATALOG, schema=self._schema)

        def model(table: str, sql: str, macro: str, arguments: str, config: dict[str, str]) -> None:
            relation = sql.partition("{")[2].partition("}")[0]
            read = f"{{{{ {macro}({relation}{arguments}) }}}}" if name == OURS else f"{{{{ {relation} }}}}"
            text = sql.replace(f"{{{relation}}}", read)
            if name != OURS:
                text = text.replace(", _change_type", "")
            project.model(table, text, **_WITHOUT_MACROS.get(name, config))

        for number in range(SOURCES):
            merged, log = (f"{{source('raw', '{kind}_{number}')}}" for kind in ("merged", "log"))
            key = {**_MIRROR, "unique_key": KEY}
            of_key, of_group = f", unique_key='{KEY}'", ", unique_key='group_id'"
            mirrored = f"select {LISTED}, _change_type from {merged} where status <> {number % 8}"
            model(f"mirror_{number}", mirrored, "ip_changelog", of_key, key)
            append = {"materialized": _OURS, "incremental_strategy": "append"}
            model(f"log_{number}", f"select {LISTED} from {log} where status <> {number % 8}", "ip_changes", "", append)
            for place, stage in enumerate(("mirror", "log")):
                sums = by_hand.SUMS.format(f"{{ref('{stage}_{number}')}}")
                model(f"sums_{2 * number + place}", sums, "ip_changed_groups", ", 'group_id'", _MERGE)
            columns = "group_id, members, balance, balance / members as mean, _change_type"
            report = f"select {columns} from {{ref('sums_{2 * number}')}}"
            model(f"report_{number}", report, "ip_changelog", of_group, {**_MIRROR, "unique_key": "group_id"})
        return project

    def _change(self, number: int) -> None:
        made = self._source(CHANGES)
        for place in range(SOURCES):
            merged, log = (self._source(f"{kind}_{place}") for kind in ("merged", "log"))
            query = changes.changes(self._case, merged, self._rows, number)
            self._lake.sql(by_hand.table_as(made, _PROPERTIES, f"select /*+ coalesce(1) */ * from ({query})"))
            self._lake.sql(by_hand.merge_changes(merged, made))
            self._lake.sql(f"insert into {log} select * except (_change_type) from {made}")

"""Measures rounds of changes. In each round, the tables of each query are updated with both methods, and rebuilt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .. import check
from ..auto_models import AUTO, REBUILD, TABLE, ModelRun, run
from ..lake import CATALOG, RAW, Lake
from ..meter import Meter
from . import data

WAYS = ("auto", "other", "rebuild", "as_table", "table")
"""The models of a query. dbt runs them in the order of their names, so ``auto`` runs between the two tables."""
WARM_UP_ROUNDS = 1
"""The number of rounds of each series before the measured ones."""


@dataclass(frozen=True)
class Measurement:
    """One query in one round.

    ``as_table``, ``table``: the query with ``materialized='table'``, right before and right after ``auto``, because the
    model that reads the changed files of a round first pays more. ``other``: the run of a model that must use the
    method that the ``auto`` model did not choose; None if there is no other method. ``rebuild``: if the ``auto`` model
    chose a rebuild, the run of a model that rebuilds without counting affected keys. ``all_keys``: the number of keys
    in the table; None if the ``auto`` model has no key.
    """

    query: str
    series: str
    round: int
    as_table: ModelRun
    auto: ModelRun
    table: ModelRun
    other: ModelRun | None
    rebuild: ModelRun | None
    all_keys: int | None

    @property
    def share(self) -> float | None:
        """The share of affected keys, if they were counted."""
        keys = self.auto.taken.keys
        return None if keys is None else min(1.0, keys / max(self.all_keys or 1, 1))


class Queries:
    """The tables of TPC-H, and the models of each query: ``auto``, the other method, and rebuilds."""

    def __init__(self, lake: Lake, meter: Meter, scale: float, names: Sequence[str]) -> None:
        self._lake, self._meter = lake, meter
        self._queries = {name: sql for name, sql in data.queries().items() if name in names}
        data.load(lake, scale, lake.folder / "generated")
        self._project = lake.project("tpch")
        self._project.sources(*data.TABLES, database=CATALOG, schema=RAW)
        for name, sql in self._queries.items():
            self._project.model(f"{name}_auto", sql, **AUTO)
            self._project.model(f"{name}_other", sql, **AUTO)
            self._project.model(f"{name}_rebuild", sql, **AUTO, rebuild_above=0)
            for way in ("as_table", "table"):
                self._project.model(f"{name}_{way}", sql, **TABLE)

    def measure(self, rounds: Mapping[str, int], file: Path) -> list[Measurement]:
        """The measurements of all rounds after the warm-up. Raises ValueError if a table is wrong.

        ``rounds``: the number of measured rounds of each series. ``file``: the file to which the measurements of each
        round are written at its end, as lines of JSON.
        """
        found: list[Measurement] = []
        print("  first build", flush=True)
        run(self._project, self._meter)
        number = 0
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("", encoding="utf-8")
        for series, count in rounds.items():
            for place in range(1, WARM_UP_ROUNDS + count + 1):
                number += 1
                data.change(self._lake, series, number)
                measured = self._round(series, number)
                if place > WARM_UP_ROUNDS:
                    found += measured
                    with file.open("a", encoding="utf-8") as lines:
                        lines.writelines(json.dumps(asdict(one)) + "\n" for one in measured)
        return found

    def _round(self, series: str, number: int) -> list[Measurement]:
        chosen = [f"{name}_{way}" for name in self._queries for way in ("as_table", "auto", "table")]
        found = run(self._project, self._meter, "--select", *chosen)
        others = []
        for name, sql in self._queries.items():
            taken = found[f"{name}_auto"].taken
            if taken.has_other_way:
                others.append(f"{name}_other")
                self._project.model(others[-1], sql, **AUTO, rebuild_above=1 if taken.way == REBUILD else 0)
                if taken.way == REBUILD:
                    others.append(f"{name}_rebuild")
        if others:
            found |= run(self._project, self._meter, "--select", *others)
        measured = []
        for name in self._queries:
            before, auto, table = (found[f"{name}_{way}"] for way in ("as_table", "auto", "table"))
            other, rebuild = found.get(f"{name}_other"), found.get(f"{name}_rebuild")
            self._check(name, {way: found[f"{name}_{way}"] for way in WAYS if f"{name}_{way}" in found})
            other = None if other is None else other_method(name, auto, other)
            keys = self._all_keys(name, auto)
            measured.append(Measurement(name, series, number, before, auto, table, other, rebuild, keys))
            print(_line(measured[-1]), flush=True)
        return measured

    def _check(self, name: str, found: Mapping[str, ModelRun]) -> None:
        """Raise ValueError if a table is wrong."""
        kept = [self._table(f"{name}_{way}") for way in found if way != "table"]
        check.require_same_rows(self._lake, self._table(f"{name}_table"), *kept)

    def _all_keys(self, name: str, auto: ModelRun) -> int | None:
        if not auto.taken.key:
            return None
        distinct = f"select distinct {', '.join(auto.taken.key)} from {self._table(f'{name}_auto')}"
        return check.rows(self._lake, f"({distinct})")

    def _table(self, name: str) -> str:
        return f"{CATALOG}.{self._project.name}.{name}"


def other_method(name: str, auto: ModelRun, other: ModelRun) -> ModelRun | None:
    """The run that used the other method. None if a rebuild is the only one, because each change affects all rows.

    ``auto`` does not find this out if its estimate already favors a rebuild. Raises ValueError if both runs used the
    same method although there are two.
    """
    if (auto.taken.way == REBUILD) != (other.taken.way == REBUILD):
        return other
    if auto.taken.way == REBUILD and not other.taken.has_other_way:
        return None
    raise ValueError(f"{name}_other should not have taken the way of {name}_auto: {other.taken}")


def _line(found: Measurement) -> str:
    parts = [f"  {found.series} round {found.round} {found.query} {found.auto.taken.way:<15}"]
    parts += [
        f"{label} {run.whole:6.2f} s of CPU, {run.wall:5.2f} s, {run.files:3} files"
        for label, run in ((way, getattr(found, way)) for way in WAYS)
        if run is not None
    ]
    return "; ".join(parts)

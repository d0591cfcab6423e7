"""The models as projects: one with ``auto``, one that rebuilds its tables, and one that never chooses to rebuild."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import auto_models, check
from ..auto_models import AUTO, REBUILD, TABLE, ModelRun, run
from ..lake import CATALOG, RAW, Lake, Project
from ..meter import Meter
from .data import CHANGED, SHARES, SOURCES, Data

MODELS_FOLDER = Path(__file__).parent / "project" / "models"
LAYERS = ("bronze", "silver", "gold", "analytics")
MODELS = tuple(path.stem for layer in LAYERS for path in sorted((MODELS_FOLDER / layer).glob("*.sql")))
BUILD = 1
"""The batch of the initial load."""
BATCHES = (BUILD, *SHARES, CHANGED)
KEPT, REBUILT, NEVER = "auto", "table", "never"
"""The projects: all models ``auto``, all ``table``, and all ``auto`` with ``rebuild_above: 1``."""
_CONFIGS: Mapping[str, Mapping[str, Any]] = {KEPT: AUTO, REBUILT: TABLE, NEVER: {**AUTO, "rebuild_above": 1}}


@dataclass(frozen=True)
class Size:
    """The number of trades in the initial load, and a name that is part of the names of schemas."""

    name: str
    trades: int


@dataclass(frozen=True)
class Round(auto_models.Round):
    """The cost of a ``dbt run`` after a batch."""

    batch: int


class Pipeline:
    """The sources of one size, and the projects that read them. ``ways``: the names of the projects."""

    def __init__(self, lake: Lake, meter: Meter, size: Size, ways: Sequence[str]) -> None:
        self._lake, self._meter, self._size = lake, meter, size
        self._data = Data(f"{RAW}_{size.name}", size.trades)
        self._projects = {way: self._project(way) for way in ways}

    def measure(self, batches: Iterable[int] = BATCHES, *, is_compared: bool = True) -> dict[str, list[Round]]:
        """The cost of each project after each batch, by the name of the project.

        Raises ValueError if a table differs from its rebuild, unless the tables are not compared.
        """
        found: dict[str, list[Round]] = {way: [] for way in self._projects}
        for batch in batches:
            if batch == BUILD:
                self._data.make(self._lake)
            else:
                self._data.change(self._lake, batch)
            for way in list(self._projects)[:: 1 if batch % 2 else -1]:
                found[way].append(self._round(way, batch))
            if is_compared:
                self._check()
        return found

    def _project(self, way: str) -> Project:
        project = self._lake.project(f"{way}_{self._size.name}")
        project.models(MODELS_FOLDER, **_CONFIGS[way])
        project.sources(*SOURCES, database=CATALOG, schema=self._data.schema)
        return project

    def _round(self, way: str, batch: int) -> Round:
        with self._meter.measuring() as spent:
            models = run(self._projects[way], self._meter)
        found = Round(spent.whole, spent.wall, models, batch)
        title = f"{self._size.name}, {self._size.trades:,} trades, batch {batch}, {way}"
        print(f"  {title}: {found.whole:.2f} s of CPU, {found.wall:.2f} s", flush=True)
        for name in models:
            print(f"    {_line(name, models[name])}", flush=True)
        return found

    def _check(self) -> None:
        """Raise ValueError if a table differs from its rebuild."""
        expected = self._projects[REBUILT].name
        kept = [project.name for way, project in self._projects.items() if way != REBUILT]
        for name in MODELS:
            tables = [f"{CATALOG}.{schema}.{name}" for schema in (expected, *kept)]
            check.require_same_rows(self._lake, *tables)


def _line(name: str, found: ModelRun) -> str:
    reason = f"; {found.taken.reason}" if found.taken.way == REBUILD else ""
    return (
        f"{name:<28} {found.taken.way:<21} {found.whole:6.2f} s of CPU, {found.executors:6.2f} s of executors,"
        f" {found.wall:6.2f} s, {found.rows:9,} rows{reason}"
    )

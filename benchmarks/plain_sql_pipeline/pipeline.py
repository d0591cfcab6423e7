"""The pipeline as two projects: one updates its tables incrementally, and the other rebuilds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import check
from ..auto_models import AUTO, TABLE, ModelRun, Round, run
from ..lake import CATALOG, RAW, Lake, Project
from ..meter import Meter
from .data import SOURCES, Data

STAGES = (
    ("events", "orders", "order_lines", "customers"),
    ("events_deduplicated", "session_funnels", "order_details", "order_totals"),
    ("daily_sales", "customer_value", "daily_funnel", "daily_active_users"),
)
MODELS = tuple(name for stage in STAGES for name in stage)
WARM_UP_ROUNDS = 4
"""The number of days until Java has compiled most of Spark's planner. The last of them also rebuilds the tables."""
KEPT, BY_HAND, REBUILT = "kept", "by_hand", "rebuilt"
"""The commands: all models as ``auto``, some models written by hand, and all models as ``table``."""

_FOLDER = Path(__file__).parent
_OURS = "iceberg_incremental_snapshot"


@dataclass(frozen=True)
class ByHand:
    """A model that is also written by hand with the macros. ``pattern``: its pattern in docs/patterns.md."""

    pattern: str
    config: Mapping[str, Any]


BY_HAND_MODELS = {
    "events": ByHand("A, `ip_changes`, append", {"incremental_strategy": "append"}),
    "orders": ByHand(
        "A, `ip_changelog`, apply_changes", {"incremental_strategy": "apply_changes", "unique_key": "order_id"}
    ),
    "session_funnels": ByHand(
        "B, `ip_changed_groups`, merge",
        {"incremental_strategy": "merge", "unique_key": ["platform", "session_id"]},
    ),
    "daily_active_users": ByHand(
        "B, `ip_changed_groups`, merge", {"incremental_strategy": "merge", "unique_key": ["event_on", "platform"]}
    ),
}


class Pipeline:
    """The sources, and the projects that read them."""

    def __init__(self, lake: Lake, meter: Meter, rows: int) -> None:
        self._lake, self._meter = lake, meter
        self.first_day = 0.0
        """The CPU time in s of all processes for the ``auto`` models on the first day with changes."""
        self._data = Data(rows)
        self._data.make(lake)
        self._kept, self._rebuilt = (lake.project(name) for name in (KEPT, REBUILT))
        for project, config in ((self._kept, AUTO), (self._rebuilt, TABLE)):
            project.sources(*SOURCES, database=CATALOG, schema=RAW)
            for name in MODELS:
                project.model(name, _sql("models", name), **config)
        for name, model in BY_HAND_MODELS.items():
            self._kept.model(by_hand_name(name), _sql("by_hand", name), materialized=_OURS, **model.config)

    def measure(self, rounds: int) -> dict[str, list[Round]]:
        """The cost of each command in each measured round. Raises ValueError if a table is wrong."""
        commands: dict[str, tuple[Project, Sequence[str]]] = {
            KEPT: (self._kept, MODELS),
            BY_HAND: (self._kept, [by_hand_name(name) for name in BY_HAND_MODELS]),
            REBUILT: (self._rebuilt, MODELS),
        }
        found: dict[str, list[Round]] = {name: [] for name in commands}
        for day in range(WARM_UP_ROUNDS + rounds + 1):
            if day:
                self._data.change(self._lake, day)
            is_compared = day == 0 or day >= WARM_UP_ROUNDS
            # models written by hand read tables of auto models, so they run after them
            order = list(commands) if day % 2 else [REBUILT, KEPT, BY_HAND]
            for name in order:
                if name == REBUILT and not is_compared:
                    continue
                project, chosen = commands[name]
                with self._meter.measuring() as spent:
                    models = run(project, self._meter, "--select", *chosen)
                print(f"  day {day} {name:<8} {spent.whole:7.2f} s of CPU, {spent.wall:7.2f} s", flush=True)
                for model in models:
                    print(f"    {_line(model, models[model])}", flush=True)
                if day == 1 and name == KEPT:
                    self.first_day = spent.whole
                if day > WARM_UP_ROUNDS:
                    found[name].append(Round(spent.whole, spent.wall, models))
            if is_compared:
                self._check()
        return found

    def _check(self) -> None:
        """Raise ValueError if a table differs from its rebuild."""
        for name in MODELS:
            tables = [name, by_hand_name(name)] if name in BY_HAND_MODELS else [name]
            kept = [f"{CATALOG}.{KEPT}.{table}" for table in tables]
            check.require_same_sums(self._lake, f"{CATALOG}.{REBUILT}.{name}", *kept)


def by_hand_name(name: str) -> str:
    """The name of the model with the same rows that is written by hand."""
    return f"{name}_by_hand"


def _sql(folder: str, name: str) -> str:
    return (_FOLDER / folder / f"{name}.sql").read_text(encoding="utf-8")


def _line(name: str, found: ModelRun) -> str:
    return (
        f"{name:<26} {found.taken.way:<15} {found.whole:6.2f} s of CPU, {found.executors:6.2f} s of executors,"
        f" {found.wall:6.2f} s, {found.files:4} files"
    )

"""Converts measurements to tables. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from ..meter import Spent
from ..results import Table
from .events import WINDOW
from .outcome import Outcome, Step
from .ways import (
    ACCOUNT_DAYS,
    ACCOUNT_TITLES,
    AD_VIEWS,
    ADDED,
    CHANGED,
    CHANGELOG,
    EVENTS,
    FLOOR,
    IPS,
    LOOKBACK,
    MICROBATCH,
    REBUILD,
    STAGES,
    STREAMING,
    WATERMARK,
    base,
)

MIB = 1 << 20

TITLES = {EVENTS: "events", ACCOUNT_DAYS: "account days", ACCOUNT_TITLES: "account titles", AD_VIEWS: "ad views"}
LABELS = {
    (LOOKBACK, EVENTS): f"lookback of {WINDOW} days",
    (IPS, EVENTS): "`ip_changes`, append",
    (IPS, ACCOUNT_DAYS): "`ip_changed_groups`, merge",
    (IPS, ADDED): "`ip_changes` summed and added, merge",
    (IPS, ACCOUNT_TITLES): "`ip_changed_groups`, merge",
    (IPS, AD_VIEWS): "`ip_range`, insert_overwrite",
    (IPS, CHANGED): "`ip_changed_groups`, merge",
    (WATERMARK, EVENTS): "`max(event_at)` watermark",
    (MICROBATCH, EVENTS): f"dbt microbatch, {WINDOW} batches",
    (REBUILD, EVENTS): "full rebuild",
    (FLOOR, EVENTS): "floor: INSERT of the range",
    (FLOOR, ACCOUNT_DAYS): "floor: the range read and summed",
    (CHANGELOG, EVENTS): "changelog view, MERGE",
    (STREAMING, EVENTS): "Structured Streaming",
}
_AIMS = {(IPS, EVENTS): 0.10, (IPS, ACCOUNT_DAYS): 0.50, (IPS, ADDED): 0.50, (IPS, ACCOUNT_TITLES): 0.50}
_GROWTH = 1.05
OURS = [name for (way, _), name in LABELS.items() if way == IPS]
"""The titles of the methods of this package."""
_WAYS = (LOOKBACK, IPS, FLOOR, WATERMARK, STREAMING, CHANGELOG, MICROBATCH, REBUILD)


def label(way: str, stage: str) -> str:
    """The title of a method for a stage."""
    return LABELS.get((way, stage)) or LABELS[way, EVENTS]


@dataclass
class Days:
    """The cost of a method for a stage, day by day."""

    history: str
    way: str
    stage: str
    spent: dict[int, Spent]

    def values(self, name: str) -> list[float]:
        """One figure of Spent, day by day."""
        return [getattr(each, name) for _, each in sorted(self.spent.items())]

    def mean(self, name: str) -> float:
        """The mean per day of one figure of Spent."""
        return sum(self.values(name)) / len(self.spent)

    def ratio(self, other: Days, name: str) -> float:
        """The ratio of one figure's sums over the days on which both methods ran."""
        shared = self.spent.keys() & other.spent.keys()
        ours, theirs = (sum(getattr(each.spent[day], name) for day in shared) for each in (self, other))
        return float(ours / theirs)


def by_stage(steps: Iterable[Step]) -> dict[tuple[str, str, str], Days]:
    """The steps by history, method and stage."""
    found: dict[tuple[str, str, str], Days] = {}
    for step in steps:
        key = (step.history, step.way, step.stage)
        found.setdefault(key, Days(*key, {})).spent[step.day] = step.spent
    return found


def measured(steps: Iterable[Step]) -> dict[str, list[float]]:
    """All figures of all days, by name."""
    return {
        f"{days.history}.{days.way}.{days.stage}.{each.name}": days.values(each.name)
        for days in by_stage(steps).values()
        for each in fields(Spent)
    }


def compared(steps: Sequence[Step], stage: str) -> list[Days]:
    """The methods that build the table of a stage. The lookback is first."""
    found = [days for days in by_stage(steps).values() if base(days.stage) == stage]
    return sorted(found, key=_order)


def _order(days: Days) -> tuple[int, ...]:
    return STAGES.index(base(days.stage)), _WAYS.index(days.way), STAGES.index(days.stage)


def _aim(value: float, aim: float | None) -> str:
    if aim is None:
        return ""
    return f"≤ {aim:.2f}" + (", missed" if round(value, 2) > aim else "")


def comparison(steps: Sequence[Step], stage: str, lost: int) -> Table:
    """The methods of a stage, compared with its lookback. ``lost``: the number of rows that the watermark lost."""
    header = [
        "",
        "executor time",
        "ratio",
        "aim",
        "CPU time",
        "ratio",
        "rows read",
        "MiB shuffled",
        "written",
        "wall time",
        "whole CPU",
        "ratio",
    ]
    table = Table(TITLES[stage][0].upper() + TITLES[stage][1:], header)
    lookback, *others = compared(steps, stage)
    for days in (lookback, *others):
        name = label(days.way, days.stage)
        table.add(
            f"{name}; {lost:,} rows lost" if days.way == WATERMARK else name,
            f"{days.mean('run'):.2f} s",
            f"{days.ratio(lookback, 'run'):.2f}",
            _aim(days.ratio(lookback, "run"), _AIMS.get((days.way, days.stage))),
            f"{days.mean('cpu'):.2f} s",
            f"{days.ratio(lookback, 'cpu'):.2f}",
            f"{days.mean('rows'):,.0f}",
            *(f"{days.mean(size) / MIB:.1f}" for size in ("shuffled", "written")),
            f"{days.mean('wall'):.2f} s",
            f"{days.mean('whole'):.2f} s",
            f"{days.ratio(lookback, 'whole'):.2f}",
        )
    return table


def bars(steps: Sequence[Step]) -> dict[str, list[tuple[str, float]]]:
    """The ratios of each stage's methods to the lookback, which is first."""
    found: dict[str, list[tuple[str, float]]] = {}
    for stage, title in TITLES.items():
        lookback, *others = compared(steps, stage)
        found[title] = [(label(days.way, days.stage), days.ratio(lookback, "run")) for days in (lookback, *others)]
    return found


def lines(steps: Sequence[Step]) -> dict[str, dict[str, dict[int, float]]]:
    """The executor time of a day by the days of history, for each stage and method."""
    lengths = {name: int(name.rpartition("_")[2]) for name in histories(steps) if name.startswith("days")}
    found: dict[str, dict[str, dict[int, float]]] = {}
    for (name, way, stage), days in sorted(by_stage(steps).items(), key=lambda item: _order(item[1])):
        if name in lengths:
            values = found.setdefault(TITLES[base(stage)], {}).setdefault(label(way, stage), {})
            values[lengths[name]] = days.mean("run")
    return {stage: {way: dict(sorted(values.items())) for way, values in each.items()} for stage, each in found.items()}


def histories(steps: Iterable[Step]) -> list[str]:
    """The names of the histories, by length. The history with many files is last."""
    names = {step.history for step in steps}
    return sorted(names, key=lambda name: (name.startswith("files"), int(name.rpartition("_")[2])))


def growth(steps: Sequence[Step]) -> Table:
    """The cost of a day by the length of the history, stage by stage."""
    found, names = by_stage(steps), histories(steps)
    lengths = [name for name in names if name.startswith("days")]
    first, last = lengths[0], lengths[-1]
    table = Table(
        "Executor time for one day, by the length of the history",
        ["", *(name.replace("_", " ") for name in names), f"{last} / {first}".replace("_", " "), "CPU", "aim"],
    )
    for days in sorted((days for (name, *_), days in found.items() if name == first), key=_order):
        way, stage = days.way, days.stage
        ours = {name: found[name, way, stage] for name in names}
        run, cpu = (ours[last].mean(name) / ours[first].mean(name) for name in ("run", "cpu"))
        table.add(
            f"{TITLES[base(stage)]}: {label(way, stage)}",
            *(f"{each.mean('run'):.2f} s" for each in ours.values()),
            f"{run:.2f}",
            f"{cpu:.2f}",
            _aim(run, _GROWTH if way == IPS else None),
        )
    return table


def tables(compare: Outcome, grow: Outcome) -> list[Table]:
    """All tables, with notes."""
    sizes = compare.sizes
    found = [comparison(compare.steps, stage, compare.rows["watermark.lost"]) for stage in TITLES]
    found[0].note = (
        f"Stage 1 writes the landed events to a table that is partitioned by date. {sizes.events:,} events land each "
        f"day, 3% of them up to {WINDOW - 1} days late, on a history of {sizes.history} days. Figures are means of "
        f"{sizes.days} daily runs, or of {sizes.rebuilds} for the full rebuild. Each method and stage is a separate "
        "`dbt run`. "
        "`executor time` and `CPU time` are sums over Spark's tasks, from its event log. `ratio` compares the sums "
        f"with those of the lookback, an `insert_overwrite` of the events of the last {WINDOW} days. "
        "`wall time` covers the whole run, including dbt's own work and Spark's planning. `whole CPU` is the CPU time "
        "of dbt's process and Spark's JVM during the run. All methods share one long-lived Spark process. Its cache of "
        "generated code (`spark.sql.codegen.cache.maxEntries`) is so large that no method evicts the code of "
        "another. At the end, every table except the watermark's equals the table of the lookback. This "
        "package's tables are compared row by row."
    )
    found[1].note = "Stage 2 aggregates seconds and plays by account and date."
    found[2].note = (
        "Stage 2 also aggregates distinct titles and the longest play. New rows alone cannot update the number of "
        "distinct titles."
    )
    found[3].note = "Stage 3 is an inner join of the events with the ad impressions, which land separately."
    sizes = grow.sizes
    last = growth(grow.steps)
    last.note = (
        f"{sizes.growth_events:,} events land each day, and every history gets the same new events. Figures are means "
        f"of {sizes.growth_days} daily runs, or of one for the full rebuild. The last history is as long as the "
        f"shortest one, but has {grow.rows[f'files_{sizes.growth_files}.files']:,} files."
    )
    return [*found, last]

"""Converts measurements to tables."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from iceberg_incremental.quantities import counted

from .. import results
from ..auto_models import INSERT, KEPT, NOTHING, REBUILD, UNAFFECTED, UPDATED, ModelRun
from ..results import Table
from .data import SERIES
from .measure import Measurement

KEPT_AIM, REBUILD_AIM, MEAN_AIM = 1.0, 1.1, 0.35
SUMS = ("q01", "q05", "q06", "q07", "q09", "q12", "q14", "q19")
"""Queries with few groups, whose sums, counts and averages could be updated from signed changes."""
SUMS_AIM = 0.40
RIGHT_AIM, WORST_AIM = 0.9, 1.3


def tables(found: Sequence[Measurement], scale: float) -> list[Table]:
    """All tables. For each series: the queries, and the choices between the two methods."""
    made = []
    for series in dict.fromkeys(each.series for each in found):
        of_series = [each for each in found if each.series == series]
        made += [queries_table(of_series, scale), choices_table(of_series)]
    return made


def queries_table(found: Sequence[Measurement], scale: float) -> Table:
    """The cost of each query of a series, and the geometric mean of the queries that are updated incrementally."""
    rounds = len({each.round for each in found})
    table = Table(
        f"TPC-H at scale {scale:g}: {SERIES[found[0].series]}",
        [
            "query",
            "affected keys",
            "method",
            "files read",
            "executors' CPU",
            "wall",
            "whole CPU",
            "of `table`",
            "ratio",
            "aim",
            "wall, ratio",
        ],
        note=f"Medians of {counted(rounds, 'round')} in one long-lived Spark process, from the start to the end of "
        "each model. Right before and right after each model, the same query runs with `materialized='table'`; its "
        "cost is the mean of both. `whole CPU` is the CPU time of dbt's process and the JVM. After each round, all "
        "tables equal their rebuilds.",
    )
    means: list[float] = []
    for query in dict.fromkeys(each.query for each in found):
        mine = [each for each in found if each.query == query]
        ratio = _ratio(mine, _whole)
        ways = {each.auto.taken.way for each in mine}
        aim = _aim(query, ways)
        if ways <= {KEPT, UPDATED, INSERT, UNAFFECTED}:
            means.append(ratio)
        table.add(
            query,
            _share(mine),
            ", ".join(sorted(ways)),
            f"{statistics.median(each.auto.files for each in mine):g}",
            results.seconds([each.auto.executors for each in mine]),
            results.seconds([each.auto.wall for each in mine]),
            results.seconds([each.auto.whole for each in mine]),
            results.seconds([_of_table(each, _whole) for each in mine]),
            f"{ratio:.2f}",
            "" if aim is None else results.at_most(aim, ratio),
            f"{_ratio(mine, _wall):.2f}",
        )
    if means:
        mean = statistics.geometric_mean(means)
        blank = [""] * 7
        table.add(
            "geometric mean of the queries updated incrementally",
            *blank,
            f"{mean:.2f}",
            results.at_most(MEAN_AIM, mean),
            "",
        )
    return table


def choices_table(found: Sequence[Measurement]) -> Table:
    """Whether the runs chose the cheaper method, by the CPU times of both methods."""
    table = Table(
        f"The choice by cost: {found[0].series} rounds",
        [
            "query",
            "estimated, updated incrementally",
            "estimated, rebuild",
            "updated incrementally",
            "rebuild",
            "the same without counting keys",
            "taken",
            "cheaper",
            "ratio",
        ],
        note="Figures are whole CPU. With `rebuild_above`, a second `auto` model per query takes the other way. "
        "`ratio` compares the way taken with the other way, in the worst round. A run that chooses a rebuild has "
        "already counted the affected keys. A third model rebuilds without counting. Incremental queries without an "
        "estimate only insert rows.",
    )
    compared = [each for each in found if each.other is not None]
    for query in dict.fromkeys(each.query for each in compared):
        mine = [each for each in compared if each.query == query]
        estimates = [each.auto.taken.estimated for each in mine if each.auto.taken.estimated is not None]
        uncounted = [each.rebuild.whole for each in mine if each.rebuild is not None]
        table.add(
            query,
            *(results.seconds([each[place] for each in estimates]) if estimates else "" for place in (0, 1)),
            results.seconds([_of_way(each, rebuild=False) for each in mine]),
            results.seconds([_of_way(each, rebuild=True) for each in mine]),
            results.seconds(uncounted) if uncounted else "",
            ", ".join(sorted({each.auto.taken.way for each in mine})),
            f"{sum(taken_to_other(each) <= 1 for each in mine)} of {len(mine)}",
            f"{max(map(taken_to_other, mine)):.2f}",
        )
    if compared:
        share, worst = right_share(compared), max(map(taken_to_other, compared))
        missed = " missed" if share < RIGHT_AIM else ""
        cells = [f"{share:.0%}, aim ≥ {RIGHT_AIM:.0%}{missed}", f"{worst:.2f}, aim {results.at_most(WORST_AIM, worst)}"]
        table.add("all", *[""] * 6, *cells)
    return table


def right_share(found: Iterable[Measurement]) -> float:
    """The share of runs that chose the cheaper method."""
    return statistics.fmean(taken_to_other(each) <= 1 for each in found)


def taken_to_other(found: Measurement) -> float:
    """The ratio of the whole CPU times of the chosen and the other method. Raises ValueError if there is no other."""
    if found.other is None:
        raise ValueError(f"{found.query} has no other way")
    return found.auto.whole / found.other.whole


def _aim(query: str, ways: set[str]) -> float | None:
    if ways == {NOTHING}:
        return None
    if query in SUMS:
        return SUMS_AIM
    return REBUILD_AIM if REBUILD in ways else KEPT_AIM


def _of_way(found: Measurement, *, rebuild: bool) -> float:
    """The whole CPU time of one of the two methods."""
    assert found.other is not None
    return (found.auto if (found.auto.taken.way == REBUILD) == rebuild else found.other).whole


def _share(found: Sequence[Measurement]) -> str:
    shares = [each.share for each in found if each.share is not None]
    if shares:
        return f"{statistics.median(shares):.2%}"
    return "all" if any(each.auto.taken.way == REBUILD for each in found) else ""


def _ratio(found: Sequence[Measurement], part: Callable[[ModelRun], float]) -> float:
    return results.paired_ratio([part(each.auto) for each in found], [_of_table(each, part) for each in found])


def _of_table(found: Measurement, part: Callable[[ModelRun], float]) -> float:
    return statistics.fmean(part(run) for run in (found.as_table, found.table))


def _whole(run: ModelRun) -> float:
    return run.whole


def _wall(run: ModelRun) -> float:
    return run.wall

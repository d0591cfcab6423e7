"""Converts measurements to tables. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from ..meter import Spent
from ..results import Table
from .cases import (
    CONNECTION_CASES,
    LAYOUT_CASES,
    PERCENT_CASES,
    PLAIN,
    SCATTERED,
    WARM_UP_ROUNDS,
    WRITER_CASES,
    Case,
    Sizes,
)
from .changes import COLUMNS
from .outcome import Outcome
from .ways import (
    APPLY_CHANGES,
    FLOOR,
    GROUPS_DISTINCT,
    GROUPS_SUM,
    OURS,
    REBUILD,
    SIGNED_SUMS,
    UPSERTS,
    WAYS,
    Way,
)

MIB = 1 << 20
_SCATTERED_AIMS = {UPSERTS: 0.25, APPLY_CHANGES: 0.35, SIGNED_SUMS: 0.5, GROUPS_SUM: 2.5, GROUPS_DISTINCT: 1.0}
_STRETCH_AIMS = {UPSERTS: 0.10, APPLY_CHANGES: 0.10, SIGNED_SUMS: 0.5}
_MANY_AIM = 1.5
_HEADER = ("executor time", "ratio", "CPU time", "ratio", "aim", "relative to the floor")
_SIZES = ("rows read", "MiB read", "shuffled", "written", "wall time", "ratio", "whole CPU", "ratio")


def aim(case: Case, way: str) -> float | None:
    """The maximum CPU time of a method, as a share of the rebuild's."""
    if case.percent == 0.5:
        return (_SCATTERED_AIMS if case.spread == SCATTERED else _STRETCH_AIMS).get(way)
    return _MANY_AIM if case.percent == 5 and case.spread == SCATTERED and way in OURS else None


def ratio(outcome: Outcome, way: str, other: str, figure: str) -> float:
    """The ratio of the total costs of two methods."""
    return float(getattr(outcome.total(way), figure) / getattr(outcome.total(other), figure))


def label(outcome: Outcome, way: Way) -> str:
    """The title of a method, with the number of deletes that it missed."""
    missed = outcome.missed.get(way.name)
    return way.label if missed is None else f"{way.label}; {missed:,} deletes missed"


def ways(outcome: Outcome) -> list[Way]:
    """The measured methods. Each rebuild precedes the methods that are compared with it."""
    return [way for name, way in WAYS.items() if name in outcome.steps]


def _stated(value: float, limit: float | None) -> str:
    if limit is None:
        return ""
    return f"≤ {limit:.2f}" + (", missed" if round(value, 2) > limit else "")


def _rounds(number: int) -> str:
    return "1 round" if number == 1 else f"{number} rounds"


def details(outcome: Outcome) -> Table:
    """All figures of one case, as means of its rounds."""
    table = Table(outcome.case.title, ["", *_HEADER, *_SIZES])
    changed = sum(outcome.changed) / len(outcome.changed)
    table.note = f"Means of {_rounds(len(outcome.changed))}, with {changed:,.0f} changed rows each."
    for way in ways(outcome):
        spent, rounds = outcome.total(way.name), len(outcome.steps[way.name])
        cpu = ratio(outcome, way.name, way.rebuild, "cpu")
        mirrors = way.rebuild == REBUILD and FLOOR in outcome.steps
        table.add(
            label(outcome, way),
            f"{spent.run / rounds:.2f} s",
            f"{ratio(outcome, way.name, way.rebuild, 'run'):.2f}",
            f"{spent.cpu / rounds:.2f} s",
            f"{cpu:.2f}",
            _stated(cpu, aim(outcome.case, way.name)),
            f"{ratio(outcome, way.name, FLOOR, 'cpu'):.2f}" if mirrors else "",
            f"{spent.rows / rounds:,.0f}",
            *(f"{size / rounds / MIB:.1f}" for size in (spent.read, spent.shuffled, spent.written)),
            f"{spent.wall / rounds:.2f} s",
            f"{ratio(outcome, way.name, way.rebuild, 'wall'):.2f}",
            f"{spent.whole / rounds:.2f} s",
            f"{ratio(outcome, way.name, way.rebuild, 'whole'):.2f}",
        )
    return table


def compared(title: str, outcomes: Sequence[Outcome]) -> Table:
    """The CPU time of all methods, case by case: in s for rebuilds, and as a share of the rebuild for other methods."""
    table = Table(title, ["", *(outcome.case.title for outcome in outcomes)])
    for name, way in WAYS.items():
        if any(name in outcome.steps for outcome in outcomes):
            table.add(way.label, *(_cell(outcome, way) for outcome in outcomes))
    return table


def _cell(outcome: Outcome, way: Way) -> str:
    if way.name not in outcome.steps:
        return ""
    if way.is_rebuild:
        return f"{outcome.total(way.name).cpu / len(outcome.steps[way.name]):.2f} s"
    found, limit = ratio(outcome, way.name, way.rebuild, "cpu"), aim(outcome.case, way.name)
    return f"{found:.2f}" + ("" if limit is None else f" ({_stated(found, limit)})")


def measured(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """All figures of all rounds, by name."""
    return {
        f"{outcome.case.name}.{way}.{each.name}": [getattr(spent, each.name) for spent in steps]
        for outcome in outcomes
        for way, steps in outcome.steps.items()
        for each in fields(Spent)
    }


def tables(outcomes: Mapping[Case, Outcome], sizes: Sizes) -> list[Table]:
    """The tables of the full run, with notes."""

    def of(cases: Iterable[Case]) -> list[Outcome]:
        return [outcomes[case] for case in cases]

    found = [
        compared("By table layout", of(LAYOUT_CASES)),
        compared("By share of changed rows", of(PERCENT_CASES)),
        compared("By writer, and with compaction", of(WRITER_CASES)),
        compared("By connection", of(CONNECTION_CASES)),
        *(details(outcome) for outcome in of(case for case in LAYOUT_CASES if case.layout == PLAIN.layout)),
    ]
    found[0].note = (
        f"A dimension of {sizes.rows:,} rows and {len(COLUMNS)} columns in {sizes.files} files, without partitions. "
        "The dimension is a `merge` model of this package. In each round, some of its rows are updated, a tenth as "
        "many are deleted by a DELETE statement, and a tenth as many are inserted. These rows are either scattered "
        "over the table or in one range of keys. Then each method updates its own table. The third stage reads the "
        "changes of the apply_changes table. Tables of this package's models have the default layout, v3 "
        "merge-on-read. Other tables have the layout of the dimension. Figures are executor CPU time. "
        "The columns `whole CPU` show the CPU time of dbt's process and Spark's JVM. Rebuilds are in seconds. "
        "The figures of other methods are shares of the rebuild of the same table. Figures of the cases "
        f"that are shown in detail below are means of {_rounds(sizes.rounds)}. Figures of all other cases are from "
        f"{_rounds(sizes.other_rounds)}. Each case begins with {WARM_UP_ROUNDS} warm-up rounds. All cases run in one "
        "long-lived Spark process. At the end of each case, every table equals the dimension or the rebuilt aggregate, "
        "as compared by the sum of its row hashes. The exceptions are `upserts` and `updated_at`, which do not detect "
        "deletes. All other rows of their tables are equal."
    )
    found[2].note = "In compacted cases, all files of the dimension are compacted once its rows have changed."
    found[3].note = (
        "Over a connection to a server, models cannot read single files, so they send different statements. This "
        "benchmark runs these statements in the same Spark process, without the server."
    )
    return found

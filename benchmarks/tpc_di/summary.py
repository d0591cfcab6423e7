"""Converts measurements to tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from .. import results
from ..auto_models import NOTHING, REBUILD, UNAFFECTED, ModelRun
from ..results import Table
from .data import CHANGED, CHANGED_SHARE, SHARES
from .pipeline import BUILD, KEPT, MODELS, NEVER, REBUILT, Round, Size

Found = Mapping[str, Sequence[Round]]
"""The rounds of one size by the name of the project."""

TITLES = {
    BUILD: "batch 1: the build",
    **{batch: f"batch {batch}: {share:.2%} new" for batch, share in SHARES.items()},
    CHANGED: f"batch {CHANGED}: {CHANGED_SHARE:.1%} of each source updated or deleted",
}
INCREMENTAL, REBUILDS, EITHER = "incremental", "rebuild", "either"
"""The cheaper method of a run. ``either``: there was no choice."""


def tables(size: Size, found: Found, aim: float | None) -> list[Table]:
    """All tables of a size. ``aim``: for the sum of the batches that append."""
    made = [totals_table(size, found, aim), methods_table(size, found)]
    made += [models_table(size, found, batch) for batch in _batches(found) if batch != BUILD]
    return made


def totals_table(size: Size, found: Found, aim: float | None) -> Table:
    """The whole CPU and the duration of the ``dbt run`` after each batch, and the sum of the batches that append."""
    table = Table(
        f"{len(MODELS)} models, {size.trades:,} trades",
        [
            "",
            *("`auto`, whole CPU", "`table`, whole CPU", "ratio", "aim"),
            *("`auto`, wall", "`table`, wall", "ratio", "aim"),
            *(("never rebuilt, whole CPU",) if NEVER in found else ()),
        ],
        note="One `dbt run` with one thread after each batch, in one long-lived Spark process. Before the build, the "
        "same models run on few rows as a warm-up. After each batch, all tables equal their rebuilds."
        + (" The last column is an `auto` project with `rebuild_above: 1`." if NEVER in found else ""),
    )
    for batch in _batches(found):
        table.add(TITLES[batch], *_totals(found, [batch], None))
    appended = [batch for batch in _batches(found) if batch in SHARES]
    if len(appended) > 1:
        table.add(f"batches {' and '.join(map(str, appended))}", *_totals(found, appended, aim))
    return table


def methods_table(size: Size, found: Found) -> Table:
    """The number of models that each method updated after each batch."""
    batches = [batch for batch in _batches(found) if batch != BUILD]
    counts = {batch: Counter(run.taken.way for run in _round(found, KEPT, batch).models.values()) for batch in batches}
    table = Table(
        f"Models by method, {size.trades:,} trades",
        ["method", *(f"batch {batch}" for batch in batches)],
        note="With `auto`.",
    )
    for way in dict.fromkeys(way for each in counts.values() for way, _ in each.most_common()):
        table.add(way, *(str(counts[batch][way]) for batch in batches))
    return table


def models_table(size: Size, found: Found, batch: int) -> Table:
    """The method and the cost of each model after a batch, and the cheaper method if the other one was measured."""
    with_never = NEVER in found
    table = Table(
        f"The models, {size.trades:,} trades, {TITLES[batch]}",
        [
            *("model", "method", "affected keys", "rows read", "executors' CPU", "whole CPU", "`table`", "ratio"),
            *(("never rebuilt: method", "whole CPU", "cheaper") if with_never else ()),
            "reason of a rebuild",
        ],
        note="Figures cover each model from start to end."
        + (" `cheaper` is the method whose measured CPU time is lower." if with_never else ""),
    )
    kept, rebuilt = (_round(found, way, batch).models for way in (KEPT, REBUILT))
    never = _round(found, NEVER, batch).models if with_never else {}
    for name in MODELS:
        ours, others = kept[name], rebuilt[name]
        keys = ours.taken.keys
        compared = (
            [never[name].taken.way, f"{never[name].whole:.2f} s", cheaper(ours, others, never[name])] if never else []
        )
        table.add(
            name,
            ours.taken.way,
            "" if keys is None else f"{keys:,}",
            f"{ours.rows:,}",
            *(f"{value:.2f} s" for value in (ours.executors, ours.whole, others.whole)),
            f"{ours.whole / others.whole:.2f}",
            *compared,
            ours.taken.reason if ours.taken.way == REBUILD else "",
        )
    return table


def cheaper(auto: ModelRun, table: ModelRun, never: ModelRun) -> str:
    """The cheaper method. A model that was updated incrementally is compared with the run of its ``table``."""
    if auto.taken.way in (NOTHING, UNAFFECTED) or (auto.taken.way == never.taken.way == REBUILD):
        return EITHER
    if auto.taken.way == REBUILD:
        return REBUILDS if auto.whole <= never.whole else INCREMENTAL
    return INCREMENTAL if auto.whole <= table.whole else REBUILDS


def _totals(found: Found, batches: Sequence[int], aim: float | None) -> list[str]:
    cells: list[str] = []
    for part in ("whole", "wall"):
        ours, others = (_sum(found, way, part, batches) for way in (KEPT, REBUILT))
        aimed = "" if aim is None else results.at_most(aim, ours / others)
        cells += [f"{ours:.2f} s", f"{others:.2f} s", f"{ours / others:.2f}", aimed]
    if NEVER in found:
        cells.append(f"{_sum(found, NEVER, 'whole', batches):.2f} s")
    return cells


def _sum(found: Found, way: str, part: str, batches: Sequence[int]) -> float:
    return sum(getattr(_round(found, way, batch), part) for batch in batches)


def _batches(found: Found) -> list[int]:
    return [each.batch for each in found[KEPT]]


def _round(found: Found, way: str, batch: int) -> Round:
    (round_,) = [each for each in found[way] if each.batch == batch]
    return round_

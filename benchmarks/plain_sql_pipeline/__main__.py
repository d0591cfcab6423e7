"""Measures a pipeline of twelve ``auto`` models while 0.2% of its sources change, and rebuilds of all tables.

Writes the raw measurements to build/plain_sql_pipeline/measurements.json. Without options, also saves the figures.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from iceberg_incremental.quantities import counted

from .. import results
from ..auto_models import Round, note
from ..meter import open_metered_lake
from ..results import Table
from .pipeline import BY_HAND, BY_HAND_MODELS, KEPT, MODELS, REBUILT, WARM_UP_ROUNDS, Pipeline, by_hand_name

NAME = "plain_sql_pipeline"
SCRATCH = results.scratch(NAME)
PIPELINE_AIM, BY_HAND_AIM = 0.20, 1.3


def tables(found: Mapping[str, Sequence[Round]], rows: int, first_day: float) -> list[Table]:
    """All tables of figures. ``first_day``: the CPU time in s of the ``auto`` models on the first day with changes."""
    return [_pipeline_table(found, rows, first_day), _models_table(found), _by_hand_table(found)]


def _pipeline_table(found: Mapping[str, Sequence[Round]], rows: int, first_day: float) -> Table:
    kept, rebuilt = found[KEPT], found[REBUILT]
    table = Table(
        f"A pipeline of {len(MODELS)} models in three stages on {rows:,} rows, of which 0.2% change each day",
        ["", "`auto`", "`table`", "ratio", "aim"],
        note=f"Medians of {counted(len(kept), 'day')} of `dbt run` with one thread, in one long-lived Spark process, "
        f"after {counted(WARM_UP_ROUNDS, 'day')} of warm-up. On the first warm-up day, when Java had compiled little "
        f"of Spark's planner, `auto` took {first_day:.2f} s of CPU. One row in twenty arrives up to two weeks late. "
        "After each measured day, all tables equal their rebuilds.",
    )
    for label, part in (("whole CPU", "whole"), ("wall", "wall"), ("executors' CPU", "executors")):
        ours, others = ([getattr(each, part) for each in rounds] for rounds in (kept, rebuilt))
        ratio = results.paired_ratio(ours, others)
        aim = results.at_most(PIPELINE_AIM, ratio) if part != "executors" else ""
        table.add(label, results.seconds(ours), results.seconds(others), f"{ratio:.2f}", aim)
    return table


def _models_table(found: Mapping[str, Sequence[Round]]) -> Table:
    table = Table(
        "The models of the pipeline",
        ["model", "method", "files read", "statements", "executors' CPU", "wall", "whole CPU", "`table`", "ratio"],
        note="Figures cover each model from start to end. `whole CPU` is the CPU time of dbt's process and the JVM.",
    )
    for name in MODELS:
        ours, others = ([each.models[name] for each in found[command]] for command in (KEPT, REBUILT))
        whole, rebuilt = [each.whole for each in ours], [each.whole for each in others]
        table.add(
            name,
            ", ".join(sorted({each.taken.way for each in ours})),
            f"{ours[-1].files:,}",
            f"{len(ours[-1].statements)}",
            results.seconds([each.executors for each in ours]),
            results.seconds([each.wall for each in ours]),
            results.seconds(whole),
            results.seconds(rebuilt),
            f"{results.paired_ratio(whole, rebuilt):.2f}",
        )
    return table


def _by_hand_table(found: Mapping[str, Sequence[Round]]) -> Table:
    table = Table(
        "The same models, written by hand",
        ["model", "by hand", "`auto`, whole CPU", "by hand, whole CPU", "ratio", "aim", "wall, ratio"],
        note="The hand-written models follow [Patterns](patterns.md).",
    )
    for name, model in BY_HAND_MODELS.items():
        ours = [each.models[name] for each in found[KEPT]]
        others = [each.models[by_hand_name(name)] for each in found[BY_HAND]]
        whole, by_hand = [each.whole for each in ours], [each.whole for each in others]
        ratio = results.paired_ratio(whole, by_hand)
        wall = results.paired_ratio([each.wall for each in ours], [each.wall for each in others])
        cells = [results.seconds(whole), results.seconds(by_hand), f"{ratio:.2f}"]
        table.add(name, model.pattern, *cells, results.at_most(BY_HAND_AIM, ratio), f"{wall:.2f}")
    return table


def main(argv: Sequence[str] | None = None) -> None:
    """Measure. Raises ValueError if a table differs from its rebuild."""
    arguments = sys.argv[1:] if argv is None else argv
    parser = results.parser(NAME, __doc__)
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of all sources (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="days after the warm-up (default: %(default)s)")
    options = parser.parse_args(arguments)
    result = results.begin(NAME)
    with open_metered_lake(SCRATCH / str(os.getpid())) as (lake, meter):
        pipeline = Pipeline(lake, meter, options.rows)
        found = pipeline.measure(options.rounds)
    note(result, found)
    result.tables = tables(found, options.rows, pipeline.first_day)
    if not arguments:
        result.save()
    else:
        result.show()


if __name__ == "__main__":
    main()

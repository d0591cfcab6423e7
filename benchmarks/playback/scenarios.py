"""The scenarios: all methods on one history, and daily runs on histories of several lengths."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .. import check, results
from ..meter import open_metered_lake
from . import ways
from .events import Stream
from .outcome import Outcome
from .pipeline import PLAYBACK, Pipeline
from .sizes import Sizes, from_environment
from .ways import ACCOUNT_DAYS, FLOOR, IPS, LOOKBACK, WATERMARK, Way


def compare(folder: Path, sizes: Sizes, names: Sequence[str] = ways.ALL) -> Outcome:
    """Run the named methods on one history. Raises ValueError if their tables differ at the end."""
    outcome = Outcome(sizes, results.load_by_others())
    with open_metered_lake(folder) as (lake, meter):
        pipeline = Pipeline(lake, meter, Stream(sizes.events), "compare")
        pipeline.land_history(sizes.history - 1, sizes.history)
        pipeline.build(f"{way}_{stage}" for way in (IPS, LOOKBACK) for stage in ways.BY_DBT[way])
        found = [ways.make(name, pipeline, sizes.rebuilds) for name in names]
        for number in range(sizes.days + 1):
            run_day(pipeline, found, number, sizes.days)
        outcome.rows = compared(pipeline, found, exactly=[IPS])
        finish(outcome, [pipeline])
    return outcome


def grow(folder: Path, sizes: Sizes) -> Outcome:
    """Run the same days on histories of several lengths that end on the same day, in turn in one Spark.

    Raises ValueError if the tables of a history differ at the end.
    """
    outcome = Outcome(sizes, results.load_by_others())
    longest = max(sizes.growth_history)
    histories = {f"days_{days}": (days, 0) for days in sizes.growth_history}
    histories[f"files_{sizes.growth_files}"] = (min(sizes.growth_history), sizes.growth_files)
    with open_metered_lake(folder) as (lake, meter):
        found: list[tuple[Pipeline, list[Way]]] = []
        for name, (days, files) in histories.items():
            pipeline = Pipeline(lake, meter, Stream(sizes.growth_events), name, landed=(PLAYBACK,))
            pipeline.land_history(longest - 1, days, files)
            outcome.rows[f"{name}.files"] = check.rows(lake, f"{pipeline.raw(PLAYBACK)}.files")
            pipeline.build(f"{way}_{stage}" for way in (IPS, LOOKBACK) for stage in ways.GROWING[way])
            made = [ways.make(way, pipeline, 1, stages) for way, stages in ways.GROWING.items()]
            found.append((pipeline, made))
        for number in range(sizes.growth_days + 1):
            for pipeline, theirs in found[:: 1 if number % 2 else -1]:
                run_day(pipeline, theirs, number, sizes.growth_days)
        for pipeline, theirs in found:
            rows = compared(pipeline, theirs)
            outcome.rows |= {f"{pipeline.name}.{table}": count for table, count in rows.items()}
        finish(outcome, [pipeline for pipeline, _ in found])
    return outcome


def run_day(pipeline: Pipeline, found: Sequence[Way], number: int, last: int) -> None:
    """Land a day, and update the methods' tables, stage by stage. The order of the methods alternates by day."""
    pipeline.land()
    today = [way for way in found if way.last is None or number > last - way.last]
    for stage in ways.STAGES:
        for way in today[:: 1 if number % 2 else -1]:
            if stage in way.tables:
                with pipeline.measuring(way.name, stage):
                    way.tables[stage]()


def finish(outcome: Outcome, pipelines: Sequence[Pipeline]) -> None:
    """Add the measurements to the outcome. The first day is a warm-up, and is omitted."""
    for pipeline in pipelines:
        first = min(step.day for step in pipeline.steps)
        outcome.steps += [step for step in pipeline.steps if step.day > first]
    outcome.load_after = results.load()


def compared(pipeline: Pipeline, found: Sequence[Way], exactly: Sequence[str] = ()) -> dict[str, int]:
    """The row count of each table, as ``<way>.<stage>``. Raises ValueError if one differs from the lookback's.

    ``exactly``: the methods whose tables are compared row by row. The table of the watermark may lack rows, whose
    number is in ``watermark.lost``.
    """
    lake, rows = pipeline.lake, dict[str, int]()
    for way in found:
        for stage in way.tables:
            table = pipeline.table(way.name, stage)
            expected = pipeline.table(LOOKBACK, ways.base(stage))
            if way.name == WATERMARK:
                rows["watermark.lost"] = check.rows(lake, expected) - check.rows(lake, table)
            elif way.name in exactly:
                rows[f"{way.name}.{stage}"] = check.require_equal(lake, table, expected)
            elif way.name != LOOKBACK and (way.name, stage) != (FLOOR, ACCOUNT_DAYS):  # the floor has no table there
                rows[f"{way.name}.{stage}"] = check.require_same_sums(lake, expected, table)
    return rows


SCENARIOS: dict[str, Callable[[Path, Sizes], Outcome]] = {"compare": compare, "grow": grow}


def main(argv: Sequence[str] | None = None) -> None:
    """Run one scenario with the sizes in the environment, and save its result."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("outcome", type=Path, help="the file to write; the lakehouse is next to it during the run")
    options = parser.parse_args(argv)
    # so that the lakehouse is also removed after SIGTERM
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = options.outcome.with_suffix(".lake")
    SCENARIOS[options.scenario](folder, from_environment()).write(options.outcome)


if __name__ == "__main__":
    main()

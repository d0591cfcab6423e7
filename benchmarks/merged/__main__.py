"""Measures the cost of following the changes of a table that is merged into.

Without options, it measures all cases in about half an hour, and saves the figures. Results are kept until all cases
are measured, so only the missing cases are measured after an interruption. With options, it measures the chosen cases,
prints their tables, and saves nothing.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from .. import results
from ..meter import open_metered_lake
from . import summary, ways
from .cases import ALL_CASES, DEFAULT_LAYOUT, LAYOUTS, MERGE, SPREADS, WRITERS, Case, Sizes
from .outcome import Outcome, read
from .tables import Tables
from .ways import WAYS

SCRATCH = results.scratch("merged")
KEPT = SCRATCH / "outcomes"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure. Raises ValueError if a method's table is wrong."""
    arguments = sys.argv[1:] if argv is None else argv
    options = _options(arguments)
    if set(arguments) <= {"--again"}:
        _measure_all(Sizes(), options.again)
        return
    sizes = Sizes(options.rows, options.files, options.rounds, options.rounds)
    for outcome in measure(sizes, dict.fromkeys(_cases(options), options.ways)):
        print(f"\n{results.render(summary.details(outcome))}\n", flush=True)


def _measure_all(sizes: Sizes, again: bool) -> None:
    """Measure all cases, and save the result."""
    result = results.begin("merged")
    if again:
        shutil.rmtree(KEPT, ignore_errors=True)
    kept = {case: outcome for case in ALL_CASES if (outcome := read(KEPT, case)) and outcome.sizes == sizes}
    for case in kept:
        print(f"{case.title} has been measured before: {KEPT}", flush=True)
    for outcome in measure(sizes, {case: ways.in_full(case) for case in ALL_CASES if case not in kept}):
        outcome.write(KEPT)
        kept[outcome.case] = outcome
    result.tables = summary.tables(kept, sizes)
    result.measured = summary.measured([kept[case] for case in ALL_CASES])
    result.save()
    shutil.rmtree(KEPT)


def measure(sizes: Sizes, chosen: Mapping[Case, Sequence[str]]) -> Iterator[Outcome]:
    """Measure cases, each with its methods, in one Spark. Cases with the same layout use the same tables."""
    if not chosen:
        return
    with open_metered_lake(SCRATCH / str(os.getpid())) as (lake, meter):
        for layout in LAYOUTS:
            cases = {case: ways.needed(names) for case, names in chosen.items() if case.layout == layout}
            wanted = {way.name for theirs in cases.values() for way in theirs}
            found = [way for name, way in WAYS.items() if name in wanted and ways.possible(way, layout)]
            if not found:
                continue
            tables = Tables(lake, meter, sizes, layout, found)
            tables.make()
            for case, theirs in cases.items():
                yield tables.run(case, [way.name for way in theirs])
            tables.drop()


def _cases(options: argparse.Namespace) -> Iterable[Case]:
    """The cases that the options select."""
    chosen = (options.layouts, options.spread, options.percent, options.writers, options.compacted, options.by_sql)
    for layout, spread, percent, writer, compacted, by_sql in itertools.product(*chosen):
        yield Case(layout, spread, percent, writer, compacted, by_sql)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    sizes = Sizes()
    parser = results.parser("merged", __doc__)
    parser.add_argument(
        "--again",
        action="store_true",
        help="measure all cases, including the cases that an interrupted run has measured",
    )
    parser.add_argument("--rows", type=int, default=sizes.rows, help="rows of the table (default: %(default)s)")
    parser.add_argument("--files", type=int, default=sizes.files, help="files of the table (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=sizes.rounds, help="measured rounds after the warm-up")

    def several(name: str, of: Sequence[str], default: Sequence[str]) -> None:
        listed = ",".join(default)
        parser.add_argument(name, type=_list_of(of), default=list(default), help=f"of {', '.join(of)} ({listed})")

    several("--layouts", LAYOUTS, [DEFAULT_LAYOUT])
    several("--spread", SPREADS, SPREADS[:1])
    several("--writers", WRITERS, [MERGE])
    several("--ways", tuple(WAYS), tuple(WAYS))
    parser.add_argument(
        "--percent", type=_numbers, default=[0.5], help="percent of the rows that a round updates (0.5)"
    )
    parser.add_argument(
        "--compacted", action="store_const", const=[True], default=[False], help="compact the table in every round"
    )
    parser.add_argument(
        "--by-sql", action="store_const", const=[True], default=[False], help="use the statements for a server"
    )
    return parser.parse_args(argv)


def _list_of(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        if unknown := sorted(set(text.split(",")) - set(allowed)):
            raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(allowed)}")
        return text.split(",")

    return parse


def _numbers(text: str) -> list[float]:
    return [float(each) for each in text.split(",")]


if __name__ == "__main__":
    main()

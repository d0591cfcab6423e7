"""Measures what it costs to follow a table that is merged into.

Without options: all cases, which takes about 25 minutes; the figures are saved. With options: the chosen cases; their
tables are printed, and nothing is saved.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from .. import results
from ..lake import Lake
from ..meter import Meter, open_metered_lake
from . import summary, ways
from .cases import ALL_CASES, DEFAULT_LAYOUT, LAYOUTS, MERGE, SPREADS, WRITERS, Case, Sizes
from .outcome import Outcome
from .tables import Tables
from .ways import WAYS

SCRATCH = Path(__file__).resolve().parents[2] / "build" / "merged"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure. Raises ValueError where a way's table is not what it should be."""
    options = _options(argv)
    sizes = Sizes(options.rows, options.files, options.rounds)
    saved = not (sys.argv[1:] if argv is None else argv)
    result = results.begin("merged")
    if saved or options.all:
        chosen = {case: ways.in_full(case) for case in ALL_CASES}
    else:
        chosen = dict.fromkeys(_cases(options), options.ways)
    with open_metered_lake(SCRATCH / str(os.getpid())) as (lake, meter):
        outcomes = measure(lake, meter, sizes, chosen)
    if not (saved or options.all):
        return
    result.tables = summary.tables(outcomes, sizes)
    result.measured = summary.measured(list(outcomes.values()))
    if saved:
        result.save()
    else:
        result.print()


def measure(lake: Lake, meter: Meter, sizes: Sizes, chosen: Mapping[Case, Sequence[str]]) -> dict[Case, Outcome]:
    """Measure cases, each with its ways. The cases of a layout share its tables."""
    outcomes = {}
    for layout in LAYOUTS:
        cases = {case: ways.needed(names) for case, names in chosen.items() if case.layout == layout}
        if not cases:
            continue
        wanted = {way.name for theirs in cases.values() for way in theirs}
        found = [way for name, way in WAYS.items() if name in wanted and ways.possible(way, layout)]
        tables = Tables(lake, meter, sizes, layout, found)
        tables.make()
        for case, theirs in cases.items():
            outcomes[case] = tables.run(case, [way.name for way in theirs])
            print(f"\n{results.render(summary.details(outcomes[case]))}\n", flush=True)
        tables.drop()
    return outcomes


def _cases(options: argparse.Namespace) -> Iterable[Case]:
    """The cases that the options choose."""
    chosen = (options.layouts, options.spread, options.percent, options.writers, options.compacted)
    for layout, spread, percent, writer, compacted in itertools.product(*chosen):
        yield Case(layout, spread, percent, writer, compacted)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    sizes = Sizes()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.merged", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="all cases, as without options")
    parser.add_argument("--rows", type=int, default=sizes.rows, help="of the table (default: %(default)s)")
    parser.add_argument("--files", type=int, default=sizes.files, help="of the table (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=sizes.rounds, help="after the first, which warms up")

    def several(name: str, of: Sequence[str], default: Sequence[str]) -> None:
        listed = ",".join(default)
        parser.add_argument(name, type=_list_of(of), default=list(default), help=f"of {', '.join(of)} ({listed})")

    several("--layouts", LAYOUTS, [DEFAULT_LAYOUT])
    several("--spread", SPREADS, SPREADS[:1])
    several("--writers", WRITERS, [MERGE])
    several("--ways", tuple(WAYS), tuple(WAYS))
    parser.add_argument("--percent", type=_numbers, default=[0.5], help="of the rows, updated in a round (0.5)")
    parser.add_argument(
        "--compacted", action="store_const", const=[True], default=[False], help="compact the table in every round"
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

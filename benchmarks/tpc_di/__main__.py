"""Measures 49 plain SQL models over the sources of a brokerage: as ``auto`` models, and rebuilt by ``table``.

The sources, their meaning and their proportions are modelled on TPC-DI. Batches 2 and 3 append 0.05% and 0.1% of the
rows of the initial load. Batch 4 updates and deletes 0.1% of the rows of each source. Writes the raw measurements to
build/tpc_di/measurements.json. Without options, also saves the figures.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .. import results
from ..auto_models import note
from ..meter import open_metered_lake
from ..results import Result
from . import summary
from .data import SHARES
from .pipeline import BUILD, KEPT, NEVER, REBUILT, Pipeline, Round, Size

NAME = "tpc_di"
SCRATCH = results.scratch(NAME)
SMALL, LARGE = Size("small", 20_000), Size("large", 400_000)
_AIMS = {SMALL: 0.90, LARGE: 0.40}
_WARM_UP = 1000


def measure(sizes: Sequence[Size], warm_up: int, ways: Sequence[str], result: Result) -> None:
    """Measure each size, after a warm-up with few trades. Raises ValueError if a table differs from its rebuild."""
    all_rounds: dict[str, Sequence[Round]] = {}
    with open_metered_lake(SCRATCH / str(os.getpid())) as (lake, meter):
        if warm_up:
            # NEVER runs the incremental methods, which `auto` seldom chooses for so few rows
            pipeline = Pipeline(lake, meter, Size("warm_up", warm_up), (KEPT, REBUILT, NEVER))
            pipeline.measure((BUILD, *SHARES), is_compared=False)
        for size in sizes:
            found = Pipeline(lake, meter, size, ways).measure()
            for table in summary.tables(size, found, _AIMS.get(size)):
                result.tables.append(table)
                print(f"\n{results.render(table)}\n", flush=True)
            all_rounds |= {f"{size.name}.{way}": rounds for way, rounds in found.items()}
            note(result, all_rounds)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result if both sizes were measured in the usual way."""
    arguments = sys.argv[1:] if argv is None else argv
    parser = results.parser(NAME, __doc__)
    sizes = {each.name: each for each in (SMALL, LARGE)}
    parser.add_argument("--only", nargs="+", choices=tuple(sizes), help="measure only these sizes, and save nothing")
    parser.add_argument("--trades", type=int, help="measure this number of trades instead, and save nothing")
    parser.add_argument(
        "--choices", action="store_true", help="also measure a project that never chooses to rebuild, and save nothing"
    )
    parser.add_argument(
        "--warm-up", type=int, default=_WARM_UP, help="trades of the warm-up; 0 for none (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    chosen = [sizes[name] for name in options.only or sizes]
    if options.trades is not None:
        chosen = [Size("chosen", options.trades)]
    result = results.begin(NAME)
    measure(chosen, options.warm_up, (KEPT, REBUILT, *((NEVER,) if options.choices else ())), result)
    if not arguments:
        result.save()


if __name__ == "__main__":
    main()

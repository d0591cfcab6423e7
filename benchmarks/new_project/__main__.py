"""Measures a new user's project: 14 models over sources of 200 to 10,000 rows, with a process for each `dbt run`.

The same project is built with `auto` and with `materialized='table'`, in turn. Linux only, as ``first_project`` is.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import results
from ..first_project import Cost, reap_orphans, run, this_build
from ..results import Table

NAME = "new_project"
_PROJECT = Path(__file__).parent / "project"
_AUTO, _TABLE = "iceberg_incremental_snapshot", "table"
_AIM, _AIM_FIRST = 0.95, 1.0
_ROUNDS = 5


def measure(rounds: int, folder: Path) -> dict[str, list[Cost]]:
    """The costs of the first `dbt run` and of one for each day, by materialization."""
    reap_orphans()
    costs: dict[str, list[Cost]] = {_AUTO: [], _TABLE: []}
    for day in range(rounds + 1):
        for kind in list(costs)[:: 1 if day % 2 else -1]:
            project, environment = folder / kind, {"MATERIALIZED": kind}
            if not day:
                shutil.copytree(_PROJECT, project)
            rows = ["next_day", "--args", f"{{day: {day}}}"] if day else ["first_rows"]
            run(this_build(), project, ["run-operation", *rows], environment)
            cost = run(this_build(), project, ["run"], environment)
            print(f"day {day}, {kind}: {cost.wall:.1f} s, whole CPU {cost.cpu:.1f} s", flush=True)
            costs[kind].append(cost)
    return costs


def table(costs: Mapping[str, Sequence[Cost]]) -> Table:
    """The first run, and the medians of the later ones."""
    days = len(costs[_AUTO]) - 1
    found = Table(
        "14 small models, a process for each `dbt run`",
        ["", "`auto`", "`table`", "ratio", "aim"],
        note=f"Sources of 200 to 10,000 rows. The first run builds all tables; {days} more runs follow, each after 100 "
        "new orders, 5 changed customers and, every other day, a changed product. The start of dbt and of the JVM is "
        "included.",
    )
    for label, chosen, aim in (("first run", slice(0, 1), _AIM_FIRST), ("a day", slice(1, None), _AIM)):
        for part, name in (("wall", "wall"), ("whole CPU", "cpu")):
            ours, other = ([getattr(each, name) for each in costs[kind][chosen]] for kind in (_AUTO, _TABLE))
            ratio = results.paired_ratio(ours, other)
            cells = (f"{statistics.median(each):.1f} s" for each in (ours, other))
            found.add(f"{label}: {part}", *cells, f"{ratio:.2f}", results.at_most(aim, ratio))
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and save the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.new_project", description=__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="the number of days")
    options = parser.parse_args(argv)
    result = results.begin(NAME)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        costs = measure(options.rounds, Path(folder))
    result.tables.append(table(costs))
    for kind, each in costs.items():
        result.measured |= {f"{kind}.{name}": [getattr(cost, name) for cost in each] for name in ("wall", "cpu")}
    if options.rounds == _ROUNDS:
        result.save()
    else:
        result.show()


if __name__ == "__main__":
    main()

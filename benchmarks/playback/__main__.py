"""Runs the scenarios, each in a separate process, and saves their figures and plots.

Results are kept until all scenarios have run. After an interruption, only the missing scenarios run, unless the sizes
have changed (``PLAYBACK_…``, see sizes.py).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence

from .. import results
from ..results import Plot, Result
from . import plots, scenarios, summary
from .outcome import Outcome, read
from .sizes import Sizes, from_environment

SCRATCH = results.scratch("playback")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the scenarios. Returns the exit code, which is 1 if a scenario failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.playback", description=__doc__)
    parser.add_argument("--again", action="store_true", help="repeat measurements of an interrupted run")
    options = parser.parse_args(argv)
    if options.again:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    sizes = from_environment()
    failed = [name for name in scenarios.SCENARIOS if not _measured(name, sizes)]
    if failed:
        print(f"failed: {', '.join(failed)}; run it again for these only", file=sys.stderr)
        return 1
    _publish(*(read(SCRATCH / f"{name}.json") for name in scenarios.SCENARIOS))
    shutil.rmtree(SCRATCH)
    return 0


def _publish(compare: Outcome, grow: Outcome) -> None:
    """Save the figures and the plots."""
    result = Result("playback", load_before=max(compare.load_before, grow.load_before))
    result.tables = summary.tables(compare, grow)
    result.measured = summary.measured(compare.steps + grow.steps)
    result.plots = [
        Plot("playback_ways.svg", "Executor time of each method compared with the lookback, by stage"),
        Plot("playback_growth.svg", "Executor time of a day by the length of the history"),
    ]
    ways, growth = (results.PLOTS / plot.name for plot in result.plots)
    plots.bars(ways, summary.bars(compare.steps), summary.OURS)
    plots.lines(growth, summary.lines(grow.steps), summary.OURS)
    result.save()


def _measured(name: str, sizes: Sizes) -> bool:
    """Run a scenario, unless it has a result with these sizes. Returns whether it has a result now."""
    path = SCRATCH / f"{name}.json"
    if path.exists() and read(path).sizes == sizes:
        print(f"{name} has been measured before: {path}", flush=True)
        return True
    path.unlink(missing_ok=True)
    subprocess.run([sys.executable, "-m", "benchmarks.playback.scenarios", name, str(path)], check=False)
    return path.exists()


if __name__ == "__main__":
    sys.exit(main())

"""Runs the benchmarks one after another, each in a separate process, and generates docs/benchmarks.md."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from . import report

BENCHMARKS = (
    "audit",
    "capture",
    "cold_start",
    "files_read",
    "listing",
    "merged",
    "model_run",
    "net_changes",
    "new_project",
    "nothing_new",
    "plain_sql_pipeline",
    "plain_sql_tpch",
    "playback",
    "seeds",
    "small_runs",
    "snapshots",
    "maintenance",
    "tpc_di",
    "verify",
    "watch",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks. Returns the exit code, which is 1 if a benchmark failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(BENCHMARKS)}; all by default")
    names = parser.parse_args(argv).names or BENCHMARKS
    if unknown := sorted(set(names) - set(BENCHMARKS)):
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:
            failed.append(name)
    report.write()
    if failed:
        print(f"failed, and kept their earlier results: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Run the tests in each environment in turn, and print the results as a table."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from .environments import ENVIRONMENTS, ICEBERG_VERSION, ROOT, Environment
from .install import CannotInstallError, find_python, install, versions
from .results import Result, read, table


def run(environment: Environment, tests: list[str], options: list[str]) -> Result:
    """Create an environment and run its tests in it."""
    sys.stdout.write(f"\n=== {environment.name}\n")
    sys.stdout.flush()
    python = find_python(environment.python)
    if python is None:
        return Result(environment.name, not_run=f"Python {environment.python} is not installed")
    began = time.monotonic()
    try:
        install(environment, python)
    except CannotInstallError as error:
        return Result(environment.name, failed=(str(error),))
    report = environment.folder / "report.xml"
    # Other versions emit other warnings, which are not errors of this project.
    command = ["-W", "ignore", "-m", "not nightly and not thorough", f"--junit-xml={report}", *options]
    subprocess.run(
        [environment.folder / "bin" / "python", "-m", "pytest", *command, *(tests or environment.tests)],
        cwd=ROOT,
        env=os.environ | ({} if environment.iceberg is None else {ICEBERG_VERSION: environment.iceberg}),
        check=False,
    )
    if not report.exists():
        return Result(environment.name, versions(environment), failed=("pytest did not start",))
    return read(report, environment.name, versions(environment), time.monotonic() - began)


def main() -> int:
    """Return 1 if a test failed, or if an environment could not be created although its Python is installed."""
    parser = argparse.ArgumentParser(prog="python -m tests.compat", description=__doc__)
    known = {each.name: each for each in ENVIRONMENTS}
    parser.add_argument(
        "environments", nargs="*", metavar="environment", help=f"one or more of {', '.join(known)} (default: all)"
    )
    parser.add_argument(
        "--tests",
        action="extend",
        nargs="+",
        default=[],
        help="tests to run instead of each environment's own selection",
    )
    parser.add_argument("--pytest", default="", help="options for pytest")
    given = parser.parse_args()
    if unknown := [name for name in given.environments if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")

    results = [run(known[name], given.tests, given.pytest.split()) for name in given.environments or known]
    sys.stdout.write(f"\n{table(results)}\n")
    return int(any(each.failed for each in results))


if __name__ == "__main__":
    sys.exit(main())

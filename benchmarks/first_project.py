"""The README's first project, with this build of the package and another one in turn: duration and whole CPU time.

Each command is a cold start: dbt's process and its JVM start and end with it. Linux only, because a JVM that outlives
its dbt is counted too.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from . import results
from .results import Table

_README = Path(__file__).resolve().parents[1] / "README.md"
_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SET_CHILD_SUBREAPER = 36
"""The option of prctl(2) by which orphaned descendants become children of this process."""


_SESSION = """
from dbt.cli.main import dbtRunner
for number in range(1, 21):
    land = ["run-operation", "land", "--args", f"{{day: 2026-02-{number:02}}}"]
    for command in (land, ["build"]):
        if not dbtRunner().invoke(["--quiet", *command]).success:
            raise SystemExit(1)
"""
"""A process in which Spark runs on: 20 days, each with new rows and a build."""
_FEW, _MANY = "range(1000)", "range(9000000)"


@dataclass(frozen=True)
class Cost:
    """The duration of a command, and the CPU time of all of its processes, in s."""

    wall: float
    cpu: float


def blocks() -> tuple[str, list[list[str]]]:
    """The README's script that creates the project, and the arguments of the dbt commands that follow it."""
    found = _BLOCK.findall(_README.read_text(encoding="utf-8"))
    (at,) = [number for number, block in enumerate(found) if block.startswith("mkdir -p shop/")]
    lines = found[at + 1].splitlines()
    return found[at], [shlex.split(line, comments=True)[1:] for line in lines]


def measure(builds: Mapping[str, Path], rounds: int) -> dict[str, list[list[Cost]]]:
    """The costs of each command of each round, by build. The first round fills caches and is omitted.

    ``builds``: the ``dbt`` executable of each build. Raises RuntimeError if a command fails.
    """
    reap_orphans()
    create, commands = blocks()
    costs: dict[str, list[list[Cost]]] = {name: [] for name in builds}
    for number in range(rounds + 1):
        for name in list(builds)[:: 1 if number % 2 else -1]:
            with tempfile.TemporaryDirectory(prefix="bench-") as folder:
                subprocess.run(["bash", "-ec", create], cwd=folder, check=True)
                project = Path(folder, "shop")
                found = [run(builds[name], project, each) for each in commands]
                found.append(run(builds[name].with_name("python"), project, ["-c", _SESSION]))
                land = project / "macros" / "land.sql"
                land.write_text(land.read_text(encoding="utf-8").replace(_FEW, _MANY), encoding="utf-8")
                found += [run(builds[name], project, each) for each in commands[:2]]
            print(f"{name:<6} " + " ".join(f"{each.wall:.1f}/{each.cpu:.1f}" for each in found), flush=True)
            if number:
                costs[name].append(found)
    return costs


def table(costs: Mapping[str, Sequence[Sequence[Cost]]], aim: float) -> Table:
    """The medians of each command, and the medians of the ratios of the first build to the second."""
    (ours, other), rounds = costs, len(next(iter(costs.values())))
    found = Table(
        "The README's first project: each command from its start to the end of its last process",
        ["", f"wall, {ours}", other, "ratio", f"whole CPU, {ours}", other, "ratio"],
        note=f"Medians of {rounds} rounds, with both builds in turn, and with a class data archive for {ours}. Each "
        f"command starts a JVM. Aim for the first `dbt build`: at most {aim}.",
    )
    commands = [f"`dbt {' '.join(command)}`" for command in blocks()[1]]
    many = [f"{command}, 9 million rows" for command in commands[:2]]
    for number, command in enumerate([*commands, "20 times `land` and `build` in one process", *many]):
        cells = []
        for part in ("wall", "cpu"):
            values = [[getattr(each[number], part) for each in costs[name]] for name in (ours, other)]
            cells += [*map(results.seconds, values), f"{results.paired_ratio(*values):.2f}"]
        found.add(f"{number + 1}. {command}", *cells)
    return found


def reap_orphans() -> None:
    """Let this process wait for descendants whose parent has ended, so that ``run`` counts them."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(dbt: Path, folder: Path, arguments: Sequence[str], variables: Mapping[str, str] = MappingProxyType({})) -> Cost:
    """Run a command until its last process has ended. Raises RuntimeError if it fails."""
    environment = {**os.environ, "PATH": f"{dbt.parent}{os.pathsep}{os.environ['PATH']}", **variables}
    used, began = _used(), time.monotonic()
    done = subprocess.run([dbt, *arguments], cwd=folder, env=environment, check=False, capture_output=True, text=True)
    wall = time.monotonic() - began
    if done.returncode:
        raise RuntimeError(f"{dbt} {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    with suppress(ChildProcessError):
        while True:
            os.wait()
    return Cost(wall, _used() - used)


def _used() -> float:
    """The CPU time in s of the children that have ended, and of their descendants."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def this_build() -> Path:
    """The ``dbt`` executable of this environment."""
    return Path(sys.executable).with_name("dbt")

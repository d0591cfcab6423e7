"""Measures the time from a source's commit to the third stage's commit, with `watch` and with cold builds by cron.

Also measures the cost of checking 100 sources every 2 seconds for a minute without new commits.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import cpu, results
from .lake import CATALOG, RAW, Lake, Project, open_lake
from .results import Result, Table

NAME = "watch"
_BIN = Path(sys.executable).parent
_INCREMENTAL = "iceberg_incremental_snapshot"
_EVENTS = f"{CATALOG}.{RAW}.events"
_INTERVAL = 2
_MINUTE = 60.0
_MODELS = 10


def three_stages(lake: Lake, name: str) -> Project:
    """A project of three models: an append of the source, a merge and a mirror."""
    project = lake.project(name)
    project.sources("events")
    project.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}", materialized=_INCREMENTAL)
    merge = {"incremental_strategy": "merge", "unique_key": "id"}
    project.model("latest", "select * from {{ ip_changes(ref('staged')) }}", materialized=_INCREMENTAL, **merge)
    mirror = {"incremental_strategy": "apply_changes", "unique_key": "id"}
    changes = "select id, v, _change_type from {{ ip_changelog(ref('latest'), unique_key='id') }}"
    project.model("mirror", changes, materialized=_INCREMENTAL, **mirror)
    project.run()
    return project


@contextmanager
def watching(project: Project, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run `watch` in a separate process. The block starts after its first check."""
    log = project.folder / "watch.log"
    command = [str(_BIN / "dbt-spark-iceberg"), "watch", "--interval", f"{_INTERVAL}s", "--metrics-file", "watch.prom"]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, *options], cwd=project.folder, stdout=output, stderr=subprocess.STDOUT, text=True
        )
    metrics = project.folder / "watch.prom"
    try:
        _until(metrics.exists, process, log)
        yield process
    finally:
        process.terminate()
        process.wait(_MINUTE)


def _until(holds: Callable[[], bool], process: subprocess.Popen[str], log: Path) -> None:
    end = time.monotonic() + 3 * _MINUTE
    while not holds():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"watch did not get this far:\n{log.read_text()[-3000:]}")
        time.sleep(0.05)


@contextmanager
def cron(project: Project) -> Iterator[None]:
    """Run `dbt build` every minute in a separate process. A minute is skipped if the previous build still runs."""
    ends = threading.Event()
    log = project.folder / "cron.log"

    def each_minute() -> None:
        began, number = time.monotonic(), 0
        while not ends.is_set():
            with log.open("a") as output:
                subprocess.run([_BIN / "dbt", "build"], cwd=project.folder, check=True, stdout=output)
            number = int((time.monotonic() - began) / _MINUTE) + 1
            ends.wait(began + number * _MINUTE - time.monotonic())

    thread = threading.Thread(target=each_minute)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def latencies(lake: Lake, project: Project, gaps: Sequence[float]) -> list[float]:
    """Commit rows, and return the times in s from each commit to the third stage's commit that includes its row."""
    mirror = f"{CATALOG}.{project.name}.mirror"
    before = _rows(lake, mirror)
    for number, gap in enumerate(gaps):
        time.sleep(gap)
        lake.sql(f"insert into {_EVENTS} values ({before + number}, 'a')")
    end = time.monotonic() + 5 * _MINUTE
    while _rows(lake, mirror) < before + len(gaps):
        if time.monotonic() > end:
            raise RuntimeError(f"{mirror} did not get all rows")
        time.sleep(1)
    sent = _totals(lake, _EVENTS)
    arrived = _totals(lake, mirror)
    wanted = range(before + 1, before + len(gaps) + 1)
    return [_first(arrived, number) - _first(sent, number) for number in wanted]


def _rows(lake: Lake, table: str) -> int:
    return int(lake.sql(f"select count(*) from {table}")[0][0])


def _totals(lake: Lake, table: str) -> list[tuple[float, int]]:
    """The commit time in s of each snapshot, and the number of rows in it, oldest first."""
    rows = lake.sql(
        f"select unix_millis(committed_at), summary['total-records'] from {table}.snapshots order by committed_at"
    )
    return [(at / 1000, int(total)) for at, total in rows]


def _first(totals: Sequence[tuple[float, int]], rows: int) -> float:
    return next(at for at, total in totals if total >= rows)


def polling(lake: Lake, sources: int, seconds: float) -> float:
    """The CPU time in s per minute of `watch` while it checks ``sources`` sources without new commits."""
    names = [f"source_{number}" for number in range(sources)]
    for name in names:
        lake.sql(f"create table {CATALOG}.{RAW}.{name} using iceberg as select 1 as id, 'a' as v")
    project = lake.project("many")
    project.sources(*names)
    for number in range(_MODELS):
        read = [f"select * from {{{{ ip_changes(source('raw', '{name}')) }}}}" for name in names[number::_MODELS]]
        project.model(f"model_{number}", "\nunion all\n".join(read), materialized=_INCREMENTAL)
    project.run()
    with watching(project) as process:
        time.sleep(2 * _INTERVAL)
        before = cpu.whole(process.pid)
        time.sleep(seconds)
        used = cpu.whole(process.pid) - before
        java = subprocess.run(["pgrep", "-P", str(process.pid), "java"], check=False, stdout=subprocess.DEVNULL)
        if java.returncode == 0:
            raise RuntimeError("watch started Spark without new commits")
    return used * _MINUTE / seconds


def measure(lake: Lake, commits: int, sources: int, seconds: float, result: Result) -> None:
    """Measure `watch` and cron, with the same random intervals between commits, and the checks."""
    chance = random.Random(14)
    gaps = [chance.uniform(5, 25) for _ in range(commits)]
    lake.sql(f"create table {_EVENTS} (id int, v string) using iceberg")
    lake.sql(f"insert into {_EVENTS} values (-1, 'a')")
    project = three_stages(lake, "stages")
    with watching(project):
        lake.sql(f"insert into {_EVENTS} values (-2, 'a')")  # Spark starts with the first run
        while _rows(lake, f"{CATALOG}.stages.mirror") < 2:
            time.sleep(1)
        by_watch = latencies(lake, project, gaps)
    with cron(project):
        by_cron = latencies(lake, project, gaps)
    table = Table(
        "From a commit in the source to the commit of the third stage (append, merge, mirror)",
        ["", "median", "minimum", "maximum"],
        note=f"{commits} commits of one row, 5 to 25 s apart. `watch --interval {_INTERVAL}s` is compared with cron, "
        "which starts a cold `dbt build` every minute.",
    )
    for name, values in (("watch", by_watch), ("cron, every minute", by_cron)):
        table.add(name, *(f"{value:.1f} s" for value in (statistics.median(values), min(values), max(values))))
    result.tables.append(table)
    used = polling(lake, sources, seconds)
    table = Table("Checks without new commits", ["", "CPU per minute"], note="Aim: ≤ 1 s. Spark is not started.")
    table.add(f"{sources} sources, every {_INTERVAL} s", f"{used:.2f} s")
    result.tables.append(table)
    result.measured |= {"watch": by_watch, "cron": by_cron, "polling": [used]}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--sources", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60, help="duration of the checks")
    options = parser.parse_args(argv)
    result = results.begin(NAME)
    with open_lake() as lake:
        measure(lake, options.commits, options.sources, options.seconds, result)
    result.save()


if __name__ == "__main__":
    main()

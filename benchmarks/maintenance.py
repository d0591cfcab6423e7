"""Measures sixty days of a pipeline with three stages, with and without daily maintenance.

Each day, a writer appends events, corrects some events of the last days, and expires all snapshots of its table that
Iceberg can expire. Then `dbt run` updates three stages: a log of the changes, a mirror that applies the log, and totals
by account. On one day per week, the totals are not updated. Each variant runs in several processes, one after another,
for up to 20 days each. If the benchmark is interrupted and started again, completed days are not repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from . import results
from .lake import CATALOG, RAW, Invocation, Lake, Project
from .playback import plots
from .results import Plot, Result, Table

NAME = "maintenance"
SCRATCH = results.scratch(NAME)
KEPT_UP, LEFT_ALONE, NOT_HELD = "with `ip_maintain`", "without", "without held positions"
WAYS = {"maintained": KEPT_UP, "left_alone": LEFT_ALONE, "not_held": NOT_HELD}
_DAYS = {"maintained": 60, "left_alone": 30, "not_held": 30}
_EVENTS, _CORRECTED = 2_000, 50
_ACCOUNTS = 200
_STRETCH = 20
"""The maximum number of days in one process."""
_EVENTS_TABLE = f"{CATALOG}.{RAW}.events"
_LEAST = {"history.expire.max-snapshot-age-ms": "1"}
_STAGES = ("changes", "current", "totals")
_COLUMNS = "id, account, day, seconds"


@dataclass
class Day:
    """One day: the durations of models and maintenance in s, and the sizes of all stages afterwards."""

    models: float
    maintenance: float
    files: int
    snapshots: int
    actions: int


@dataclass
class Outcome:
    """The completed days of one variant, and the error of the next day, if it failed."""

    days: list[Day] = field(default_factory=list)
    error: str = ""
    load_before: float = 0.0


def make_project(lake: Lake, *, held: bool) -> Project:
    """Create the empty source and the models. ``held``: whether the first model holds its position in the source."""
    lake.sql(f"create table if not exists {_EVENTS_TABLE} (id bigint, account int, day int, seconds double)")
    project = lake.project(NAME)
    project.sources("events", database=CATALOG)
    config = {"materialized": "iceberg_incremental_snapshot", "tblproperties": _LEAST}
    hold = {"hold_source": "14 days"} if held else {}
    project.model(
        "changes",
        f"select {_COLUMNS}, _change_type as change from {{{{ ip_changelog(source('{RAW}', 'events'), 'id') }}}}",
        **config,
        **hold,
    )
    project.model(
        "current",
        f"select {_COLUMNS}, change as _change_type from {{{{ ip_changes(ref('changes')) }}}}",
        incremental_strategy="apply_changes",
        unique_key="id",
        **config,
    )
    project.model(
        "totals",
        "select account, count(*) as events, sum(seconds) as seconds "
        "from {{ ip_changed_groups(ref('current'), 'account') }} group by account",
        incremental_strategy="merge",
        unique_key="account",
        **config,
    )
    return project


def write(lake: Lake, day: int) -> None:
    """Write one day: new events, late corrections, and an expiry with the minimum retention.

    If the day was interrupted, its events are not written again.
    """
    first = day * _EVENTS
    if not lake.sql(f"select 1 from {_EVENTS_TABLE} where day = {day} limit 1"):
        lake.sql(
            f"insert into {_EVENTS_TABLE} select id, int(hash(id) % {_ACCOUNTS}), {day}, double(id % 97) "
            f"from range({first}, {first + _EVENTS})"
        )
    if day:
        step = max(1, 3 * _EVENTS // _CORRECTED)
        lake.sql(
            f"update {_EVENTS_TABLE} set seconds = seconds + 1 "
            f"where day between {day - 3} and {day - 1} and id % {step} = 0"
        )
    lake.sql(f"call {CATALOG}.system.expire_snapshots(table => '{RAW}.events', older_than => now(), retain_last => 1)")


def look(lake: Lake, run: Invocation, maintenance: Invocation | None) -> Day:
    """The results of a day, and the current sizes of the stages."""
    tables = [f"{CATALOG}.{NAME}.{stage}" for stage in _STAGES]
    counted = [
        lake.sql(f"select (select count(*) from {table}.files), (select count(*) from {table}.snapshots)")[0]
        for table in tables
    ]
    return Day(
        models=sum(run.models.values()),
        maintenance=0.0 if maintenance is None else maintenance.seconds,
        files=sum(row[0] for row in counted),
        snapshots=sum(row[1] for row in counted),
        actions=0 if maintenance is None else sum("CALL" in each.sql for each in maintenance.statements),
    )


def play(way: str, until: int) -> None:
    """Run the remaining days of a variant, and save each. Raises ValueError if a stage is wrong at the end."""
    outcome = read(way) or Outcome(load_before=results.load_by_others())
    folder = SCRATCH / way
    folder.mkdir(parents=True, exist_ok=True)
    lake = Lake(folder, {"spark.sql.shuffle.partitions": "1"})
    try:
        project = make_project(lake, held=way != "not_held")
        for day in range(len(outcome.days), until):
            write(lake, day)
            run = run_of(project, day)
            if run is None:
                outcome.error = message_of(project)
                save(way, outcome)
                break
            maintenance = project.run("ip_maintain", command="run-operation") if way == "maintained" else None
            outcome.days.append(look(lake, run, maintenance))
            save(way, outcome)
            print(f"{way} {day}: {outcome.days[-1]}", flush=True)
        else:
            compare(lake, project)
    finally:
        lake.stop()


def run_of(project: Project, day: int) -> Invocation | None:
    """Run the models of a day. None if the run failed."""
    left_out = ["--exclude", "totals"] if day % 7 == 5 else []
    try:
        return project.run(*left_out)
    except RuntimeError:
        return None


def save(way: str, outcome: Outcome) -> None:
    """Save the results of a variant so far."""
    (SCRATCH / f"{way}.json").write_text(json.dumps(asdict(outcome)), encoding="utf-8")


def read(way: str) -> Outcome | None:
    """The results of a variant so far. None if there are none."""
    path = SCRATCH / f"{way}.json"
    if not path.exists():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    return Outcome(**{**document, "days": [Day(**each) for each in document["days"]]})


def played(way: str, days: int) -> Outcome | None:
    """Run the remaining days of a variant. Returns its results, or None if the benchmark failed."""
    options = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} -XX:TieredStopAtLevel=1"  # many small statements
    while (outcome := read(way)) is None or (len(outcome.days) < days and not outcome.error):
        until = min(days, _STRETCH + (0 if outcome is None else len(outcome.days)))
        command = [sys.executable, "-m", f"benchmarks.{NAME}", "--way", way, "--days", str(until)]
        if subprocess.run(command, env={**os.environ, "JAVA_TOOL_OPTIONS": options}, check=False).returncode:
            return None
    return outcome


def message_of(project: Project) -> str:
    """The error of the model that failed in the last run."""
    found = json.loads((project.folder / "target" / "run_results.json").read_text(encoding="utf-8"))
    return next(str(each["message"]) for each in found["results"] if each["status"] == "error")


def said(error: str) -> str:
    """The first line of an error, without dbt's context. Empty if there is none."""
    lines = (line.strip() for line in error.splitlines() if not line.startswith("Runtime Error"))
    return next(lines, "")


def compare(lake: Lake, project: Project) -> None:
    """Run all models once more. Raise ValueError if the last two stages differ from the source."""
    project.run()
    totals = f"select account, count(*), sum(seconds) from {_EVENTS_TABLE} group by account"
    for stage, truth in (("current", f"select {_COLUMNS} from {_EVENTS_TABLE}"), ("totals", totals)):
        built = f"select * from {CATALOG}.{NAME}.{stage}"
        for one, other in ((built, truth), (truth, built)):
            if lake.sql(f"select 1 from ({one} except all {other}) limit 1"):
                raise ValueError(f"{stage} differs from the source")


def publish(found: dict[str, Outcome]) -> Result:
    """Create the tables of figures, and the plot."""
    result = Result(NAME, load_before=max(each.load_before for each in found.values()))
    table = Table(
        f"Three stages, day by day: {_EVENTS:,} events and about {_CORRECTED} late corrections per day",
        ["", *WAYS.values()],
        note="Each day, between two runs, a writer expires all source snapshots that Iceberg can expire. The "
        "stages' tables also have the shortest possible retention. `ip_maintain` runs after each `dbt run`, and "
        "`hold_source` holds the position in the source. On one day per week, the last stage is not run. At the end, "
        "the tables of the last two stages equal the source, row by row. `days without a break` counts the days until "
        "the error, or all measured days if there is no error. `first` and `last` are means of the first and the last "
        "10 days. `files` counts the data files and delete files of all three stages.",
    )
    columns = list(found.values())

    def mean(each: Outcome, of: str, part: slice, text: str) -> str:
        values = [getattr(day, of) for day in each.days[1:][part]]  # the first day builds the tables
        return "" if each.error else text.format(statistics.mean(values))

    first, last = slice(0, 10), slice(-10, None)
    table.add("days without a break", *(str(len(each.days)) for each in columns))
    for title, of, text in (
        ("files", "files", "{:,.0f}"),
        ("snapshots", "snapshots", "{:,.0f}"),
        ("duration of the models", "models", "{:.1f} s"),
        ("duration of `ip_maintain`", "maintenance", "{:.1f} s"),
    ):
        table.add(f"{title}, first", *(mean(each, of, first, text) for each in columns))
        table.add(f"{title}, last", *(mean(each, of, last, text) for each in columns))
    table.add("the error", *(said(each.error) for each in columns))
    result.tables.append(table)
    result.plots = [Plot("maintenance.svg", "Files and duration of a run, day by day, with and without maintenance")]
    for way, each in found.items():
        result.measured |= {f"{way}.{of}": [getattr(day, of) for day in each.days] for of in Day.__dataclass_fields__}
    shown = {WAYS[way]: found[way].days for way in ("maintained", "left_alone") if way in found}
    plots.days(
        results.PLOTS / "maintenance.svg",
        {
            "data and delete files": {name: [day.files for day in each] for name, each in shown.items()},
            "duration of the models, s": {name: [day.models for day in each] for name, each in shown.items()},
        },
        [KEPT_UP],
    )
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the remaining variants, and save the result. Returns the exit code, which is 1 if a variant failed."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{NAME}", description=__doc__)
    parser.add_argument("--way", choices=WAYS, help="run this variant up to --days, and save its results")
    parser.add_argument("--days", type=int, help="the last day of --way")
    parser.add_argument("--publish", action="store_true", help="publish the days so far")
    options = parser.parse_args(argv)
    if options.way:
        play(options.way, options.days or _DAYS[options.way])
        return 0
    found = {}
    for way in WAYS:
        whole = read(way) if options.publish else played(way, _DAYS[way])
        if whole is None:
            return 1
        found[way] = whole
    publish(found).save()
    shutil.rmtree(SCRATCH)
    return 0


if __name__ == "__main__":
    sys.exit(main())

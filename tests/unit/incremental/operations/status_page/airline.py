"""The status of an airline's project with models in each state, for tests of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbt.adapters.spark_iceberg.status.last_command import LastCommand, NodeResult
from dbt.adapters.spark_iceberg.status.model_status import ModelStatus, SourceStatus
from dbt.adapters.spark_iceberg.status.project_status import (
    CommitView,
    Edge,
    ModelView,
    ProjectStatus,
    TableView,
)
from dbt.adapters.spark_iceberg.status.runs import ReadView, RunView
from iceberg_incremental.table.shares import Share, sum_of

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 1_768_478_400_000  # 2026-01-15 12:00 UTC
ROW = 30
"""The size of a row in bytes."""
ERROR = """\
lake.ops.weather changed or deleted rows, which model.airline.weather_hours does not read.
  Expected: commits that only append, since snapshot 3051729675574597011 (2026-01-14 00:00:00 UTC).
  Found: 1 commit changed or deleted rows: overwrite 3051729675574597012 (2026-01-15 00:00:00 UTC).
  To fix, one of:
    1. read changed rows too: on_source_rewrite: upserts, with incremental_strategy merge
    2. rebuild the model from the source as it is now: `dbt run --full-refresh --select weather_hours`"""


def commits(first_day: int, *, days: int = 10, rows: int = 900, hour: int = 0, late: bool = False) -> list[CommitView]:
    """One commit a day. Every fourth commit is a compaction without new rows."""
    found = []
    for number in range(days):
        at = NOW - (days - number) * DAY + hour * HOUR
        compacts = number % 4 == 3
        added = 0 if compacts else rows + 37 * ((number * 7) % 5)
        late_ms = (number * 5 % 7 + 1) * 9 * HOUR
        known = late and not compacts
        found.append(
            CommitView(
                first_day * 100 + number,
                at,
                "none" if compacts else "append",
                added,
                0,
                added * ROW,
                at - late_ms if known else None,
                at - HOUR if known else None,
                late_ms if known else None,
            )
        )
    return found


def table(name: str, kind: str, several: Sequence[CommitView], event_time: str | None = None) -> TableView:
    rows = sum(each.rows_added for each in several)
    node = f"{'source' if kind == 'source' else 'model'}.airline.{name.replace('.', '_')}"
    return TableView(f"lake.{name}", [node], kind, event_time, rows, 2 * len(several), rows * ROW, several)


def runs(source: TableView, last: int, hour: int = 2, *, whole: bool = False) -> list[RunView]:
    """One run after each of a source's first ``last`` commits that changed rows."""
    found: list[RunView] = []
    held, before = 0, None
    for commit in source.commits[:last]:
        held += commit.rows_added
        if commit.effect == "none":
            continue
        kind = "as_of" if whole else "range" if found else "whole"
        read = held if whole or not found else commit.rows_added
        share = Share(read, read * ROW, held, held * ROW)
        found.append(
            RunView(
                len(found) + 1,
                f"run-{len(found) + 1}",
                9000 + len(found),
                commit.committed_at_ms + hour * HOUR,
                commit.rows_added,
                0,
                [ReadView(source.table, kind, before, commit.snapshot_id, 1, share)],
            )
        )
        before = commit.snapshot_id
    return found


def status_of_source(source: TableView, at: int, **more: object) -> SourceStatus:
    """The status of a source that a model has read up to its ``at``-th commit. Later commits are pending."""
    position = source.commits[at - 1]
    behind = [each for each in source.commits[at:] if each.effect != "none"]
    known: dict[str, object] = {"pending": "nothing"}
    if behind:
        known = {
            "pending": "append",
            "snapshots": len(behind),
            "files": 2 * len(behind),
            "records": sum(each.rows_added for each in behind),
            "bytes": sum(each.bytes_added for each in behind),
            "oldest_pending_ms": behind[0].committed_at_ms,
            "expires_at_ms": position.committed_at_ms + 5 * DAY,
        }
    return SourceStatus(
        source.table,
        position.snapshot_id,
        position.committed_at_ms,
        age_ms=NOW - position.committed_at_ms,
        **{**known, **more},  # type: ignore[arg-type]
    )


def model(
    target: TableView,
    state: str,
    next_run: str,
    of: Sequence[RunView],
    *sources: SourceStatus,
    error: str | None = None,
) -> ModelView:
    name = target.table.rpartition(".")[2]
    status = ModelStatus(f"model.airline.{name}", target.table, len(of), next_run, error, sources, state)
    oldest = [each.oldest_pending_ms for each in sources if each.oldest_pending_ms is not None]
    lag = NOW - min(oldest) if oldest else 0 if state == "current" else None
    commands = ["dbt run --full-refresh --select weather_hours"] if error else []
    read = sum_of(each.read for run in of for each in run.sources if each.read is not None)
    last = max((run.committed_at_ms or 0 for run in of), default=None)
    return ModelView(name, status, lag, commands, last, of, read)


def airline() -> ProjectStatus:
    """A status with sources, two stages of models, and models that lag, fail, or were never built."""
    flights = table("ops.flights", "source", commits(1, rows=2700, late=True), "sched_dep")
    weather = table("ops.weather", "source", commits(2, rows=400, hour=1))
    carriers = table("ops.carriers", "source", commits(3, days=9, rows=16)[:1])
    staged = table("analytics.flights_staged", "model", commits(4, rows=2700, hour=2))
    latest = table("analytics.flights_latest", "model", commits(5, rows=2600, hour=3))
    hours = table("analytics.weather_hours", "model", commits(6, days=6, rows=300, hour=3))
    delays = table("analytics.daily_delays", "model", commits(7, rows=60, hour=4))
    routes = TableView("lake.analytics.route_delays", ["model.airline.route_delays"], "model", error="does not exist")
    models = [
        model(
            delays,
            "pending",
            "applies what is pending",
            runs(latest, 7),
            status_of_source(latest, 7),
            status_of_source(carriers, 1),
        ),
        model(latest, "pending", "applies what is pending", runs(staged, 8), status_of_source(staged, 8)),
        model(staged, "current", "nothing to do", runs(flights, 10), status_of_source(flights, 10)),
        model(routes, "rebuild", "builds the whole table (first build)", []),
        model(
            hours,
            "fails",
            "fails",
            runs(weather, 5),
            status_of_source(weather, 5, pending="rewritten", snapshots=0, expires_at_ms=NOW + 7 * HOUR),
            error=ERROR,
        ),
    ]
    tables = [delays, latest, staged, routes, hours, carriers, flights, weather]
    edges = [
        Edge(source.table, f"model.airline.{name}")
        for source, name in (
            (flights, "flights_staged"),
            (staged, "flights_latest"),
            (latest, "daily_delays"),
            (carriers, "daily_delays"),
            (latest, "route_delays"),
            (hours, "route_delays"),
            (weather, "weather_hours"),
        )
    ]
    return ProjectStatus("airline", NOW, models, sorted(tables, key=lambda each: each.table), edges, last_command())


def last_command() -> LastCommand:
    """A `dbt build` with a test that failed, a view, and a model of the page."""
    results = [
        NodeResult("model.airline.flights_staged", "flights_staged", "model", "success", 7.84, 2811, "OK 2,811 rows"),
        NodeResult("model.airline.late_flights", "late_flights", "view", "success", 0.42, None, "OK"),
        NodeResult("test.airline.unique_flights", "unique_flights_staged_id", "test", "pass", 1.31, 0, ""),
        NodeResult("test.airline.delays", "delays_are_not_negative", "test", "fail", 1.07, 3, "Got 3 results"),
    ]
    return LastCommand("dbt build", "run-8", NOW - HOUR, 24.6, results)


def chain(layers: int) -> ProjectStatus:
    """A source and models that each read the one before, so that the graph has this many layers."""
    tables = [table("ops.orders", "source", commits(1))]
    tables += [table(f"analytics.orders_by_customer_{n}", "model", commits(n)) for n in range(2, layers + 1)]
    models = [model(each, "pending", "applies what is pending", []) for each in tables[1:]]
    models = [replace(each, lag_ms=3 * DAY) for each in models]
    edges = [Edge(one.table, each.status.model) for one, each in zip(tables, models, strict=False)]
    return ProjectStatus("shop", NOW, models, tables, edges)

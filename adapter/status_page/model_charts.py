"""The charts of a model's section, each with its numbers as a table. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iceberg_incremental.quantities import age, counted, instant, size_text
from iceberg_incremental.table.commits import Effect
from iceberg_incremental.table.shares import sum_of

from ..status.project_status import ModelView, TableView
from . import charts
from .shares import percent, read_rows, short_names


@dataclass(frozen=True)
class Chart:
    """A chart: its title, a sentence that describes it, the figure, and its numbers as a table."""

    title: str
    summary: str
    figure: charts.Figure
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def charts_of(model: ModelView, tables: Mapping[str, TableView], now_ms: int) -> list[Chart]:
    """The charts of a model. Charts without data are omitted."""
    positions = {source.source: source.position_snapshot_id for source in model.status.sources}
    names = short_names(list(positions))
    read = {
        names[source]: charts.consumed(tables[source], model.runs, position)
        for source, position in positions.items()
        if source in tables
    }
    timed = {names[source]: tables[source] for source in positions if source in tables}
    found = (_timeline(model, read, now_ms), _savings(model), _versions(model), _lateness(timed))
    return [chart for chart in found if chart is not None]


def _timeline(model: ModelView, read: Mapping[str, Sequence[charts.Consumed]], now_ms: int) -> Chart | None:
    figure = charts.timeline(model, read, now_ms)
    if figure is None:
        return None
    rows = [
        (
            source,
            instant(each.commit.committed_at_ms),
            each.commit.effect,
            f"{each.commit.rows_added:,}",
            f"{each.commit.rows_removed:,}",
            "no" if each.epoch is None else f"run {each.epoch}" if each.epoch else "yes",
        )
        for source, several in read.items()
        for each in several[::-1]
    ]
    unread = sum(
        each.epoch is None and each.commit.effect != Effect.NONE.value for several in read.values() for each in several
    )
    summary = f"{counted(len(rows), 'source commit')}, {unread} unread; {counted(len(model.runs), 'run')}."
    head = ("source", "committed", "effect", "rows added", "rows removed", "read")
    return Chart("Source commits and the runs that read them", summary, figure, head, rows)


def _savings(model: ModelView) -> Chart | None:
    figure = charts.savings(model.runs)
    if figure is None:
        return None
    rows = []
    for run in reversed(model.runs):
        total = sum_of(each.read for each in run.sources if each.read is not None)
        when = "–" if run.committed_at_ms is None else instant(run.committed_at_ms)
        wrote = (f"{run.rows_added:,}", f"{run.rows_removed:,}")
        read = (f"{total.records:,}", f"{total.table_records:,}", size_text(total.bytes))
        rows.append((str(run.epoch), when, *read, *wrote))
    summary = f"All known runs together read {percent(model.read)} of the rows in the sources: {read_rows(model.read)}."
    head = ("run", "committed", "rows read", "rows in the sources", "bytes read", "rows added", "rows removed")
    return Chart("Share of the source rows that each run read", summary, figure, head, rows)


def _versions(model: ModelView) -> Chart | None:
    figure = charts.versions(model.runs)
    if figure is None:
        return None
    known = [(run, run.versions) for run in model.runs[::-1] if run.versions is not None]
    rows = [
        (
            str(run.epoch),
            instant(run.committed_at_ms or 0),
            f"{found.added:,}",
            "not known" if found.updated is None else f"{found.updated:,}",
        )
        for run, found in known
    ]
    summary = f"{counted(sum(found.added for _, found in known), 'version')} added by {counted(len(known), 'run')}."
    head = ("run", "committed", "versions added", "versions ended or updated")
    return Chart("Versions written by each run", summary, figure, head, rows)


def _lateness(tables: Mapping[str, TableView]) -> Chart | None:
    figure = charts.lateness(tables)
    if figure is None:
        return None
    known = [
        (name, commit) for name, table in tables.items() for commit in table.commits[::-1] if commit.late_ms is not None
    ]
    rows = [
        (name, instant(commit.committed_at_ms), age(commit.late_ms or 0), instant(commit.oldest_event_ms or 0))
        for name, commit in known
    ]
    latest = max(commit.late_ms or 0 for _, commit in known)
    summary = f"The largest lateness is {age(latest)}, in {counted(len(known), 'commit')}."
    return Chart(
        "Lateness of the oldest row of each commit",
        summary,
        figure,
        ("source", "committed", "late", "oldest event"),
        rows,
    )

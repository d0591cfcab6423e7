"""The charts of a model as Plotly figures: plain values, which the page's script draws. Pure functions.

Colors are names of the page's CSS properties, such as ``--pending``, whose values differ in light and dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from iceberg_incremental.quantities import age, counted, instant, size_text
from iceberg_incremental.table.commits import Effect
from iceberg_incremental.table.shares import Share, sum_of

from ..status.project_status import CommitView, ModelView, TableView
from ..status.runs import RunView

Figure = dict[str, Any]

_SYMBOLS = {
    Effect.APPEND.value: "circle",
    Effect.ADDITION.value: "circle",
    Effect.REWRITE.value: "diamond",
    Effect.NONE.value: "line-ns-open",
}
_DONE = {
    Effect.APPEND.value: "appended",
    Effect.ADDITION.value: "added",
    Effect.REWRITE.value: "changed or deleted rows",
    Effect.NONE.value: "no change of rows",
}
_UNITS = (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1000))
_MARKERS: Figure = {"type": "scatter", "mode": "markers"}
_LANE = 44
"""The height of a lane in pixels."""


@dataclass(frozen=True)
class Consumed:
    """A commit of a source. ``epoch``: the epoch of the run that read it; None if no run has read it."""

    commit: CommitView
    epoch: int | None


def consumed(source: TableView, runs: Sequence[RunView], position: int | None) -> list[Consumed]:
    """The commits of a source, each with the run of a model that read it.

    ``position``: the model's position in the source. Commits that were read before the known runs have epoch 0.
    """
    order = {commit.snapshot_id: index for index, commit in enumerate(source.commits)}
    epochs: dict[int, int] = {}
    for run in runs:
        for read in run.sources:
            if read.source != source.table or read.to_snapshot_id not in order:
                continue
            # The start of a range may be older than the known commits.
            first = order.get(read.from_snapshot_id or 0, -1) + 1 if read.kind == "range" else 0
            for commit in source.commits[first : order[read.to_snapshot_id] + 1]:
                epochs.setdefault(commit.snapshot_id, run.epoch)
    last = order.get(position or 0, -1)
    return [
        Consumed(commit, epochs.get(commit.snapshot_id, 0 if index <= last else None))
        for index, commit in enumerate(source.commits)
    ]


def timeline(model: ModelView, sources: Mapping[str, Sequence[Consumed]], now_ms: int) -> Figure | None:
    """The times of the sources' commits, and the runs that read them. None without commits.

    ``sources``: the commits of each source by the name to show, from top to bottom.
    """
    lanes = [*sources, "runs"]
    rank = {lane: -index for index, lane in enumerate(lanes)}
    runs = {run.epoch: run for run in model.runs if run.committed_at_ms is not None}
    commits = [(lane, each) for lane, several in sources.items() for each in several]
    if not commits and not runs:
        return None
    links: tuple[list[int | None], list[int | None]] = ([], [])
    for lane, each in commits:
        run = runs.get(each.epoch or 0)
        if run is not None and each.commit.effect != Effect.NONE.value:
            links[0].extend((each.commit.committed_at_ms, run.committed_at_ms, None))
            links[1].extend((rank[lane], rank["runs"], None))
    empty = [(lane, each) for lane, each in commits if each.commit.effect == Effect.NONE.value]
    read = [(lane, each) for lane, each in commits if (lane, each) not in empty and each.epoch is not None]
    unread = [(lane, each) for lane, each in commits if (lane, each) not in empty and each.epoch is None]
    traces: list[Figure] = [
        {"type": "scatter", "mode": "lines", "x": links[0], "y": links[1], "hoverinfo": "skip", "showlegend": False}
        | {"line": {"width": 1, "color": "--link"}},
        _commits("read", read, rank, "--read"),
        _commits("unread", unread, rank, "--pending"),
        _commits("no new rows", empty, rank, "--faint") | {"showlegend": False},
        _MARKERS
        | {"x": [run.committed_at_ms for run in runs.values()], "y": [rank["runs"]] * len(runs)}
        | _with_texts("run", map(_run_text, runs.values()), {"symbol": "square", "size": 11, "color": "--run"}),
    ]
    times = [each.commit.committed_at_ms for _, each in commits]
    times += [run.committed_at_ms for run in runs.values() if run.committed_at_ms is not None]
    first, last = min(times), max(*times, now_ms)
    margin = max((last - first) // 24, 1000)
    figure = _figure([trace for trace in traces if trace["x"]], 74 + _LANE * len(lanes))
    figure["layout"]["xaxis"] |= {"type": "date", "range": [first - margin, last + margin]}
    figure["layout"]["yaxis"] |= {
        "tickvals": list(rank.values()),
        "ticktext": [_text(_shortened(lane)) for lane in lanes],
        "range": [-len(lanes) + 0.5, 0.5],
        "zeroline": False,
    }
    figure["layout"]["shapes"] = [
        {"type": "line", "x0": now_ms, "x1": now_ms, "yref": "paper", "y0": 0, "y1": 1}
        | {"line": {"width": 1, "dash": "dot", "color": "--faint"}}
    ]
    return figure


def savings(runs: Sequence[RunView]) -> Figure | None:
    """The rows that each run read, compared with the rows of the whole tables. None if no such run is known."""
    known = [(run, [each.read for each in run.sources if each.read is not None]) for run in runs]
    known = [(run, reads) for run, reads in known if sum(each.table_records for each in reads)]
    if not known:
        return None
    labels = [str(run.epoch) for run, _ in known]
    traces = []
    for name, color, rows, sizes in (
        ("in the whole tables", "--whole", "table_records", "table_bytes"),
        ("read by the run", "--run", "records", "bytes"),
    ):
        counts = [sum(getattr(each, rows) for each in reads) for _, reads in known]
        bytes_ = [sum(getattr(each, sizes) for each in reads) for _, reads in known]
        texts = [
            f"run {label}: {counted(count, 'row')}, {size_text(size)} {name}"
            for label, count, size in zip(labels, counts, bytes_, strict=True)
        ]
        traces.append(_bars(labels, counts, _with_texts(name, texts, {"color": color})))
    return _of_runs(traces, "overlay", "rows")


def versions(runs: Sequence[RunView]) -> Figure | None:
    """The versions that each run of a history wrote. None if no such run is known."""
    known = [(run, run.versions) for run in runs if run.versions is not None]
    if not known:
        return None
    labels = [str(run.epoch) for run, _ in known]
    traces = []
    for name, color, counts in (
        ("added", "--run", [found.added for _, found in known]),
        ("ended or updated", "--whole", [found.updated or 0 for _, found in known]),
    ):
        texts = [
            f"run {label}: {counted(count, 'version')} {name}" for label, count in zip(labels, counts, strict=True)
        ]
        traces.append(_bars(labels, counts, _with_texts(name, texts, {"color": color})))
    return _of_runs(traces, "group", "versions")


def _bars(labels: Sequence[str], counts: Sequence[int], texts: Figure) -> Figure:
    return {"type": "bar", "x": labels, "y": counts, "textposition": "none"} | texts


def _of_runs(traces: Sequence[Figure], barmode: str, unit: str) -> Figure:
    """The chart with a bar of each trace for each run. ``unit``: what the bars count."""
    figure = _figure(traces, 220)
    figure["layout"] |= {"barmode": barmode, "bargap": 0.25}
    figure["layout"]["xaxis"] |= {"type": "category", "title": {"text": "run", "standoff": 4}}
    figure["layout"]["yaxis"] |= {"title": {"text": unit}, "rangemode": "tozero", "tickformat": "~s"}
    return figure


def lateness(sources: Mapping[str, TableView]) -> Figure | None:
    """The time between the oldest event time of each commit and the commit. None if it is unknown for all commits."""
    known = {
        name: [commit for commit in table.commits if commit.late_ms is not None] for name, table in sources.items()
    }
    largest = max((commit.late_ms or 0 for commits in known.values() for commit in commits), default=None)
    if largest is None:
        return None
    unit, length = next(((unit, length) for unit, length in _UNITS if largest >= 2 * length), _UNITS[-1])
    traces = []
    for number, (name, commits) in enumerate(known.items()):
        late, color = [(commit.late_ms or 0) / length for commit in commits], f"--series-{number % 4 + 1}"
        texts = [
            f"{_text(name)}, {instant(commit.committed_at_ms)}<br>"
            f"oldest event {age(commit.late_ms or 0)} before the commit"
            for commit in commits
        ]
        bars = {"type": "data", "symmetric": False, "array": [0] * len(late), "arrayminus": late, "color": color}
        traces.append(
            _MARKERS
            | {"x": [commit.committed_at_ms for commit in commits], "y": late}
            | {"error_y": {**bars, "width": 0, "thickness": 1.5}}
            | _with_texts(_text(_shortened(name)), texts, {"size": 8, "color": color})
        )
    traces = [trace for trace in traces if trace["x"]]
    figure = _figure(traces, 220)
    figure["layout"]["xaxis"] |= {"type": "date"}
    figure["layout"]["yaxis"] |= {"title": {"text": f"{unit} late"}, "rangemode": "tozero"}
    figure["layout"]["showlegend"] = len(traces) > 1
    return figure


def _commits(name: str, several: Iterable[tuple[str, Consumed]], rank: Mapping[str, int], color: str) -> Figure:
    shown = list(several)
    marker = {
        "symbol": [_SYMBOLS[each.commit.effect] for _, each in shown],
        "size": [_size(each.commit) for _, each in shown],
        "color": color,
        "opacity": 1,
        "line": {"width": 1, "color": color},
    }
    return (
        _MARKERS
        | {"x": [each.commit.committed_at_ms for _, each in shown], "y": [rank[lane] for lane, _ in shown]}
        | _with_texts(name, (_commit_text(lane, each) for lane, each in shown), marker)
    )


def _with_texts(name: str, texts: Iterable[str], marker: Figure) -> Figure:
    """The common part of markers and bars. ``texts``: the text that each one shows on hover."""
    return {"name": name, "text": list(texts), "hovertemplate": "%{text}<extra></extra>", "marker": marker}


def _size(commit: CommitView) -> float:
    """The size of a commit's marker in pixels. It grows with the logarithm of the number of added rows."""
    return round(min(8 + 1.6 * math.log10(1 + commit.rows_added), 18), 1)


def _commit_text(lane: str, each: Consumed) -> str:
    commit = each.commit
    by = "unread" if each.epoch is None else f"read by run {each.epoch}" if each.epoch else "read"
    rows = f"+{commit.rows_added:,} −{commit.rows_removed:,} rows"
    return f"{_text(lane)}, {instant(commit.committed_at_ms)}<br>{_DONE[commit.effect]}: {rows}<br>{by}"


def _run_text(run: RunView) -> str:
    when = instant(run.committed_at_ms or 0)
    return f"run {run.epoch}, {when}<br>wrote +{run.rows_added:,} −{run.rows_removed:,} rows"


def _text(name: str) -> str:
    """A name with escaped tags and entities, which Plotly would interpret."""
    return escape(name, quote=False)


def _shortened(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}…"


def _figure(traces: Sequence[Figure], height: int) -> Figure:
    axis = {"fixedrange": True, "gridcolor": "--grid", "linecolor": "--grid", "automargin": True, "zeroline": False}
    return {
        "data": list(traces),
        "layout": {
            "height": height,
            "margin": {"l": 8, "r": 12, "t": 26, "b": 8},
            "paper_bgcolor": "--clear",
            "plot_bgcolor": "--clear",
            "font": {"color": "--text", "size": 12},
            "hoverlabel": {"align": "left"},
            "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom"},
            "showlegend": True,
            "dragmode": False,
            "xaxis": dict(axis),
            "yaxis": dict(axis),
        },
    }


def short_names(tables: Sequence[str]) -> dict[str, str]:
    """The last parts of the tables' names if these are unique, otherwise the full names."""
    last = {table: table.rpartition(".")[2] for table in tables}
    return last if len(set(last.values())) == len(tables) else {table: table for table in tables}


def percent(share: Share) -> str:
    """The share of rows that were read, in percent."""
    percent = 100 * (share.of_records or 0)
    return f"{'≤ ' if share.at_most else ''}{percent:.0f} %" if percent >= 10 else f"{percent:.1f} %"


def read_rows(share: Share) -> str:
    """The number of rows that were read, out of all rows."""
    return f"{share.records:,} of {counted(share.table_records, 'row')}"


def read_bytes(share: Share) -> str:
    """The number of bytes that were read, out of all bytes."""
    return f"{size_text(share.bytes)} of {size_text(share.table_bytes)}"


@dataclass(frozen=True)
class Chart:
    """A chart: its title, a sentence that describes it, the figure, and its numbers as a table."""

    title: str
    summary: str
    figure: Figure
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def charts_of(model: ModelView, tables: Mapping[str, TableView], now_ms: int) -> list[Chart]:
    """The charts of a model. Charts without data are omitted."""
    positions = {source.source: source.position_snapshot_id for source in model.status.sources}
    names = short_names(list(positions))
    read = {
        names[source]: consumed(tables[source], model.runs, position)
        for source, position in positions.items()
        if source in tables
    }
    timed = {names[source]: tables[source] for source in positions if source in tables}
    found = (_timeline(model, read, now_ms), _savings(model), _versions(model), _lateness(timed))
    return [chart for chart in found if chart is not None]


def _timeline(model: ModelView, read: Mapping[str, Sequence[Consumed]], now_ms: int) -> Chart | None:
    figure = timeline(model, read, now_ms)
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
    figure = savings(model.runs)
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
    figure = versions(model.runs)
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
    figure = lateness(tables)
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

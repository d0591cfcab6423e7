"""The content of the status page: text, tables, drawings and charts. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError
from typing import Any

from iceberg_incremental.explain.model_errors import changed_since
from iceberg_incremental.quantities import age, counted, instant, rows_text, size_text
from iceberg_incremental.table.shares import sum_of

from ..status.last_command import LastCommand, NodeResult
from ..status.live import Failure, Live
from ..status.model_status import SourceStatus, versions_text
from ..status.project_status import ModelView, ProjectStatus, TableView
from . import drawing
from .charts import Chart, charts_of, percent, read_bytes, read_rows
from .drawing import layers_of

_TONES = {
    **dict.fromkeys(("success", "pass", "no-op"), "current"),
    **dict.fromkeys(("warn", "skipped", "partial success"), "pending"),
}
"""The state whose color a result has. All other results are failures."""
_ORDER = {"fails": 0, "pending": 1, "current": 2}


@dataclass(frozen=True)
class ResultView:
    """A row of the table of results. ``tone``: the state that determines its color."""

    name: str
    kind: str
    result: str
    duration: str
    rows: str
    tone: str


@dataclass(frozen=True)
class CommandView:
    """The last dbt command as a sentence, and its results, failures first."""

    summary: str
    results: Sequence[ResultView]


def command_view(command: LastCommand | None) -> CommandView | None:
    """The last dbt command. None if its results are not known."""
    if command is None:
        return None
    shown = sorted(map(_result, command.results), key=lambda each: _ORDER[each.tone])
    failed = sum(each.tone == "fails" for each in shown)
    ended = f"{command.command} ended at {instant(command.ended_at_ms)} after {_seconds(command.seconds)}"
    return CommandView(f"{ended}: {counted(len(shown), 'node')}, {failed} failed.", shown)


def _result(found: NodeResult) -> ResultView:
    rows = "–"
    if found.rows is not None:
        rows = f"{counted(found.rows, 'row')} {'failed' if found.kind == 'test' else 'written'}"
    return ResultView(
        found.name, found.kind, found.result, _seconds(found.seconds), rows, _TONES.get(found.result, "fails")
    )


def last_run_text(model: ModelView, command: LastCommand | None) -> str:
    """The last run of a model that committed: its rows and, if it was a part of the last command, its duration."""
    run = next((each for each in reversed(model.runs) if each.committed_at_ms is not None), None)
    if run is None:
        return ""
    seconds = None if command is None else command.seconds_of(model.status.model, run.invocation_id)
    took = "" if seconds is None else f" in {_seconds(seconds)}"
    when = instant(run.committed_at_ms or 0)
    return f"run {run.epoch} of {when} added {counted(run.rows_added, 'row')} and removed {run.rows_removed:,}{took}"


def updates_text(model: ModelView) -> str:
    """How the known runs after the first build updated a model. Empty for a model without a method."""
    if model.update_method is None:
        return ""
    known = [run.rewrote_all for run in model.runs if run.rewrote_all is not None]
    whole = sum(known)
    if not known:
        return f"can be updated {model.update_method}; no known run has updated it"
    if not whole:
        return f"updated {model.update_method}"
    of = f"{'the last run' if len(known) == 1 else f'{whole} of the last {len(known)} runs'} that wrote rows"
    done = "rewrote all rows of the table"
    return f"{of} {done}; {'can also be' if whole == len(known) else 'the others'} updated {model.update_method}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.1f} s"


STATES = {
    "current": ("✓", "up to date"),
    "pending": ("▶", "rows pending"),
    "rebuild": ("↻", "will be rebuilt"),
    "fails": ("✕", "the next run fails"),
}
"""The symbol and text of each state of a model. The symbol is for readers who cannot distinguish the colors."""

_COUNTED = {"pending": "behind", "rebuild": "to be rebuilt", "fails": "failing"}
_SOON_MS = 2 * 86_400_000
_MOST_OPEN = 6
"""All sections are open if there are at most this many models."""


@dataclass(frozen=True)
class Tile:
    """A number at the top of the page. ``tone``: the state that determines its color, or empty."""

    label: str
    value: str
    note: str
    tone: str = ""


@dataclass(frozen=True)
class GraphNode:
    """A box of the graph. ``anchor``: the model's section; empty for a table that is not a model."""

    name: str
    table: str
    sign: str
    state: str
    words: str
    anchor: str


@dataclass(frozen=True)
class ReadingView:
    """A row of the table of sources: how far a model has read a source.

    ``tone``: the state that determines the color of ``expiry``, or empty.
    """

    source: str
    position: str
    pending: str
    expiry: str
    tone: str


@dataclass(frozen=True)
class Card:
    """A model's section.

    ``failing``: a sentence with the start of the failure and the next retry; empty without a failure in ``watch``.
    ``versions``: the versions that the last run of a history wrote; empty for other models. ``last_run``: the rows that
    the last run wrote, and its duration if known. ``updates``: how the last runs of a model with ``auto`` updated it.
    """

    anchor: str
    model: ModelView
    sign: str
    words: str
    lag: str
    versions: str
    last_run: str
    updates: str
    is_open: bool
    failing: str
    readings: Sequence[ReadingView]
    charts: Sequence[Chart]


def view_of(status: ProjectStatus, live: Live) -> dict[str, Any]:
    """The variables of the template: the status of a project, and the state of ``watch``.

    ``drawings``: the graph for wide and for narrow screens; empty for a graph with cycles. A deep graph has only the
    narrow drawing. ``command``: the last dbt command, or None. ``run``: a sentence about
    the run in progress, or empty. ``other_failures``: failing nodes that are not models of the page.
    """
    now_ms = status.generated_at_ms
    shown = {each.status.model for each in status.models}
    tables = {table.table: table for table in status.tables}
    anchors = {each.status.target: f"model-{number}" for number, each in enumerate(status.models, 1)}
    several = len(status.models) > _MOST_OPEN
    return {
        "project": status.project,
        "generated_at_ms": now_ms,
        "generated": instant(now_ms),
        "tiles": _tiles(status),
        "nodes": _nodes(status, anchors),
        "drawings": _drawings(status),
        "cards": [
            _card(each, status, tables, anchors[each.status.target], live, folded=several) for each in status.models
        ],
        "command": command_view(status.last_command),
        "run": _run(live, now_ms),
        "other_failures": [
            {"name": name, "failing": _failing(failure, now_ms), "message": failure.message}
            for name, failure in sorted(live.failing.items())
            if name not in shown
        ],
    }


def _run(live: Live, now_ms: int) -> str:
    if live.run is None:
        return ""
    began_ms = int(live.run.began * 1000)
    since = f"since {instant(began_ms)} ({age(now_ms - began_ms)})"
    return f"A run is in progress: {counted(live.run.nodes, 'node')}, {since}."


def _failing(failure: Failure, now_ms: int) -> str:
    since_ms, retry_ms = int(failure.since * 1000), int(failure.retry_at * 1000)
    retry = f"in {age(retry_ms - now_ms)}" if retry_ms - now_ms >= 1000 else "now"
    # The number of failures is 0 after the project was reloaded.
    times = f", {counted(failure.failures, 'time')} in a row" if failure.failures else ""
    return (
        f"Failing since {instant(since_ms)} ({age(now_ms - since_ms)}){times}. "
        f"Next retry: {retry}, at {instant(retry_ms)}."
    )


def _tiles(status: ProjectStatus) -> list[Tile]:
    states = [model.status.state for model in status.models]
    failing, current = states.count("fails"), states.count("current")
    worst = "fails" if failing else "current" if current == len(states) else "pending"
    others = [f"{states.count(state)} {word}" for state, word in _COUNTED.items() if state in states]
    lags = [(model.lag_ms, model.name) for model in status.models if model.lag_ms]
    lag, behind = max(lags, default=(0, ""))
    dates = [
        (source.expires_at_ms, model.name)
        for model in status.models
        for source in model.status.sources
        if source.expires_at_ms is not None
    ]
    read = sum_of(model.read for model in status.models)
    tiles = [
        Tile("Up to date", f"{current} of {counted(len(states), 'model')}", ", ".join(others), worst),
        Tile("Largest lag", age(lag) if lag else "none", behind, "pending" if lag else "current"),
    ]
    if dates:
        first, model = min(dates)
        left = first - status.generated_at_ms
        until, tone = (
            f"{age(left)} left" if left > 0 else "expired or due: run soon",
            "fails" if left < _SOON_MS else "",
        )
        tiles.append(Tile("Unread rows are safe until", instant(first)[:16], f"{until} · {model}", tone))
    else:
        tiles.append(Tile("Unread rows are safe until", "no expiry", "no pending rows can expire", "current"))
    if read.of_records is not None:
        tiles.append(Tile("Share of rows read", percent(read), f"{read_rows(read)}, {read_bytes(read)}"))
    return tiles


def _nodes(status: ProjectStatus, anchors: Mapping[str, str]) -> dict[str, GraphNode]:
    models = {model.status.target: model for model in status.models}
    nodes: dict[str, GraphNode] = {}
    for table in status.tables:
        model = models.get(table.table)
        name = table.table.rpartition(".")[2] if model is None else model.name
        if model is not None:
            sign, words = STATES[model.status.state]
            state, detail = model.status.state, words + (f" · lag {age(model.lag_ms)}" if model.lag_ms else "")
        elif table.error is not None:
            sign, state, detail = "✕", "fails", "cannot be read"
        else:
            last = table.commits[-1].committed_at_ms if table.commits else None
            when = "no commit yet" if last is None else f"commit {age(status.generated_at_ms - last)} ago"
            sign, state, detail = "▤", "table", f"{table.kind} · {when}"
        nodes[table.table] = GraphNode(name, table.table, sign, state, detail, anchors.get(table.table, ""))
    return nodes


def _drawings(status: ProjectStatus) -> dict[str, drawing.Drawing]:
    targets = {model.status.model: model.status.target for model in status.models}
    edges = [(edge.source, targets[edge.model]) for edge in status.edges if edge.source != targets[edge.model]]
    try:
        layers = layers_of([table.table for table in status.tables], edges)
    except CycleError:
        return {}  # if two models share a table, the graph of tables can have a cycle
    found = {"wide": drawing.wide(layers), "narrow": drawing.narrow(layers)}
    return {size: each for size, each in found.items() if each is not None}


def _card(
    model: ModelView, project: ProjectStatus, tables: Mapping[str, TableView], anchor: str, live: Live, *, folded: bool
) -> Card:
    now_ms = project.generated_at_ms
    failure = live.failing.get(model.status.model)
    state = model.status.state
    sign, words = STATES[state]
    changed = model.status.logic_changed_since
    lag = "lag unknown" if model.lag_ms is None else f"lag {age(model.lag_ms)}" if model.lag_ms else "no lag"
    return Card(
        anchor=anchor,
        model=model,
        sign=sign,
        words=words if changed is None else f"{words}; {changed_since(changed)}",
        lag=lag if state != "rebuild" else "",
        versions="" if model.status.versions is None else versions_text(model.status.versions),
        last_run=last_run_text(model, project.last_command),
        updates=updates_text(model),
        is_open=not folded or state == "fails",
        failing="" if failure is None else _failing(failure, now_ms),
        readings=[_reading(source, now_ms) for source in model.status.sources],
        charts=charts_of(model, tables, now_ms),
    )


def _reading(source: SourceStatus, now_ms: int) -> ReadingView:
    position = "not yet"
    if source.position_timestamp_ms is not None:
        position = f"{instant(source.position_timestamp_ms)} ({age(source.age_ms or 0)} ago)"
    pending = "nothing" if source.pending == "nothing" else source.pending.replace("_", " ")
    if source.snapshots:
        pending = (
            f"{counted(source.snapshots, 'commit')}, {rows_text(source.records, source.records_at_most)}, "
            f"{size_text(source.bytes)}"
        )
    if source.waiting_snapshots:
        pending += f"; {counted(source.waiting_snapshots, 'commit')} for later runs"
    expiry, tone = "–", ""
    if source.expiry_risk == "broken":
        expiry, tone = "the history is broken", "fails"
    elif source.expires_at_ms is not None:
        left = source.expires_at_ms - now_ms
        expiry = f"{instant(source.expires_at_ms)} ({f'in {age(left)}' if left > 0 else 'due'})"
        expiry += ", held by a tag" if source.held_until_ms is not None else ""
        tone = "fails" if left <= 0 else "pending" if left < _SOON_MS else ""
    return ReadingView(source.source, position, pending, expiry, tone)

"""What the last runs and the last dbt command did, as text. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iceberg_incremental.quantities import counted, instant

from ..status.last_command import LastCommand, NodeResult
from ..status.project_status import ModelView

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


def last_run(model: ModelView, command: LastCommand | None) -> str:
    """The last run of a model that committed: its rows and, if it was a part of the last command, its duration."""
    run = next((each for each in reversed(model.runs) if each.committed_at_ms is not None), None)
    if run is None:
        return ""
    seconds = None if command is None else command.seconds_of(model.status.model, run.invocation_id)
    took = "" if seconds is None else f" in {_seconds(seconds)}"
    when = instant(run.committed_at_ms or 0)
    return f"run {run.epoch} of {when} added {counted(run.rows_added, 'row')} and removed {run.rows_removed:,}{took}"


def updates(model: ModelView) -> str:
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

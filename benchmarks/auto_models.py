"""Measures each model's run. For models with the strategy ``auto``, also records the chosen method and its estimate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from iceberg_incremental.write.auto import writer as auto_writer
from iceberg_incremental.write.auto.update_plan import UpdatePlan
from iceberg_incremental.write.auto.writer import AutoWriter

from .lake import Project
from .meter import Meter, spent_by
from .model_run import kind
from .results import Result, scratch

AUTO = {"materialized": "iceberg_incremental_snapshot", "incremental_strategy": "auto"}
TABLE = {"materialized": "table"}

WROTE, NOTHING, UNAFFECTED = "wrote", "nothing new", "no key affected"
"""The results of runs that choose no method: all rows were written, nothing was new, or no row was affected."""
INSERT, UPDATED, KEPT, REBUILD = "insert", "groups updated", "updated incrementally", "rebuild"
"""The methods for updating an existing table."""

_NOTHING_NEW = "NOTHING NEW"
"""dbt's output for a model with nothing new."""


@dataclass(frozen=True)
class Taken:
    """The method that a run of an ``auto`` model chose.

    ``keys``: the number of affected values of the ``key``; None if they were not counted. ``reads``: the inputs of the
    estimate. ``estimated``: the estimated CPU seconds of an incremental update and of a rebuild. ``reads`` and
    ``estimated`` are None if there was no estimate.
    """

    way: str
    reason: str = ""
    key: tuple[str, ...] = ()
    keys: int | None = None
    reads: dict[str, Any] | None = None
    estimated: tuple[float, float] | None = None

    @property
    def has_other_way(self) -> bool:
        """Whether the run could have chosen between an incremental update and a rebuild."""
        return self.way in (UNAFFECTED, INSERT, UPDATED, KEPT) or self.estimated is not None


@dataclass(frozen=True)
class ModelRun:
    """The cost of one model's run in s, from its start to its end, and its result.

    ``files``: the number of files read. A file counts each time it is read, but a file with changes counts once.
    ``rows``: the number of rows read. ``statements``: the kind of each statement that dbt sent for the model, and its
    duration in s.
    """

    whole: float
    wall: float
    executors: float
    files: int
    statements: tuple[tuple[str, float], ...]
    taken: Taken
    rows: int = 0


@dataclass(frozen=True)
class Round:
    """The cost of a command in a round: CPU time of all processes and duration in s, and the cost of each model."""

    whole: float
    wall: float
    models: dict[str, ModelRun]

    @property
    def executors(self) -> float:
        """The CPU time of executors in s."""
        return sum(each.executors for each in self.models.values())


def note(result: Result, found: Mapping[str, Sequence[Round]]) -> None:
    """Add the sums of rounds to a result, and write all measurements to build/<name>/measurements.json."""
    for name, rounds in found.items():
        for part in ("whole", "wall", "executors"):
            result.measured[f"{name}.{part}"] = [getattr(each, part) for each in rounds]
    raw = {name: [asdict(each) for each in rounds] for name, rounds in found.items()}
    path = scratch(result.name) / "measurements.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")


def taken(plan: UpdatePlan, reads: Any) -> Taken:
    """The method in a plan. ``reads``: the inputs of its estimate; None if there was none."""
    key: tuple[str, ...] = ()
    if plan.continued is not None:
        key = tuple(plan.continued.summary.keys)
    elif plan.affected is not None:
        key = plan.affected.kept.key
    if plan.choice.rebuilds:
        way = REBUILD
    elif plan.added is not None:
        way = INSERT
    elif plan.keys is None or not plan.keys.keys:
        way = UNAFFECTED
    else:
        way = KEPT if plan.continued is None else UPDATED
    return Taken(
        way,
        plan.choice.reason,
        key,
        None if plan.keys is None else plan.keys.keys,
        None if reads is None else asdict(reads),
        plan.choice.estimated,
    )


def run(project: Project, meter: Meter, *arguments: str) -> dict[str, ModelRun]:
    """The cost and result of each model in a ``dbt run`` with one thread. Raises RuntimeError if dbt fails."""
    logged: dict[str, list[str]] = {}
    found: dict[str, Taken] = {}
    changed: dict[str, int] = {}
    with ExitStack() as held:
        chosen = held.enter_context(_recording(auto_writer, "choose"))
        to_update = held.enter_context(_recording(auto_writer, "choose_to_continue"))
        at_once = held.enter_context(_recording(auto_writer, "rebuild_at_once"))
        applied = held.enter_context(_recording(AutoWriter, "apply"))

        def finished(event: Any) -> None:
            if event.info.name != "NodeFinished":
                return
            name = event.data.node_info.node_name
            logged[name] = meter.new_lines()  # parsed later, because parsing takes CPU time
            if applied:
                writer, plan = applied[-1][:2]
                estimates = to_update if plan.continued is not None else chosen or at_once
                found[name] = taken(plan, estimates[-1][0] if estimates else None)
                changed[name] = _changed_files(writer) if plan.added or plan.keys else 0
            applied.clear()
            for each in (chosen, to_update, at_once):
                each.clear()

        meter.new_lines()
        invocation = project.run(*arguments, callbacks=[finished])
    spent = {name: spent_by(lines) for name, lines in logged.items()}
    statements: dict[str, list[tuple[str, float]]] = {name: [] for name in invocation.models}
    for sent in invocation.for_models:
        statements[sent.node.rpartition(".")[2]].append((kind(sent.sql), sent.seconds))
    return {
        name: ModelRun(
            invocation.cpu[name],
            invocation.models[name],
            spent[name].cpu,
            spent[name].files + changed.get(name, 0),
            tuple(statements[name]),
            found.get(name, Taken(NOTHING if invocation.messages[name].startswith(_NOTHING_NEW) else WROTE)),
            spent[name].rows,
        )
        for name in invocation.models
    }


def _changed_files(writer: AutoWriter) -> int:
    """The number of data files with changes that are read individually. Iceberg has no metric for such reads."""
    sources = writer._sources.values() if writer._spark.scans else ()
    return sum(source.planned.counts.files for source in sources if source.has_changed)


@contextmanager
def _recording(owner: Any, name: str) -> Iterator[list[Sequence[Any]]]:
    """Collects the arguments of each call of a function. ``owner``: the function's class or module."""
    original: Callable[..., Any] = getattr(owner, name)
    calls: list[Sequence[Any]] = []

    def call(*arguments: Any) -> Any:
        calls.append(arguments)
        return original(*arguments)

    setattr(owner, name, call)
    try:
        yield calls
    finally:
        setattr(owner, name, original)

"""What runs of models cost one by one, and what those with the strategy ``auto`` did and estimated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from iceberg_incremental.write import plain_sql
from iceberg_incremental.write.plain_sql import PlainSqlWriter
from iceberg_incremental.write.update_plan import UpdatePlan

from .lake import Project
from .meter import Meter, spent_by
from .model_run import kind

AUTO = {"materialized": "iceberg_incremental_snapshot", "incremental_strategy": "auto"}
TABLE = {"materialized": "table"}

WROTE, NOTHING, UNAFFECTED = "wrote", "nothing new", "no key affected"
"""What a run does that follows no plan: it writes all rows, or it has nothing to do. Or its changes affect no row."""
INSERT, UPDATED, KEPT, REBUILD = "insert", "groups updated", "updated incrementally", "rebuild"
"""The ways of bringing an existing table up to date."""

_NOTHING_NEW = "NOTHING NEW"
"""What dbt prints of such a model."""


@dataclass(frozen=True)
class Taken:
    """The way that a run of an ``auto`` model took.

    ``keys``: how many of the ``key`` were affected; None where they were not counted. ``reads``: what the estimate is
    made from. ``estimated``: the seconds of CPU of keeping up and of a rebuild. Both are None where nothing was
    estimated.
    """

    way: str
    reason: str = ""
    key: tuple[str, ...] = ()
    keys: int | None = None
    reads: dict[str, Any] | None = None
    estimated: tuple[float, float] | None = None

    @property
    def has_other_way(self) -> bool:
        """Whether the model could have been kept up to date in another way."""
        return self.way in (UNAFFECTED, INSERT, UPDATED, KEPT) or self.estimated is not None


@dataclass(frozen=True)
class ModelRun:
    """What one model's run cost, in s, from its start to its end, and what it did.

    ``files``: how many are read, each as often as it is; changes are counted as if they were read once.
    ``statements``: those that dbt sent, by kind, with their durations in s; without those that only inform the run.
    """

    whole: float
    wall: float
    executors: float
    files: int
    statements: tuple[tuple[str, float], ...]
    taken: Taken


def taken(plan: UpdatePlan, reads: Any) -> Taken:
    """A plan as it is recorded. ``reads``: what its estimate is made from, or None."""
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
    """``dbt run`` with one thread: what each model cost and did. Raises RuntimeError if it fails."""
    logged: dict[str, list[str]] = {}
    found: dict[str, Taken] = {}
    changed: dict[str, int] = {}
    with ExitStack() as held:
        chosen = held.enter_context(_recording(plain_sql, "choose"))
        to_update = held.enter_context(_recording(plain_sql, "choose_to_continue"))
        at_once = held.enter_context(_recording(plain_sql, "rebuild_at_once"))
        applied = held.enter_context(_recording(PlainSqlWriter, "apply"))

        def finished(event: Any) -> None:
            if event.info.name != "NodeFinished":
                return
            name = event.data.node_info.node_name
            logged[name] = meter.new_lines()  # read later, as that takes CPU time
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
        )
        for name in invocation.models
    }


def _changed_files(writer: PlainSqlWriter) -> int:
    """The data files of the changes, which Iceberg reports no metric of where they are read by themselves."""
    sources = writer._sources.values() if writer._spark.scans else ()
    return sum(source.planned.counts.files for source in sources if source.has_changed)


@contextmanager
def _recording(owner: Any, name: str) -> Iterator[list[Sequence[Any]]]:
    """Collects the arguments of each call of a function; ``owner`` is the class or module that holds it."""
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

"""The status of a project: one document with all data of the status page. docs/status.md describes its fields.

It contains the status of each model, the commits of the tables that the model reads, and its runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.lateness import MOST_COMMITS, lateness_by_commit
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.sql import plain_name
from iceberg_incremental.table.checkpoint import UPDATE_METHOD_KEY, UnreadableCheckpoint
from iceberg_incremental.table.commits import Effect, added, effect, total
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.row_counts import rows_at, rows_gone
from iceberg_incremental.table.shares import Share
from iceberg_incremental.verify.found import Verified, last_verified

from ..project import graph as project
from .last_command import LastCommand
from .ledger import Ledger, entries, ledger
from .model_status import ModelStatus
from .runs import RunView, runs_of

VERSION = 1
_MOST_RUNS = 50
_COMMAND = re.compile(r"`(dbt [^`]+)`")


@dataclass(frozen=True)
class CommitView:
    """A commit of a table's main branch. ``late_ms`` and the event times are None if they are unknown.

    A compaction counts as no added and no removed rows, although it writes rows to other files.
    """

    snapshot_id: int
    committed_at_ms: int
    effect: str
    rows_added: int
    rows_removed: int
    bytes_added: int
    oldest_event_ms: int | None = None
    newest_event_ms: int | None = None
    late_ms: int | None = None


@dataclass(frozen=True)
class TableView:
    """A table that a model reads or writes.

    ``nodes``: the unique ids of its nodes. ``commits``: the newest commits, oldest first. ``earlier_commits``: the
    number of older commits. ``error``: why the table cannot be read; otherwise None.
    """

    table: str
    nodes: Sequence[str]
    kind: str
    event_time: str | None = None
    records: int | None = None
    files: int | None = None
    bytes: int | None = None
    commits: Sequence[CommitView] = ()
    earlier_commits: int = 0
    error: str | None = None


@dataclass(frozen=True)
class ModelView:
    """A model with its status and its runs.

    ``lag_ms``: the time since the oldest unread commit; 0 if nothing is pending, None if unknown. ``commands``: the dbt
    commands in its error. ``runs``: the newest runs, oldest first. ``read``: the rows and bytes that all known runs
    read, out of those of the whole tables. ``update_method``: how ``auto`` updates the model; None for other
    strategies, and if it is not updated incrementally. ``verified``: the last result of ``ip_verify``, or None.
    """

    name: str
    status: ModelStatus
    lag_ms: int | None
    commands: Sequence[str]
    last_commit_ms: int | None
    runs: Sequence[RunView]
    read: Share
    update_method: str | None = None
    verified: Verified | None = None


@dataclass(frozen=True)
class Edge:
    """A table that a model reads."""

    source: str
    model: str


@dataclass(frozen=True)
class ProjectStatus:
    """The status of a project's models at one point in time.

    ``last_command``: the results of dbt's last command, which includes nodes that are not incremental models, or None.
    """

    project: str
    generated_at_ms: int
    models: Sequence[ModelView]
    tables: Sequence[TableView]
    edges: Sequence[Edge]
    last_command: LastCommand | None = None


def see(
    cuts: Cuts,
    names: project.ProjectTables,
    project_name: str,
    nodes: Sequence[project.Node],
    statuses: Sequence[ModelStatus],
    now_ms: int,
) -> ProjectStatus:
    """The status of these models, with their tables and runs. ``nodes`` and ``statuses`` have the same order."""
    parts: dict[TableName, list[project.Node]] = {}
    edges: list[Edge] = []
    for node in nodes:
        parts.setdefault(names.of(node), []).append(node)
        for parent in project.read_by(names.graph, node):
            table = names.of(parent)
            known = parts.setdefault(table, [])
            if parent["unique_id"] not in [each["unique_id"] for each in known]:
                known.append(parent)
            edges.append(Edge(str(table), str(node["unique_id"])))
    return ProjectStatus(
        project_name,
        now_ms,
        [_model(cuts, node, names.of(node), status, now_ms) for node, status in zip(nodes, statuses, strict=True)],
        [_table(cuts, table, of) for table, of in sorted(parts.items())],
        edges,
    )


def with_failures(status: ProjectStatus, failing: Mapping[str, str]) -> ProjectStatus:
    """A status with the errors of the models' last runs. ``failing``: the messages, by unique id."""

    def failed(view: ModelView) -> ModelView:
        message = failing.get(view.status.model)
        if message is None or view.status.error is not None:
            return view
        said = f"Its last run, or a test of it, failed: {message}"
        return replace(
            view,
            status=replace(view.status, state="fails", error=said),
            commands=_commands(said),
        )

    return replace(status, models=[failed(view) for view in status.models])


def as_json(status: ProjectStatus) -> str:
    """The document as JSON."""
    return json.dumps(to_document(status), indent=2)


def to_document(status: ProjectStatus) -> dict[str, Any]:
    """The document as JSON values. A model's status is merged into the model."""
    document: dict[str, Any] = {"version": VERSION, **asdict(status)}
    document["models"] = [
        {"name": each["name"], **each["status"], **{k: v for k, v in each.items() if k not in ("name", "status")}}
        for each in document["models"]
    ]
    return document


def _commands(error: str) -> list[str]:
    """The dbt commands in an error, without duplicates."""
    return list(dict.fromkeys(_COMMAND.findall(error)))


def _model(cuts: Cuts, node: project.Node, target: TableName, status: ModelStatus, now_ms: int) -> ModelView:
    found = _ledger(cuts, target)
    runs = [] if found is None else found[1]
    history = _history(cuts, target)
    times = [run.committed_at_ms for run in runs if run.committed_at_ms is not None]
    return ModelView(
        name=str(node["name"]),
        status=status,
        lag_ms=status.lag_ms(now_ms),
        commands=_commands(status.error or ""),
        last_commit_ms=max(times, default=None),
        runs=runs[-_MOST_RUNS:],
        read=Share(0, 0, 0, 0) if found is None else found[0].read,
        update_method=history.properties.get(UPDATE_METHOD_KEY) or None if isinstance(history, History) else None,
        verified=last_verified(history.properties) if isinstance(history, History) else None,
    )


def _ledger(cuts: Cuts, target: TableName) -> tuple[Ledger, list[RunView]] | None:
    """The ledger of a model from its table's current metadata, and its runs. None if the table cannot be read."""
    history = _history(cuts, target)
    if not isinstance(history, History):
        return None
    try:
        known = entries(history, ())
    except UnreadableCheckpoint:
        return None  # the error of the model's status reports this
    names = {name for entry in known for name in entry.checkpoint.sources}
    tables = {name: TableName.parse(name) for name in names}
    histories = {name: _history(cuts, table) for name, table in tables.items() if table is not None}
    found = ledger(history, known, {name: each for name, each in histories.items() if isinstance(each, History)})
    return found, runs_of(history, found, known)


def _history(cuts: Cuts, table: TableName) -> History | IncrementalError | None:
    """A table's history at its cut. None if the table does not exist; an error if it cannot be read."""
    try:
        cut = cuts.of(table)
    except IncrementalError as error:
        return error
    return None if cut is None else cut.history


def _table(cuts: Cuts, table: TableName, nodes: Sequence[project.Node]) -> TableView:
    names = [str(node["unique_id"]) for node in nodes]
    kind = str(nodes[0]["resource_type"])
    names_of_time = (node["config"].get("event_time") for node in nodes)
    event_time = next((plain_name(str(name)) for name in names_of_time if name), None)
    history = _history(cuts, table)
    if not isinstance(history, History):
        error = "the table does not exist" if history is None else str(history.msg)
        return TableView(str(table), names, kind, event_time, error=error)
    chain = list(history.ancestors(history.current_snapshot_id))
    shown = chain[:MOST_COMMITS][::-1]
    late = {
        each.snapshot_id: each
        for each in (
            []
            if event_time is None
            else lateness_by_commit(cuts, history, [s for s in shown if effect(s) is Effect.APPEND], event_time)
        )
    }
    files, _, size = (0, 0, 0) if history.current is None else total(history.current)
    records = 0 if history.current is None else rows_at(history, history.current).rows
    return TableView(
        table=str(table),
        nodes=names,
        kind=kind,
        event_time=event_time,
        records=records,
        files=files,
        bytes=size,
        commits=[_commit(each, late) for each in shown],
        earlier_commits=len(chain) - len(shown),
    )


def _commit(snapshot: Snapshot, late: Mapping[int, Any]) -> CommitView:
    known, what = late.get(snapshot.snapshot_id), effect(snapshot)
    _, rows, size = (0, 0, 0) if what is Effect.NONE else added(snapshot)
    return CommitView(
        snapshot_id=snapshot.snapshot_id,
        committed_at_ms=snapshot.timestamp_ms,
        effect=what.value,
        rows_added=rows,
        rows_removed=0 if what is Effect.NONE else rows_gone(snapshot),
        bytes_added=size,
        oldest_event_ms=None if known is None else known.oldest_event_ms,
        newest_event_ms=None if known is None else known.newest_event_ms,
        late_ms=None if known is None else known.late_ms,
    )

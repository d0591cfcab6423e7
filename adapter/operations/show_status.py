"""``ip_status``: the next run of each incremental model and snapshot, determined as in the run itself."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.dbt_snapshot import pending_snapshot
from iceberg_incremental.capture.next_run import SourceRead, next_plain_run, next_run
from iceberg_incremental.capture.open import open_run
from iceberg_incremental.capture.run_plan import Action, RunPlan
from iceberg_incremental.capture.target_checkpoint import last_epoch, target_checkpoint
from iceberg_incremental.errors import IncrementalError, NotIcebergError, SourceMissingError
from iceberg_incremental.explain import rebuild_reasons
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.plan.policy import MATERIALIZATION, OnSqlChange, Strategy
from iceberg_incremental.quantities import counted
from iceberg_incremental.table.checkpoint import Position
from iceberg_incremental.table.clock import TIME
from iceberg_incremental.table.clone import clone_of
from iceberg_incremental.table.history import TableName
from iceberg_incremental.table.row_counts import last_versions

from ..project import graph as project
from ..project.conditional_reads import reads_of
from ..project.jinja import JinjaScope
from ..project.model_config import policy_of
from ..project.model_logic import logic_of
from ..project.snapshot_logic import code_digest
from ..status.last_command import FILE, last_command
from ..status.model_status import ModelStatus, SourceStatus, as_text, source_status, status_of_source
from ..status.project_status import ProjectStatus, as_json, see
from ..status_page import write_page
from .arguments import models_of, output_file, output_format

SNAPSHOT = "snapshot"
"""The resource type of dbt's snapshots, which is also their materialization."""


def status(
    reader: MetadataReader,
    names: project.ProjectTables,
    scope: JinjaScope,
    project_name: str,
    arguments: Mapping[str, Any],
    target_folder: Path,
) -> str:
    """The status of all or some of the project's incremental models and snapshots, as text, JSON or HTML page.

    Reads only metadata. ``arguments``: ``format`` (``text``, ``json`` or ``html``); ``model`` or ``select``;
    ``output``, the file of the page. ``target_folder``: the folder of dbt's artifacts.

    Raises ConfigError for an invalid argument, and if the file cannot be written.
    """
    wanted = output_format(arguments, ("text", "json", "html"))
    output = output_file(arguments, wanted)
    nodes = models_of(names.graph, arguments, "ip_status", (MATERIALIZATION, SNAPSHOT))
    look = StatusReader(reader, names, scope)
    if wanted == "text":
        return as_text(look.statuses(nodes))
    found = look.project_status(project_name, nodes, target_folder)
    if output is None:
        return as_json(found)
    write_page(found, output)
    return f"{counted(len(found.models), 'model')} on {output}"


class StatusReader:
    """Reads the status of a project's models at one point in time, from metadata alone."""

    def __init__(self, reader: MetadataReader, names: project.ProjectTables, scope: JinjaScope) -> None:
        self._reader = reader
        self._cuts = Cuts(lambda: reader)
        self._names = names
        self._scope = scope

    def project_status(self, project_name: str, nodes: Sequence[project.Node], target_folder: Path) -> ProjectStatus:
        """The data of the status page for some models. ``target_folder``: the folder of dbt's artifacts."""
        pairs = [(node, found) for node in nodes if (found := self._status(node)) is not None]
        shown, statuses = [node for node, _ in pairs], [found for _, found in pairs]
        project_status = see(self._cuts, self._names, project_name, shown, statuses, int(time.time() * 1000))
        return replace(project_status, last_command=last_command(target_folder / FILE, self._names.graph["nodes"]))

    def statuses(self, nodes: Iterable[project.Node]) -> list[ModelStatus]:
        """The status of some incremental models, and of snapshots that have a checkpoint."""
        return [found for node in nodes if (found := self._status(node)) is not None]

    def _status(self, node: project.Node) -> ModelStatus | None:
        """The status of a model or a snapshot. None for a snapshot whose runs compare whole tables."""
        model, name = str(node["unique_id"]), self._names.of(node)
        if str(node["resource_type"]) == SNAPSHOT:
            return self._snapshot(node, model, name)
        parents = self._names.read_by(node)
        try:
            policy = policy_of(node["config"], model)
            plan = open_run(
                self._reader,
                self._cuts,
                model=model,
                target=name,
                policy=policy,
                invocation_id="",
                full_refresh=False,
                parents=None if policy.strategy is Strategy.AUTO else parents.keys(),
                sources=parents.keys(),
                reads=reads_of(node, parents, self._scope.macros),
                logic=logic_of(node, self._names.graph, self._scope),
            )
            return _of_table(self._of_run(plan, parents), plan)
        except IncrementalError as error:
            return ModelStatus.of_error(model, str(name), _epoch(self._reader, name), str(error.msg))

    def _snapshot(self, node: project.Node, model: str, name: TableName) -> ModelStatus | None:
        """The status of a snapshot. None without a checkpoint."""
        try:
            code = code_digest(node, self._names.graph, self._scope)
            plan = pending_snapshot(self._reader, self._cuts, model=model, target=name, code=code)
            if plan is None:
                return None
        except IncrementalError as error:
            return ModelStatus.of_error(model, str(name), _epoch(self._reader, name), str(error.msg))
        now_ms = int(time.time() * 1000)
        sources = [
            _source(plan, self._cuts, source, SourceRead(found), None, now_ms)
            for source, found in plan.changelogs.items()
        ]
        more: dict[str, Any] = {"sources": sources}
        if plan.action is Action.APPLY:
            whole = f"compares whole tables ({plan.reason})"
            more["next_run"] = whole if plan.reads_all else "compares the changed keys"
        return _of_table(ModelStatus.of_action(model, str(name), plan.last_epoch, plan.action.value, **more), plan)

    def _of_run(self, plan: RunPlan, parents: Mapping[TableName, project.Node]) -> ModelStatus:
        """The status of a model whose next run can be opened."""
        model, name = plan.model, plan.name
        before, now_ms = _read_before(plan, self._reader), int(time.time() * 1000)
        read_sources = _sources(plan, parents.keys())
        if plan.policy.strategy is Strategy.AUTO:
            following = next_plain_run(plan, self._cuts, read_sources, self._reader)
        else:
            following = next_run(plan, self._cuts, read_sources)
        plan, sources, errors = following.plan, [], []
        for source, read in following.sources.items():
            is_built_first = plan.is_rebuild and not _is_source(parents.get(source))
            if isinstance(read.error, NotIcebergError) and plan.is_rebuild and source not in plan.reads.always:
                continue
            sources.append(_source(plan, self._cuts, source, read, before.get(str(source)), now_ms))
            if read.error is not None and not (isinstance(read.error, SourceMissingError) and is_built_first):
                errors.append(read.error.msg)
        shown = plan.policy.on_sql_change is not OnSqlChange.IGNORE and plan.logic_change is not None
        changed = plan.logic_change.after if shown and plan.logic_change is not None else None
        more: dict[str, Any] = {"sources": sources, "logic_changed_since": changed, "views": _views(plan)}
        if errors:
            return ModelStatus.of_error(model, str(name), plan.last_epoch, "\n".join(errors), **more)
        has_new_rows = any(planned.brings_rows for planned in plan.captured.values())
        reason = plan.reason if plan.is_rebuild else "" if has_new_rows else plan.differs
        is_timed = plan.clock_moved and not (has_new_rows or plan.is_rebuild or plan.differs)
        clock = None if plan.checkpoint is None else plan.checkpoint.clock
        reads_others = not has_new_rows and plan.differs == rebuild_reasons.OTHER_RELATION
        more["is_repeated"] = reads_others or (is_timed and clock is not None and TIME in clock[1])
        if is_timed:
            more["next_run"] = "updates the rows that depend on the time"
        elif reads_others:
            more["next_run"] = f"replaces all rows in each run ({plan.differs})"
        elif reason == plan.differs and reason:
            more["next_run"] = f"updates the table to its SQL ({reason})"
        if plan.keeps_versions:
            more["next_run"] = f"compares its versions with the whole source ({reason.removesuffix('.')})"
        return ModelStatus.of_action(model, str(name), plan.last_epoch, plan.action.value, reason, **more)


def _of_table(status: ModelStatus, plan: RunPlan) -> ModelStatus:
    """A status with facts from the table: the origin of a clone, and the versions that were written."""
    if plan.target is None:
        return status
    clone = clone_of(plan.target)
    if clone is not None:
        status = replace(status, cloned_from=str(clone.origin), files_kept_until_ms=clone.kept_until_ms)
    return replace(status, versions=last_versions(plan.target))


def _source(
    plan: RunPlan, cuts: Cuts, source: TableName, read: SourceRead, read_before: Position | None, now_ms: int
) -> SourceStatus:
    """A source's status. ``read_before``: the position of the table that the next run rebuilds."""
    position = None if plan.checkpoint is None else plan.checkpoint.sources.get(str(source))
    if read.found is None:
        pending = "missing" if isinstance(read.error, SourceMissingError) else "not readable"
        return status_of_source(source, position, pending, now_ms)
    cut = cuts.of(source)
    assert cut is not None
    return source_status(cut.history, position, read.found, now_ms, read_before)


def _epoch(reader: MetadataReader, name: TableName) -> int:
    """The epoch of a table's checkpoint. 0 without one, or if it cannot be read."""
    try:
        target = reader.load(name)
        return 0 if target is None else last_epoch(target, reader)
    except IncrementalError:
        return 0


def _sources(plan: RunPlan, parents: Collection[TableName]) -> list[TableName]:
    """The sources that the run may read.

    These are all parents in a rebuild, and otherwise the sources in the checkpoint and new sources.
    """
    if plan.checkpoint is None:
        return list(parents)
    if plan.policy.strategy is Strategy.AUTO:  # the checkpoint includes the sources behind views
        return [table for name in plan.checkpoint.sources if (table := TableName.parse(name))]
    known = [table for name in plan.checkpoint.sources if (table := TableName.parse(name)) in parents and table]
    return [*known, *sorted(plan.reads.always - {*known})]


def _views(plan: RunPlan) -> Sequence[str]:
    """The views that the last run read, if they are known."""
    logic = None if plan.checkpoint is None else plan.checkpoint.logic
    is_plain = plan.policy.strategy is Strategy.AUTO
    return list(logic.definitions) if is_plain and logic is not None else ()


def _read_before(plan: RunPlan, reader: MetadataReader) -> Mapping[str, Position]:
    """The positions in the current table, if the next run rebuilds it because of a policy. Empty otherwise."""
    if not plan.by_policy or plan.target is None:
        return {}
    checkpoint = target_checkpoint(plan.target, reader).checkpoint
    return {} if checkpoint is None else checkpoint.sources


def _is_source(parent: project.Node | None) -> bool:
    return parent is None or parent["resource_type"] == "source"

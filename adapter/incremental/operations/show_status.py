"""What ``ip_status`` shows: for each model, what its next run would do, found as the run finds it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..capture.cuts import Cuts
from ..capture.open import open_run
from ..capture.reads import capture_as_of, changes_of
from ..capture.run import Action, ModelRun, is_changelog, is_only_pinned
from ..capture.standing import last_epoch, standing_of
from ..errors import IncrementalError, NotIcebergError, SourceMissingError
from ..explain import source_errors
from ..explain.wording import counted
from ..metadata import MetadataReader
from ..plan.policy import OnSqlChange
from ..plan.ranges import Range
from ..plan.refusals import Refusal
from ..project import graph as project
from ..project.conditional_reads import reads_of
from ..project.jinja_scope import JinjaScope
from ..project.model_config import policy_of
from ..project.model_logic import logic_of
from ..table.checkpoint import Position
from ..table.history import TableName
from .arguments import models_of, output_file, output_format
from .project_status import ProjectStatus, as_json, see
from .status import NOTHING_TO_DO, ModelStatus, SourceStatus, as_text, source_status, standing
from .status_page import write_page

Graph = Mapping[str, Any]

_NEXT_RUN = {
    Action.APPLY: "applies what is pending",
    Action.ADVANCE: "moves the checkpoint only",
    Action.NOTHING: NOTHING_TO_DO,
}


def status(
    reader: MetadataReader,
    graph: Graph,
    default_catalog: str,
    scope: JinjaScope,
    project_name: str,
    arguments: Mapping[str, Any],
) -> str:
    """The status of the project's incremental models, or of some, as text or JSON, or written as a page.

    Reads metadata only. ``arguments``: format (``text``, ``json`` or ``html``); model, or select; output, the file of
    the page. Raises ConfigError for a value that is not known, where the page's library is not installed, and where
    the file cannot be written.
    """
    wanted = output_format(arguments, ("text", "json", "html"))
    output = output_file(arguments, wanted)
    nodes = models_of(graph, arguments, "ip_status")
    look = Look(reader, graph, default_catalog, scope)
    if wanted == "text":
        return as_text(look.statuses(nodes))
    found = look.project_status(project_name, nodes)
    if output is None:
        return as_json(found)
    write_page(found, output)
    return f"{counted(len(found.models), 'model')} on {output}"


class Look:
    """One look at a project's models, as of one moment. Reads metadata only. ``graph``: dbt's."""

    def __init__(self, reader: MetadataReader, graph: Graph, default_catalog: str, scope: JinjaScope) -> None:
        self._reader = reader
        self._cuts = Cuts(lambda: reader)
        self._graph = graph
        self._catalog = default_catalog
        self._scope = scope

    def project_status(self, project_name: str, nodes: Sequence[project.Node]) -> ProjectStatus:
        """All that the status page shows of some models."""
        found = self.statuses(nodes)
        return see(self._cuts, self._graph, self._catalog, project_name, nodes, found, int(time.time() * 1000))

    def statuses(self, nodes: Iterable[project.Node]) -> list[ModelStatus]:
        """The status of some of the project's incremental models."""
        return [self._status(node) for node in nodes]

    def _status(self, node: project.Node) -> ModelStatus:
        model, name = str(node["unique_id"]), project.table_of(node, self._catalog)
        nodes = project.parents_of(self._graph, node)
        parents = {project.table_of(parent, self._catalog): parent for parent in nodes}
        try:
            run = open_run(
                self._reader,
                self._cuts,
                model=model,
                target=name,
                policy=policy_of(node["config"], model),
                invocation_id="",
                full_refresh=False,
                parents=parents.keys(),
                reads=reads_of(node, parents, self._scope.macros),
                logic=logic_of(node, self._graph, self._scope),
            )
        except IncrementalError as error:
            return ModelStatus(model, str(name), _epoch(self._reader, name), "fails", str(error.msg), state="fails")
        before = _read_before(run, self._reader)
        found = (
            _stand(run, self._cuts, source, before.get(str(source)), is_source=_is_source(parents.get(source)))
            for source in _sources(run, parents.keys())
        )
        stands = [stand for stand in found if stand is not None]
        sources = [source for source, _ in stands]
        errors = [error for _, error in stands if error is not None]
        shown = run.policy.on_sql_change is not OnSqlChange.IGNORE and run.logic_change is not None
        changed = run.logic_change.after if shown and run.logic_change is not None else None
        if errors:
            return ModelStatus(model, str(name), run.last_epoch, "fails", "\n".join(errors), sources, "fails", changed)
        if run.is_rebuild:
            reason = f"builds the whole table ({run.reason.removesuffix('.')})"
            return ModelStatus(model, str(name), run.last_epoch, reason, None, sources, "rebuild")
        state = "pending" if run.action is Action.APPLY else "current"
        return ModelStatus(model, str(name), run.last_epoch, _NEXT_RUN[run.action], None, sources, state, changed)


def _epoch(reader: MetadataReader, name: TableName) -> int:
    """The epoch of a table's checkpoint, 0 where there is none or it cannot be read."""
    try:
        target = reader.load(name)
        return 0 if target is None else last_epoch(target, reader)
    except IncrementalError:
        return 0


def _sources(run: ModelRun, parents: Collection[TableName]) -> list[TableName]:
    """What the run reads: in a rebuild any parent may be; else those of the checkpoint, and those that are new."""
    if run.checkpoint is None:
        return list(parents)
    known = [table for name in run.checkpoint.sources if (table := TableName.parse(name)) in parents and table]
    return [*known, *sorted(run.reads.always - {*known})]


def _read_before(run: ModelRun, reader: MetadataReader) -> Mapping[str, Position]:
    """How far the table that a policy has rebuilt has read its sources."""
    if not run.by_policy or run.target is None:
        return {}
    checkpoint = standing_of(run.target, reader).checkpoint
    return {} if checkpoint is None else checkpoint.sources


def _is_source(parent: project.Node | None) -> bool:
    return parent is None or parent["resource_type"] == "source"


def _stand(
    run: ModelRun, cuts: Cuts, source: TableName, read_before: Position | None, *, is_source: bool
) -> tuple[SourceStatus, str | None] | None:
    """A source's status, and what makes the run fail on it, if anything does; None for one that it does not capture.

    ``read_before``: up to where the table that is rebuilt has read it. What is no source of the project is built before
    the model.
    """
    position = None if run.checkpoint is None else run.checkpoint.sources.get(str(source))
    now_ms = int(time.time() * 1000)
    try:
        return _look(run, cuts, source, position, read_before, now_ms)
    except NotIcebergError as error:
        if run.is_rebuild and source not in run.reads.always:
            return None
        return standing(source, position, "not readable", now_ms), str(error.msg)
    except SourceMissingError as error:
        is_built_first = run.is_rebuild and not is_source
        return standing(source, position, "missing", now_ms), None if is_built_first else str(error.msg)
    except IncrementalError as error:
        return standing(source, position, "not readable", now_ms), str(error.msg)


def _look(
    run: ModelRun,
    cuts: Cuts,
    source: TableName,
    position: Position | None,
    read_before: Position | None,
    now_ms: int,
) -> tuple[SourceStatus, str | None]:
    """A source's status, and what makes the run fail on it, if anything does. Raises as a capture does."""
    found: Range | Refusal
    if position is not None and is_only_pinned(position, source, run.reads):
        found = capture_as_of(run, cuts, source)
        changelog = False
    else:
        changelog = position is not None and is_changelog(position, source, run.reads)
        found = changes_of(run, cuts, source, changelog=changelog)
    error = None
    if not isinstance(found, Range):
        error = str(source_errors.refused(found, source, run.model, run.policy, changelog=changelog).msg)
    elif source not in run.pinned:
        run.ranges[source] = found
        if source in run.reads.whole and not run.is_rebuild:
            whole = capture_as_of(run, cuts, source)
            found = whole if whole.brings_rows and not found.brings_rows else found
    cut = cuts.of(source)
    assert cut is not None
    return source_status(cut.history, position, found, now_ms, read_before), error

"""What ``dbt run-operation`` calls: the status of models, and setting a checkpoint by hand."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..capture.run import Cuts, changes_since, is_changelog, is_only_pinned, open_run
from ..capture.standing import standing_of
from ..errors import ConfigError, IncrementalError, SourceError, ViewError
from ..explain import wording
from ..metadata import MetadataReader
from ..plan.changes import Break, Range, Rewritten, plan_as_of, plan_net, plan_whole
from ..plan.policy import Policy
from ..plan.recovery import Recovered, plan_recovered
from ..project import graph as project
from ..project.conditional_reads import ConditionalReads, Macros, reads_of
from ..project.model_config import policy_of
from ..publish.publisher import Publisher
from ..table.checkpoint import Position
from ..table.history import History, TableName
from .arguments import output_format, whole_number
from .set_checkpoint import new_checkpoint
from .status import ModelStatus, SourceStatus, as_json, as_text, source_status

Graph = Mapping[str, Any]


def set_checkpoint(
    reader: MetadataReader,
    publisher: Publisher,
    graph: Graph,
    default_catalog: str,
    invocation_id: str,
    arguments: Mapping[str, Any],
) -> str:
    """Write a checkpoint into the property of a model's table; returns what was set, to be shown.

    ``arguments``: model, and source with snapshot_id or timestamp. Raises IncrementalError in all its kinds.
    """
    node = project.model_named(graph, arguments.get("model"))
    name = project.table_of(node, default_catalog)
    target = reader.load(name)
    if target is None:
        raise SourceError(
            f"{name} does not exist.\n  Expected: the table of {node['unique_id']}.\n"
            "  What to do: run the model; its first build sets the checkpoint."
        )
    parents = [project.table_of(parent, default_catalog) for parent in project.parents_of(graph, node)]
    source = arguments.get("source")
    timestamp = arguments.get("timestamp")
    checkpoint = new_checkpoint(
        reader,
        model=node["unique_id"],
        policy=policy_of(node["config"], node["unique_id"]),
        target=target,
        source=None if source is None else project.table_named(str(source), parents),
        snapshot_id=whole_number(arguments.get("snapshot_id"), "snapshot_id"),
        timestamp=None if timestamp is None else str(timestamp),
        invocation_id=invocation_id,
    )
    publisher.set_checkpoint(target, checkpoint)
    return wording.checkpoint_set(name, checkpoint)


def status(
    reader: MetadataReader, graph: Graph, default_catalog: str, macros: Macros, arguments: Mapping[str, Any]
) -> str:
    """The status of the project's incremental models, or of one, as text or JSON. Reads metadata only.

    ``arguments``: format (``text`` or ``json``); model, or select. Raises ConfigError for a value that is not known.
    """
    wanted = output_format(arguments)
    model, select = arguments.get("model"), arguments.get("select")
    if model is not None and select is not None:
        raise ConfigError(
            "ip_status got both model and select.\n  Expected: one of them.\n  What to do: leave one of them out."
        )
    if model is not None:
        nodes = [project.model_named(graph, model)]
    else:
        nodes = project.models(graph) if select is None else project.models_selected(graph, select)
    cuts = Cuts(lambda: reader)
    statuses = [_model_status(reader, cuts, graph, default_catalog, macros, node) for node in nodes]
    return as_json(statuses) if wanted == "json" else as_text(statuses)


def _model_status(
    reader: MetadataReader, cuts: Cuts, graph: Graph, default_catalog: str, macros: Macros, node: project.Node
) -> ModelStatus:
    model, name = str(node["unique_id"]), project.table_of(node, default_catalog)
    positions: Mapping[str, Position] = {}
    epoch = 0
    parents = {project.table_of(parent, default_catalog): parent for parent in project.parents_of(graph, node)}
    reads = reads_of(node, parents, macros)
    try:
        policy = policy_of(node["config"], model)
        target = _load_unless_view(reader, name)
        checkpoint = None if target is None else standing_of(target, reader).checkpoint
        if checkpoint is not None:
            positions, epoch = checkpoint.sources, checkpoint.epoch
        run = open_run(
            reader, cuts, model=model, target=name, policy=policy, invocation_id="", full_refresh=False, reads=reads
        )
        sources = [TableName.parse(source) for source in positions] or list(parents)
        outcomes = [
            _outcome(cuts, table, None if run.is_rebuild else positions.get(str(table)), policy, reads)
            for table in sources
            if table is not None
        ]
    except IncrementalError as error:
        return ModelStatus(model, str(name), epoch, "fails", str(error.msg))
    stands = [stand for stand, _ in outcomes]
    errors = [error for _, error in outcomes if error is not None]
    if errors:
        return ModelStatus(model, str(name), epoch, "fails", "\n".join(errors), stands)
    if run.is_rebuild:
        return ModelStatus(model, str(name), epoch, f"builds the whole table ({run.reason})", None, stands)
    pending = any(stand.pending != "nothing" for stand in stands)
    return ModelStatus(model, str(name), epoch, "applies what is pending" if pending else "nothing to do", None, stands)


def _load_unless_view(reader: MetadataReader, name: TableName) -> History | None:
    """A target's history; None for a view too, in whose place a run builds the table."""
    try:
        return reader.load(name)
    except ViewError:
        return None


def _outcome(
    cuts: Cuts, table: TableName, position: Position | None, policy: Policy, reads: ConditionalReads
) -> tuple[SourceStatus, str | None]:
    """A source's status, and what makes a run fail on it, if anything does."""
    now_ms = int(time.time() * 1000)
    try:
        cut = cuts.of(table)
    except IncrementalError as error:
        return SourceStatus(str(table), None, None, "not readable"), str(error.msg)
    if cut is None:
        return SourceStatus(str(table), None, None, "missing"), f"{table} does not exist."
    outcome: Range | Rewritten | Break
    if position is None:
        outcome = plan_whole(cut.history, cut.end)
    elif is_only_pinned(position, table, reads):
        outcome = plan_as_of(cut.history, position, cut.end)
    else:
        changelog = is_changelog(position, table, reads)
        found = changes_since(cuts, table, cut, position, policy, changelog=changelog)
        if isinstance(found, Recovered):
            outcome = plan_recovered(found, None)
        elif isinstance(found, Rewritten) and (changelog or policy.nets_rewrites):
            outcome = plan_net(found, None)
        else:
            outcome = found
    reason = None
    if isinstance(outcome, Break):
        reason = f"{table}: {outcome.reason} ({outcome.cause.value})."
    elif isinstance(outcome, Rewritten):
        reason = f"{table}: {wording.rewrites(outcome)}."
    return source_status(cut.history, position, outcome, now_ms), reason

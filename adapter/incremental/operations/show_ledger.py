"""What ``ip_ledger`` shows: the ledger of a model, or what one of its commits read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..capture.cuts import Cut, Cuts
from ..capture.outcome import outcome
from ..errors import IncrementalError
from ..explain import ledger_errors, target_errors
from ..expose.relations import changelog_sql, changes_sql, empty_sql
from ..metadata import MetadataReader
from ..plan.changes import plan_whole
from ..plan.policy import OnRewrite, Policy
from ..plan.ranges import Range, position_at
from ..plan.refusals import Refusal
from ..project import graph as project
from ..project.model_config import policy_of
from ..table.checkpoint import Position, UnreadableCheckpoint
from ..table.history import History, TableName
from .arguments import output_format, whole_number
from .ledger import Entry, as_json, as_text, entries, ledger


def show(reader: MetadataReader, graph: Mapping[str, Any], default_catalog: str, arguments: Mapping[str, Any]) -> str:
    """The ledger of a model as text or JSON; with an epoch, the SQL of what that commit read.

    ``arguments``: model, format (``text`` or ``json``), epoch. Raises CheckpointError where the ranges are not proven
    contiguous or the counts do not add up, and ConfigError for an argument that does not fit.
    """
    wanted = output_format(arguments)
    node = project.model_named(graph, arguments.get("model"))
    name = project.table_of(node, default_catalog)
    target = reader.load(name)
    known = [] if target is None else _entries(reader, target)
    if target is None or not known:
        raise ledger_errors.no_ledger(name, str(node["unique_id"]))
    tables = {source: TableName.parse(source) for entry in known for source in entry.checkpoint.sources}
    sources = {
        source: history
        for source, table in tables.items()
        if table is not None and (history := _history_or_none(reader, table)) is not None
    }
    epoch = whole_number(arguments.get("epoch"), "epoch")
    if epoch is not None:
        entry = next((entry for entry in known if entry.checkpoint.epoch == epoch), None)
        if entry is None:
            raise ledger_errors.unknown_epoch(name, epoch, [entry.checkpoint.epoch for entry in known])
        policy = policy_of(node["config"], str(node["unique_id"]))
        return "\n".join(_replayed(reader, entry, sources, policy))
    found = ledger(target, known, sources)
    text = as_json(found) if wanted == "json" else as_text(found, known)
    wrong, broken = found.first_wrong, found.first_broken
    if wrong is not None or broken is not None:
        raise ledger_errors.ledger_broken(text, wrong, broken)
    return text


def _entries(reader: MetadataReader, target: History) -> list[Entry]:
    try:
        return entries(target, list(reader.older(target)))
    except UnreadableCheckpoint as error:
        raise target_errors.unreadable_checkpoint(error) from error


def _history_or_none(reader: MetadataReader, table: TableName) -> History | None:
    try:
        return reader.load(table)
    except IncrementalError:
        return None


def _replayed(reader: MetadataReader, entry: Entry, sources: Mapping[str, History], policy: Policy) -> list[str]:
    """For each source, the relation that a commit's run read.

    Raises CheckpointError for one that has expired, and for a commit that read no range of commits.
    """
    positions = entry.checkpoint.sources
    ranges = [position for position in positions.values() if not position.as_of]
    stayed = all(position.continues and position.from_snapshot_id == position.snapshot_id for position in ranges)
    if entry.snapshot is None or (ranges and stayed):
        raise ledger_errors.nothing_to_replay(entry.checkpoint.epoch)
    if not policy.ignores_rewrites:  # the run can only have read commits that changed rows by their net changes
        policy = replace(policy, on_source_rewrite=OnRewrite.UPSERTS)
    cuts = Cuts(lambda: reader)
    lines = []
    for name, position in positions.items():
        history = sources.get(name)
        if history is None:
            raise ledger_errors.not_replayable(name, position.snapshot_id)
        lines += [f"-- {name}", f"select * from {_relation(cuts, history, name, position, policy)}"]
    return lines


def _relation(cuts: Cuts, history: History, name: str, position: Position, policy: Policy) -> str:
    if position.snapshot_id is None:
        return empty_sql(history.table)
    end = history.snapshots.get(position.snapshot_id)
    if end is None:
        raise ledger_errors.not_replayable(name, position.snapshot_id)
    found: Range | Refusal = plan_whole(history, end)
    if position.continues and not position.as_of:
        start = _start_of(history, position)
        found = outcome(cuts, Cut(history, end), start, policy, changelog=position.changelog)
    if not isinstance(found, Range):
        raise ledger_errors.not_replayable(name, position.from_snapshot_id)
    return changelog_sql(found) if position.changelog else changes_sql(found)


def _start_of(history: History, position: Position) -> Position:
    start = history.snapshots.get(position.from_snapshot_id or 0)
    if start is not None or position.from_snapshot_id is None:
        return position_at(history.table_uuid, start)
    return Position(history.table_uuid, position.from_snapshot_id, None, None)

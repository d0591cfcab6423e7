"""``ip_ledger``: the ledgers of models, or SQL that returns the rows that one commit of a model read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from iceberg_incremental.capture.cuts import Cut, Cuts
from iceberg_incremental.capture.source_policy import outcome
from iceberg_incremental.errors import IncrementalError, NotIcebergError
from iceberg_incremental.explain import target_errors
from iceberg_incremental.expose.relations import changelog_sql, changes_sql, empty_sql
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.plan.changes import plan_whole
from iceberg_incremental.plan.policy import OnRewrite, Policy
from iceberg_incremental.plan.ranges import Range, position_at
from iceberg_incremental.plan.refusals import Refusal
from iceberg_incremental.table.checkpoint import Position, UnreadableCheckpoint
from iceberg_incremental.table.history import History, TableName

from ..project import graph as project
from ..project.model_config import policy_of
from ..status.ledger import Entry, Ledger, as_text, entries, ledger, to_document
from . import operation_errors
from .arguments import models_of, output_format, whole_number

_VERSION = 1


@dataclass(frozen=True)
class _Accounts:
    """The inputs of a model's ledger. ``known``: the checkpoints of its table, at least one."""

    node: project.Node
    target: History
    known: list[Entry]
    sources: Mapping[str, History]

    @property
    def ledger(self) -> Ledger:
        return ledger(self.target, self.known, self.sources)


def show(reader: MetadataReader, names: project.ProjectTables, arguments: Mapping[str, Any]) -> str:
    """The ledgers of models as text or JSON. With an epoch, SQL that returns the rows that this commit read.

    ``arguments``: ``model`` or ``select``, or neither for all models; ``format`` (``text`` or ``json``); ``epoch``.
    Raises CheckpointError if the ranges have a gap or overlap, if the counts do not add up, or if the model in
    ``model`` has no checkpoint; and ConfigError for an invalid argument.
    """
    wanted, epoch = output_format(arguments), whole_number(arguments.get("epoch"), "epoch")
    nodes = models_of(names.graph, arguments, "ip_ledger")
    if epoch is not None and len(nodes) != 1:
        raise operation_errors.epoch_of_several(epoch, [str(node["name"]) for node in nodes])
    if epoch is None and arguments.get("model") is None:
        return _ledgers(reader, names, nodes, wanted)
    (node,) = nodes
    name = names.of(node)
    accounts = _accounts(reader, name, node)
    if accounts is None:
        raise operation_errors.no_ledger(name, str(node["unique_id"]))
    if epoch is not None:
        return "\n".join(_replay(reader, accounts, epoch))
    found = accounts.ledger
    document = {"version": _VERSION, **to_document(found)}
    text = json.dumps(document, indent=2) if wanted == "json" else as_text(found, accounts.known)
    _require_sound(text, found)
    return text


def _ledgers(reader: MetadataReader, names: project.ProjectTables, nodes: Sequence[project.Node], wanted: str) -> str:
    """The ledgers of several models. The text has a line for a model without a checkpoint. JSON omits the model."""
    ledgers: list[Ledger] = []
    texts: list[str] = []
    for node in nodes:
        name = names.of(node)
        try:
            accounts = _accounts(reader, name, node)
        except NotIcebergError:
            accounts = None
        if accounts is None:
            texts.append(f"{name}: no checkpoint yet")
            continue
        ledgers.append(accounts.ledger)
        texts.append(as_text(ledgers[-1], accounts.known))
    text = "\n".join(texts) or "The project has no incremental models."
    if wanted == "json":
        text = json.dumps({"version": _VERSION, "models": [to_document(found) for found in ledgers]}, indent=2)
    for found in ledgers:
        _require_sound(text, found)
    return text


def _require_sound(text: str, found: Ledger) -> None:
    """Raise CheckpointError, with the text of the ledger, if a ledger does not add up."""
    if found.first_wrong is not None or found.first_broken is not None:
        raise operation_errors.ledger_broken(text, found.target, found.first_wrong, found.first_broken)


def _accounts(reader: MetadataReader, name: TableName, node: project.Node) -> _Accounts | None:
    """The inputs of a model's ledger. None without a checkpoint."""
    target = reader.load(name)
    known = [] if target is None else _entries(reader, target)
    if target is None or not known:
        return None
    tables = {source: TableName.parse(source) for entry in known for source in entry.checkpoint.sources}
    sources = {
        source: history
        for source, table in tables.items()
        if table is not None and (history := _history_or_none(reader, table)) is not None
    }
    return _Accounts(node, target, known, sources)


def _replay(reader: MetadataReader, accounts: _Accounts, epoch: int) -> list[str]:
    entry = next((entry for entry in accounts.known if entry.checkpoint.epoch == epoch), None)
    if entry is None:
        epochs = [entry.checkpoint.epoch for entry in accounts.known]
        raise operation_errors.unknown_epoch(accounts.target.table, epoch, epochs)
    policy = policy_of(accounts.node["config"], str(accounts.node["unique_id"]))
    return _replayed(reader, entry, accounts.sources, policy)


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
    """A query for each source, which returns the rows that a commit's run read.

    Raises CheckpointError if a snapshot has expired, and for a commit that read no range of commits.
    """
    positions = entry.checkpoint.sources
    ranges = [position for position in positions.values() if not position.as_of]
    stayed = all(position.continues and position.from_snapshot_id == position.snapshot_id for position in ranges)
    if entry.snapshot is None or (ranges and stayed):
        raise operation_errors.nothing_to_replay(entry.checkpoint.epoch)
    if not policy.ignores_rewrites:  # if commits changed rows, the run can only have read net changes
        policy = replace(policy, on_source_rewrite=OnRewrite.UPSERTS)
    cuts = Cuts(lambda: reader)
    lines = []
    for name, position in positions.items():
        history = sources.get(name)
        if history is None:
            raise operation_errors.not_replayable(name, position.snapshot_id)
        lines += [f"-- {name}", f"select * from {_relation(cuts, history, name, position, policy)}"]
    return lines


def _relation(cuts: Cuts, history: History, name: str, position: Position, policy: Policy) -> str:
    if position.snapshot_id is None:
        return empty_sql(history.table)
    end = history.snapshots.get(position.snapshot_id)
    if end is None:
        raise operation_errors.not_replayable(name, position.snapshot_id)
    found: Range | Refusal = plan_whole(history, end)
    if position.continues and not position.as_of:
        start = _start_of(history, position)
        found = outcome(cuts, Cut(history, end), start, policy, changelog=position.changelog)
    if not isinstance(found, Range):
        raise operation_errors.not_replayable(name, position.from_snapshot_id)
    return changelog_sql(found) if position.changelog else changes_sql(found)


def _start_of(history: History, position: Position) -> Position:
    start = history.snapshots.get(position.from_snapshot_id or 0)
    if start is not None or position.from_snapshot_id is None:
        return position_at(history.table_uuid, start)
    return Position(history.table_uuid, position.from_snapshot_id, None, None)

"""``ip_maintain``: the maintenance of the models' tables, one table at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.capture.target_checkpoint import target_checkpoint
from iceberg_incremental.errors import ConfigError, IncrementalError, NotIcebergError
from iceberg_incremental.maintenance.branches import OwnBranches, alive, is_left, own_branches, seen_since
from iceberg_incremental.maintenance.expiry import is_collected
from iceberg_incremental.maintenance.folders import listed_with
from iceberg_incremental.maintenance.readers import Reader, needed_by_itself
from iceberg_incremental.maintenance.table_plan import KnownTable, OrderChange, TablePlan, plan_table
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.table.checkpoint import Checkpoint, Position, UnreadableCheckpoint, mirrored_by
from iceberg_incremental.table.history import History, TableName
from iceberg_incremental.table.layout import normal_sorts
from iceberg_incremental.table.own_names import AUDIT_KEY, audit_table
from iceberg_incremental.write.order.deletions import BESIDE_KEY, deletions_table

from ..project import graph as project
from ..project.layout_config import WriteOrder, write_order
from ..project.model_config import policy_of
from .arguments import flag, models_of, output_format, time_span
from .maintain_report import Done, Report, TableReport, progress
from .maintain_sql import Step, steps

RunProcedure = Callable[[str], Mapping[str, Any]]
"""Executes a statement. Returns its result by column name, or an empty mapping without a result."""


@dataclass(frozen=True)
class _Consumer:
    """A model of the project and its positions. ``error``: why its checkpoint cannot be read.

    ``nets``: whether its config makes it read net changes; also true if the config is invalid. A position in its
    checkpoint may require this, too. ``order``: the order of rows in its table, by its config.
    """

    model: str
    target: TableName
    parents: Sequence[TableName]
    nets: bool = True
    checkpoint: Checkpoint | None = None
    error: str | None = None
    order: WriteOrder | None = None


@dataclass
class _Maintenance:
    """One call of the operation: its readers, and the facts about all models of the project.

    ``folders``: the folders of the project's tables, if orphan files are removed. ``unlocated``: the tables whose
    folders are unknown.
    """

    reader: MetadataReader
    now_ms: int
    max_age: timedelta | None
    consumers: list[_Consumer] = field(default_factory=list)
    folders: Mapping[TableName, Sequence[str]] = field(default_factory=dict)
    unlocated: Sequence[TableName] = ()


def maintain(
    reader: MetadataReader,
    call: RunProcedure,
    note: Callable[[str], None],
    names: project.ProjectTables,
    arguments: Mapping[str, Any],
) -> Report:
    """Maintain the tables of all or some of the project's models, or report what would be done.

    ``note``: receives a line of progress before each step. ``arguments``: ``model`` or ``select``; ``format``;
    ``dry_run``, with which neither ``call`` nor ``note`` is called; ``sources``, ``max_snapshot_age``,
    ``orphan_files``. The failure of one table is in its report, and does not stop the others. Raises ConfigError for an
    invalid argument.
    """
    wanted = output_format(arguments)
    dry_run, with_sources, orphan_files = (
        flag(arguments.get(name), name) for name in ("dry_run", "sources", "orphan_files")
    )
    max_age = time_span(arguments.get("max_snapshot_age"), "max_snapshot_age")
    nodes = models_of(names.graph, arguments, "ip_maintain")
    maintenance = _Maintenance(reader, int(time.time() * 1000), max_age)
    maintenance.consumers = [_consumer(reader, names, node) for node in project.models(names.graph)]
    tables = _tables(names, nodes, with_sources=with_sources)
    if orphan_files:
        maintenance.folders, maintenance.unlocated = _folders(reader, {*_all_tables(names), *tables})
    reports, last = [], max(tables.values(), default=0)
    for table, number in tables.items():

        def carry_out(step: Step, plan: TablePlan, place: str = f"{number:,} of {last:,}") -> Done:
            if dry_run:
                return Done(step, None)
            note(progress(plan, step, place))
            return Done(step, call(step.sql))

        reports.append(_maintain(maintenance, table, carry_out, orphan_files=orphan_files))
    return Report(tuple(each for each in reports if each is not None), dry_run, wanted)


def _consumer(reader: MetadataReader, names: project.ProjectTables, node: project.Node) -> _Consumer:
    model, target = str(node["unique_id"]), names.of(node)
    consumer = _Consumer(model, target, list(names.read_by(node)))
    with suppress(ConfigError):  # the model's own run reports the error
        config = node["config"]
        order = write_order(config, config.get("tblproperties") or {}, model)
        consumer = replace(consumer, nets=policy_of(config, model).nets_rewrites, order=order)
    try:
        history = reader.load(target)
        found = None if history is None else target_checkpoint(history, reader)
    except NotIcebergError:
        return consumer  # a view has this name, and the next run replaces it
    except IncrementalError as error:
        return replace(consumer, error=str(error.msg).partition("\n")[0])
    return consumer if found is None else replace(consumer, checkpoint=found.checkpoint or found.unproven)


def _tables(names: project.ProjectTables, nodes: Sequence[project.Node], *, with_sources: bool) -> dict[TableName, int]:
    """The tables to maintain, in order: those of sources and models, and models' tables of deletions and audits.

    The values are numbers from 1. A table of deletions or of an audit may not exist, and has the number of its model.
    """
    parents = [each for node in nodes for each in project.read_by(names.graph, node)] if with_sources else []
    found: dict[TableName, int] = {}
    for node in (*(each for each in parents if each["resource_type"] == "source"), *nodes):
        table = names.of(node)
        number = found.setdefault(table, max(found.values(), default=0) + 1)
        if node["resource_type"] != "source":
            found |= {deletions_table(table): number, audit_table(table): number}
    return found


def _all_tables(names: project.ProjectTables) -> set[TableName]:
    """The tables of the whole project, including those of deletions and audits."""
    nodes = [each for each in names.graph["nodes"].values() if each["resource_type"] in ("model", "seed", "snapshot")]
    targets = {names.of(each) for each in nodes}
    sources = {names.of(each) for each in names.graph["sources"].values()}
    return targets | sources | {beside(each) for each in targets for beside in (deletions_table, audit_table)}


def _folders(
    reader: MetadataReader, tables: Iterable[TableName]
) -> tuple[dict[TableName, Sequence[str]], Sequence[TableName]]:
    """The folders of tables, and the tables whose folders are unknown. Tables of other formats are omitted."""
    found: dict[TableName, Sequence[str]] = {}
    unlocated: list[TableName] = []
    for table in sorted(tables, key=str):
        try:
            found[table] = reader.folders(table)
        except NotIcebergError:
            continue
        except IncrementalError:
            unlocated.append(table)
    return found, unlocated


def _maintain(
    maintenance: _Maintenance, table: TableName, carry_out: Callable[[Step, TablePlan], Done], *, orphan_files: bool
) -> TableReport | None:
    """Maintain one table. None if it is not a table of this package."""
    try:
        plan = _plan(maintenance, table)
        if plan is not None:
            plan = replace(
                plan, listed_with=listed_with(table, maintenance.folders), unlocated=tuple(maintenance.unlocated)
            )
    except NotIcebergError:
        return None
    except IncrementalError as error:
        return TableReport(TablePlan(table), (), str(error.msg))
    if plan is None:
        return None
    done: list[Done] = []
    for step in steps(plan, orphan_files=orphan_files):
        try:
            done.append(carry_out(step, plan))
        except DbtRuntimeError as error:
            return TableReport(plan, tuple(done), f"{step.action.value}: {error.msg.strip()}")
    return TableReport(plan, tuple(done))


def _plan(maintenance: _Maintenance, table: TableName) -> TablePlan | None:
    history = maintenance.reader.load(table)
    if history is None:
        return None
    consumers = maintenance.consumers
    consumer = next((each for each in consumers if each.target == table), None)
    if consumer is None and any(audit_table(each.target) == table for each in consumers):
        of_crashed_run = AUDIT_KEY in history.properties and is_left(history.updated_ms, maintenance.now_ms)
        return TablePlan(table, is_left=True, is_shared=not is_collected(history)) if of_crashed_run else None
    is_deletions_table = consumer is None and any(deletions_table(each.target) == table for each in consumers)
    if is_deletions_table and BESIDE_KEY not in history.properties:
        return None
    known = KnownTable(
        history=history,
        live=maintenance.reader.live_files(history),
        order=_other_order(history, None if consumer is None else consumer.order),
        readers=list(_readers(consumers, table)),
        unknown_readers={
            each.model: each.error
            for each in consumers
            if each.error is not None and table in (*each.parents, each.target, deletions_table(each.target))
        },
        needed=frozenset() if consumer is None else _needed(history),
        branches=_branches(maintenance, history, consumer),
    )
    return plan_table(known, maintenance.now_ms, maintenance.max_age)


def _other_order(history: History, order: WriteOrder | None) -> OrderChange | None:
    """The change to the order of a model's config. None if the table has this order, or without the config."""
    if order is None or normal_sorts(order.sort_by) == normal_sorts(history.sorted_by):
        return None
    return OrderChange(order.clause)


def _readers(consumers: Sequence[_Consumer], table: TableName) -> Iterator[Reader]:
    """The models of the whole project that read a table, which may be their own table of deletions."""
    name = str(table)
    for each in consumers:
        if each.checkpoint is None:
            continue
        position = each.checkpoint.sources.get(name)
        if position is not None:
            yield Reader(each.model, position, each.nets or position.changelog)
        sequence = each.checkpoint.sequence
        if sequence is not None and sequence.deletions is not None and sequence.deletions.table == name:
            yield Reader(each.model, Position(None, sequence.deletions.snapshot_id, None, None))


def _needed(history: History) -> frozenset[int]:
    try:
        mirrored = mirrored_by(history)
    except UnreadableCheckpoint:
        mirrored = None  # the consumer also has this error, so no snapshot expires
    return needed_by_itself(history, None if mirrored is None else mirrored.target_snapshot_id)


def _branches(maintenance: _Maintenance, history: History, consumer: _Consumer | None) -> OwnBranches:
    """The staging branches of a table. If the table is not a model of this project, none of them is dropped."""
    epoch = 0 if consumer is None or consumer.checkpoint is None else consumer.checkpoint.epoch
    names = alive(history, epoch)
    since = seen_since(names, chain([history], maintenance.reader.older(history))) if names else {}
    found = own_branches(history, epoch, since, maintenance.now_ms)
    return OwnBranches(fresh=found.fresh) if consumer is None else found

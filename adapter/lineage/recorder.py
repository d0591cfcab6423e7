"""The tables that a node read and wrote, from the plan of its run and the metadata of its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.events.logging import AdapterLogger

from dbt import selected_resources
from iceberg_incremental.capture.run import Run
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.metadata.catalog_properties import settings_of
from iceberg_incremental.plan.ranges import Counts
from iceberg_incremental.table.commits import PART_KEY, added, written
from iceberg_incremental.table.history import History, Snapshot, TableName

from ..hooks.adapter import Adapter, TablesInUse
from ..hooks.invocation import Invocations
from ..project import graph as project
from ..project.graph import Node
from .facts import Dataset, Statistics, Touched

logger = AdapterLogger("SparkIceberg")

Settings = Callable[[], Mapping[str, str]]


@dataclass(frozen=True)
class Look:
    """A node's tables before its statements.

    ``read``: the current snapshots of the tables that it reads; None for tables without one, or if it is unknown.
    ``written``: the current snapshot of its own table; None without one, or if it is unknown.
    """

    read: Mapping[TableName, int | None]
    written: int | None


class Recorder:
    """Reads the tables of nodes, in the threads and over the connections that run the nodes."""

    def __init__(self, adapter: Adapter, invocations: Invocations, settings: Settings) -> None:
        """``settings``: returns Spark's settings of catalogs."""
        self._adapter = adapter
        self._invocations = invocations
        self._tables = TablesInUse(adapter)
        self._settings = settings

    def look(self, unique_id: str) -> Look:
        """The current state of a node's tables. Tables that it reads are loaded without statements."""
        reader, node = self._adapter.metadata_reader(), self._node(unique_id)
        read = {table: self._head(reader.load_without_statement, table) for table in self._read_by(node)}
        return Look(read, self._head(reader.load, self._written_by(node)))

    def touched(self, unique_id: str, before: Look, compiled_code: str | None) -> Touched:
        """The tables that a node has read and written. ``compiled_code``: its SQL; None for a seed and for Python.

        The version of a captured table is the captured snapshot. The version of any other table is its current
        snapshot. It is unknown if the current snapshot has changed during the statements.
        """
        node, run = self._node(unique_id), self._invocations.run_of(unique_id)
        captured = {} if run is None else run.plan.captured
        inputs: list[Dataset | None] = []
        for table in dict.fromkeys([*captured, *self._read_by(node)]):
            planned = captured.get(table)
            if planned is None:
                inputs.append(self._unchanged(table, before))
            else:
                dataset = self._dataset(table)
                version = None if planned.end is None else planned.end.snapshot_id
                counts = None if planned.counts.at_most else _statistics(planned.counts)
                inputs.append(dataset and replace(dataset, version=version, statistics=counts))
        output, wrote = self._output(self._written_by(node), run, before)
        return Touched(
            tuple(each for each in inputs if each is not None),
            output,
            wrote,
            compiled_code,
            None if compiled_code is None else self._plain_sql(node, compiled_code),
        )

    def _read_by(self, node: Node) -> list[TableName]:
        selected = selected_resources.SELECTED_RESOURCES
        return [self._tables.in_use(parent, selected) for parent in project.tables_behind(self._graph, node)]

    @property
    def _graph(self) -> Mapping[str, Any]:
        """The graph that dbt passes to macros."""
        found: Mapping[str, Any] = self._adapter.get_macro_resolver().flat_graph
        return found

    def _node(self, unique_id: str) -> Node:
        found: Node = self._graph["nodes"][unique_id]
        return found

    def _head(self, load: Callable[[TableName], History | None], table: TableName) -> int | None:
        """The id of a table's current snapshot. None without one, or if it is unknown."""
        try:
            history = load(table)
        except IncrementalError:
            return None  # a table of another format, or unreadable metadata
        return None if history is None else history.current_snapshot_id

    def _written_by(self, node: Node) -> TableName:
        return project.table_of(node, self._tables.default_catalog)

    def _unchanged(self, table: TableName, before: Look) -> Dataset | None:
        found = self._loaded(table)
        if found is None:
            return None
        dataset, history = found
        head = history.current_snapshot_id
        return replace(dataset, version=head) if before.read.get(table) == head else dataset

    def _output(self, table: TableName, run: Run | None, before: Look) -> tuple[Dataset | None, bool]:
        """The table that a node builds, and whether the node has committed to it."""
        found = self._loaded(table)
        if found is None:
            return None, False
        dataset, history = found
        commits = own_commits(history, run, before.written)
        if commits is None:
            return dataset, True
        version = commits[-1].snapshot_id if commits else history.current_snapshot_id
        return replace(dataset, version=version, statistics=added_by(commits)), bool(commits)

    def _dataset(self, table: TableName) -> Dataset | None:
        found = self._loaded(table)
        return None if found is None else found[0]

    def _loaded(self, table: TableName) -> tuple[Dataset, History] | None:
        """The current state of a table. None if it is not an Iceberg table, or cannot be read."""
        reader = self._adapter.metadata_reader()
        try:
            found = reader.load_with_layout(table)
            if found is None:
                return None
            history, layout = found
            location = history.location or reader.folders(table)[0]
        except IncrementalError as error:
            logger.debug(f"{table} is omitted from the lineage: {error}")
            return None
        columns = () if layout is None else layout.columns
        return Dataset(table, location, settings_of(table.catalog, self._settings()), columns), history

    def _plain_sql(self, node: Node, sql: str) -> str:
        """A model's SQL with table names in place of the SQL that macros generated for them."""
        opened = self._invocations.if_opened(node)
        given = {} if opened is None else opened.given
        for text in sorted(given, key=len, reverse=True):
            tables = {captured.table for captured in given[text]}
            if len(tables) == 1:
                sql = sql.replace(text, tables.pop().sql)
        return sql


def own_commits(history: History, run: Run | None, before: int | None) -> Sequence[Snapshot] | None:
    """The commits of a node's run, oldest first. Empty if it wrote nothing. None if they are unknown.

    Without ``run``, these are the commits since the snapshot ``before``. A run makes one commit. If there are several,
    it is unknown which one is the run's.
    """
    if run is not None:
        published = run.state.published
        return () if published is None else unit_of(history, published)
    head = history.current
    if head is None or head.snapshot_id == before:
        return ()
    commits = history.commits_since(before, head)
    if commits is None:
        return (head,) if head.parent_id is None else None
    return commits if len(commits) == 1 else None


def unit_of(history: History, published: Snapshot) -> Sequence[Snapshot]:
    """The commits that a run published together."""
    unit = [published]
    for snapshot in list(history.ancestors(published.parent_id)):
        if PART_KEY not in snapshot.summary:
            break
        unit.insert(0, snapshot)
    return unit


def added_by(commits: Sequence[Snapshot]) -> Statistics:
    """The rows, bytes and data files that commits added, from their summaries.

    Rows that a statement copied unchanged are not counted.
    """
    files, _, size = (sum(each) for each in zip((0, 0, 0), *map(added, commits), strict=True))
    return Statistics(sum(map(written, commits)), size, files)


def _statistics(counts: Counts) -> Statistics:
    return Statistics(counts.records, counts.size, counts.files)

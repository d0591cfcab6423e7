"""Tables of dbt's own materializations that are older than their inputs, because the run ended before building them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.plan.policy import MATERIALIZATION
from iceberg_incremental.table.commits import Effect, effect
from iceberg_incremental.table.history import History
from iceberg_incremental.table.own_names import BEGUN_KEY

from ..project import graph as project

_TABLE = "table"
_COMPACTED = "replace"


def outdated_tables(tables: project.ProjectTables, names: Iterable[str], reader: MetadataReader) -> frozenset[str]:
    """The models with ``materialized='table'`` whose tables are missing, or older than a model that they read.

    The age is determined from the commit times of Iceberg tables, and from the time at which the build of the table
    began. It is unknown for other materializations, because a view has no rows, and an ``incremental`` model may have
    had nothing to write.
    """
    nodes = tables.graph["nodes"]

    def history(node: project.Node) -> History | None:
        return reader.load(tables.of(node))

    found = set[str]()
    for name in names:
        if _kind(nodes[name]) == _TABLE:
            try:
                own = history(nodes[name])
                read = [history(nodes[parent]) for parent in _stored_parents(nodes, name)]
            except IncrementalError:
                continue  # not an Iceberg table, or unreachable: dbt's run reports the error
            if own is None or any(_changed(each) > _built(own) for each in read if each is not None):
                found.add(name)
    return frozenset(found)


def _kind(node: project.Node) -> str | None:
    return node["config"].get("materialized") if node["resource_type"] == "model" else None


def _stored_parents(nodes: Mapping[str, project.Node], name: str) -> set[str]:
    """The nearest upstream models with rows and known change times, including those behind views."""

    def is_stored(name: str) -> bool:
        return name in nodes and _kind(nodes[name]) in (_TABLE, MATERIALIZATION)

    def through(name: str) -> Sequence[str]:
        return () if is_stored(name) else project.parent_ids(nodes.get(name, {}))

    return {name for name in project.reached_from(project.parent_ids(nodes[name]), through) if is_stored(name)}


def _built(history: History) -> int:
    """The time in ms up to which a table has the rows of its inputs: that of its last write, without compactions.

    If the start of the build is known, it counts, because inputs may have changed during the build.
    """
    chain = history.ancestors(history.current_snapshot_id)
    written = max((each.timestamp_ms for each in chain if each.operation != _COMPACTED), default=0)
    began = history.properties.get(BEGUN_KEY, "")
    return min(written, int(began)) if began.isdecimal() else written


def _changed(history: History) -> int:
    """The time in ms at which a table's rows last changed. 0 if no known commit has changed any.

    The first commit counts even without rows, because it may have replaced a table with rows. A rollback also counts.
    """
    chain = history.ancestors(history.current_snapshot_id)
    times = [each.timestamp_ms for each in chain if effect(each) is not Effect.NONE or each.parent_id is None]
    return max([*times, history.rolled_back_ms or 0])

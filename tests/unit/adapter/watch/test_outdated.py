"""Which tables of dbt's own materialization are older than the models that they read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_iceberg.project.graph import ProjectTables
from dbt.adapters.spark_iceberg.watch.outdated import outdated_tables
from iceberg_incremental.plan.policy import MATERIALIZATION
from iceberg_incremental.table.history import TableName
from iceberg_incremental.table.own_names import BEGUN_KEY

from ...incremental.histories import APPEND, EMPTY_APPEND, EPOCH_MS, history, snapshot

PARENT, CHILD = "model.shop.parent", "model.shop.child"


def node(name, materialized, *reads):
    return {
        "unique_id": f"model.shop.{name}",
        "resource_type": "model",
        "name": name,
        "schema": "s",
        "config": {"materialized": materialized},
        "depends_on": {"nodes": reads},
    }


TABLES = ProjectTables(
    {"nodes": {PARENT: node("parent", MATERIALIZATION), CHILD: node("child", "table", PARENT)}, "sources": {}}, "lake"
)


class Reader:
    def __init__(self, parent, child):
        self.known = {TableName("lake", "s", "parent"): parent, TableName("lake", "s", "child"): child}

    def load(self, table):
        return self.known[table]


def at(second, **properties):
    """A table whose only snapshot was committed at a second."""
    return history(snapshot(second, None, "append", APPEND), properties=properties)


def began(second):
    return {BEGUN_KEY: str(EPOCH_MS + second * 1000)}


@pytest.mark.parametrize(
    ("parent", "child", "expected"),
    [
        (at(5), at(9), set()),
        (at(5), at(9, **began(7)), set()),
        (at(5), at(3), {CHILD}),
        (at(5), None, {CHILD}),
        (at(8), at(9, **began(7)), {CHILD}),  # the parent has changed while the table was built
        (at(8), at(9), set()),  # a table of an earlier version, without the start of its build
        (at(5), at(4, **began(7)), {CHILD}),  # rolled back to an earlier build
        (at(5), at(9, **{BEGUN_KEY: "soon"}), set()),
        (history(snapshot(8, None, "append", EMPTY_APPEND)), at(5), {CHILD}),  # the parent was replaced without rows
        (history(snapshot(4, None), snapshot(8, 4, "append", EMPTY_APPEND)), at(5), set()),
        (replace(at(5), rolled_back_ms=EPOCH_MS + 9500), at(9), {CHILD}),  # the table has rows that were undone
        (replace(at(5), rolled_back_ms=EPOCH_MS + 8500), at(9), set()),
    ],
)
def test_tables_that_are_older_than_their_inputs(parent, child, expected):
    assert outdated_tables(TABLES, [CHILD, PARENT], Reader(parent, child)) == expected

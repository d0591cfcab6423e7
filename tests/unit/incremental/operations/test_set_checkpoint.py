"""Setting a checkpoint manually."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from dbt.adapters.spark_iceberg.operations.set_checkpoint import new_checkpoint, set_checkpoint
from dbt.adapters.spark_iceberg.project.graph import ProjectTables
from dbt.adapters.spark_iceberg.project.jinja import JinjaScope
from iceberg_incremental.errors import CheckpointError, MetadataAccessError
from iceberg_incremental.plan.policy import Policy
from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.table.checkpoint import Deletions, RecordedLogic, RowOrder
from tests.unit.incremental.connection import Connection
from tests.unit.incremental.runs import (
    MODEL,
    SOURCE,
    TARGET,
    Reader,
    carrying,
    cp,
    hist,
    snap,
)


def set_back(reader, target, policy=Policy()):  # noqa: B008 (it is frozen)
    """Set the position of a target's checkpoint to the source's first snapshot."""
    return new_checkpoint(
        reader,
        model=MODEL,
        policy=policy,
        target=target,
        source=SOURCE,
        snapshot_id=1,
        timestamp=None,
        invocation_id="i",
    )


def test_setting_a_position_keeps_how_the_source_is_read():
    reader = Reader(s=hist(SOURCE, snap(1, None), snap(2, 1)))
    target = hist(TARGET, carrying(100, None, cp(1, 2, as_of=True)))
    made = set_back(reader, target)
    assert made.sources[str(SOURCE)].as_of


@pytest.mark.parametrize("deletions", [None, Deletions("lake.ops.staged__ip_deleted", 5)])
def test_setting_a_position_keeps_deletions_and_applies_sequence_by(deletions):
    reader = Reader(s=hist(SOURCE, snap(1, None), snap(2, 1)))
    before = replace(cp(1, 2), sequence=None if deletions is None else RowOrder(("at",), deletions))
    target = hist(TARGET, carrying(100, None, before))
    assert set_back(reader, target, Policy(sequence_by=("AT",))).sequence == RowOrder(("at",), deletions)
    assert set_back(reader, target).sequence is None


def test_setting_a_position_keeps_the_key_of_the_order_and_the_logic():
    reader = Reader(s=hist(SOURCE, snap(1, None), snap(2, 1)))
    logic = RecordedLogic("1:ab", 3)
    before = replace(cp(1, 2), sequence=RowOrder(("at",), None, ("id",)), logic=logic)
    made = set_back(reader, hist(TARGET, carrying(100, None, before)), Policy(sequence_by=("at",), unique_key=("k",)))
    assert made.sequence == RowOrder(("at",), None, ("id",))
    assert made.logic == logic


def test_a_partial_build_is_refused():
    reader = Reader(s=hist(SOURCE, snap(1, None)))
    target = hist(TARGET, snap(100, None, {"ip.partial-build": "true"}))
    with pytest.raises(CheckpointError, match="was built with --empty or --sample"):
        set_back(reader, target)


class OutOfReach(Reader):
    """A reader that can read the source ``left`` times."""

    def load(self, name):
        found = super().load(name)
        if name == SOURCE:
            if not self.left:
                raise MetadataAccessError("out of reach")
            self.left -= 1
        return found


@pytest.mark.parametrize(("loads", "is_set"), [(1, False), (2, True)])
def test_an_error_leaves_the_checkpoint_unchanged(loads, is_set):
    reader = OutOfReach(s=hist(SOURCE, snap(1, None), snap(2, 1)), t=hist(TARGET, carrying(100, None, cp(1, 1))))
    reader.left = loads
    source = {"unique_id": "source.shop.ops.events", "resource_type": "source", "name": "events"}
    model = {
        "unique_id": MODEL, "resource_type": "model", "name": "staged", "alias": "staged", "database": "lake",
        "schema": "ops", "config": {"materialized": "iceberg_incremental_snapshot"},
        "depends_on": {"nodes": [source["unique_id"]]},
    }  # fmt: skip
    graph = {
        "nodes": {MODEL: model},
        "sources": {source["unique_id"]: {**source, "identifier": "events", "database": "lake", "schema": "ops"}},
    }
    sent = []
    arguments = {"model": "staged", "source": "events", "snapshot_id": 2}
    with nullcontext() if is_set else pytest.raises(MetadataAccessError):
        said = set_checkpoint(
            reader,
            Publisher(Connection(sent.append), reader),
            ProjectTables(graph, "lake"),
            JinjaScope(),
            "now",
            arguments,
        )
        assert "Skipped in lake.ops.events: 1 snapshot after" in said
    assert bool(sent) is is_set

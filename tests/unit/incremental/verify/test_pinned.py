"""Sources pinned at the positions of a checkpoint, and the differences that policies permit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.capture.reads import capture
from iceberg_incremental.capture.run_plan import Read, RunPlan
from iceberg_incremental.errors import IncomparableError
from iceberg_incremental.plan.policy import OnRewrite, Policy, Strategy
from iceberg_incremental.table.checkpoint import KEY, Checkpoint, Position
from iceberg_incremental.table.history import TableName
from iceberg_incremental.verify.difference import PinnedCuts
from iceberg_incremental.verify.found import Kind, permitted

from ..histories import APPEND, FLIGHTS, OVERWRITE, UUID, history, snapshot

TARGET = TableName("lake", "analytics", "daily")
MODEL = "model.shop.daily"


class Reader:
    def __init__(self, *histories):
        self._histories = {each.table: each for each in histories}

    def load(self, table):
        return self._histories.get(table)


def position(snapshot_id: int | None, uuid: str = UUID, **more) -> Position:
    return Position(uuid, snapshot_id, snapshot_id, None, **more)


def pinned(source, at):
    return PinnedCuts(lambda: Reader(source), MODEL, {str(FLIGHTS): at})


def test_a_source_is_pinned_at_its_position():
    source = history(snapshot(1, None), snapshot(2, 1), snapshot(3, 2))
    cut = pinned(source, position(2)).of(FLIGHTS)
    assert cut is not None and cut.end == source.snapshots[2]
    empty = pinned(source, position(None)).of(FLIGHTS)
    assert empty is not None and empty.end is None
    assert pinned(source, position(2)).of(TARGET) is None


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        ({}, "last run did not read"),
        ({str(FLIGHTS): position(7)}, "snapshot 7 of lake.ops.flights has expired"),
        ({str(FLIGHTS): position(1, "another")}, "dropped and created again"),
    ],
)
def test_a_source_that_cannot_be_pinned(positions, said):
    source = history(snapshot(1, None))
    with pytest.raises(IncomparableError, match=said):
        PinnedCuts(lambda: Reader(source), MODEL, positions).of(FLIGHTS)


def run(policy, cuts, *, net=False):
    plan = RunPlan(MODEL, TARGET, policy, "one", None, None, "", 0)
    return capture(plan, cuts, FLIGHTS, Read.CHANGELOG if net else Read.CHANGES)


def target(built_at: int):
    """A table that was built at a snapshot of its source, and then continued to snapshot 3."""
    first = Checkpoint(MODEL, 1, "one", {str(FLIGHTS): position(built_at)})
    then = Checkpoint(MODEL, 2, "two", {str(FLIGHTS): position(3, continues=True, from_snapshot_id=built_at)})
    snapshots = [
        snapshot(number, number - 1 or None, summary={**APPEND, KEY: each.to_json()})
        for number, each in enumerate((first, then), 1)
    ]
    return replace(history(*snapshots), table=TARGET)


REWRITTEN = history(snapshot(1, None), snapshot(2, 1, "overwrite", OVERWRITE), snapshot(3, 2))


@pytest.mark.parametrize(
    ("policy", "built_at", "kinds"),
    [
        (Policy(on_source_rewrite=OnRewrite.IGNORE), 1, set(Kind)),
        (Policy(on_source_rewrite=OnRewrite.IGNORE), 2, set()),
        (Policy(on_source_rewrite=OnRewrite.UPSERTS, strategy=Strategy.MERGE, unique_key=("id",)), 1, {Kind.TOO_MANY}),
        (Policy(), 1, set()),
    ],
)
def test_rows_that_a_policy_has_skipped_since_the_last_build(policy, built_at, kinds):
    cuts = pinned(REWRITTEN, position(3))
    found = permitted(run(policy, cuts), cuts, target(built_at), ())
    assert {kind for each in found for kind in each.kinds} == kinds


def test_appended_changes_and_predicates_permit_all_differences():
    cuts = pinned(REWRITTEN, position(3))
    (appended,) = permitted(run(Policy(), cuts, net=True), cuts, target(1), ())
    assert appended.kinds == set(Kind) and "append adds the changes" in appended.reason
    merged = run(Policy(strategy=Strategy.MERGE, unique_key=("id",)), cuts)
    (narrowed,) = permitted(merged, cuts, target(1), ["day > 3"])
    assert "incremental_predicates" in narrowed.reason
    assert permitted(run(Policy(), cuts), cuts, target(1), ["day > 3"]) == []

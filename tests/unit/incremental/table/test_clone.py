"""What clones share with their origins, and which properties, branches and tags they must not have."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from iceberg_incremental.table.checkpoint import Checkpoint, Position
from iceberg_incremental.table.clone import (
    KEPT_KEY,
    ORIGIN_KEY,
    clone_of,
    clone_token,
    in_clones,
    is_left_unfinished,
    keeping_branch,
    may_remove_files,
    properties_of,
    refs_to_drop,
    still_forbidden,
    unfinished,
)
from iceberg_incremental.table.history import History, Retention, Snapshot, TableName

ORIGIN, CLONE = TableName("lake", "prod", "orders"), TableName("lake", "dev", "orders")
DAY_MS = 24 * 3_600_000


def history(**properties: str) -> History:
    """A history with two snapshots on main and one on branch b."""
    snapshots = {n: Snapshot(n, parent, n, n * 60_000, "append") for n, parent in ((1, None), (2, 1), (3, 2))}
    return History(ORIGIN, "uuid", 2, 2, snapshots, {"main": 2, "b": 3, "t": 1}, properties,
        branches={"main": Retention(), "b": Retention()})  # fmt: skip


def test_the_branch_keeps_all_of_main_for_the_given_time():
    found = keeping_branch(history(), CLONE, "7", timedelta(days=1), now_ms=10 * 60_000)
    assert found is not None
    assert (found.name, found.head, found.snapshots) == ("ip_cloned_by.lake.dev.orders.7", 2, 2)
    assert found.minutes == 8 + 24 * 60  # the age is counted from the head's commit
    assert "`ip_cloned_by.lake.dev.orders.7`" in found.sql(ORIGIN)


def test_a_table_without_a_snapshot_has_nothing_to_keep():
    assert keeping_branch(replace(history(), current_snapshot_id=None), CLONE, "7", timedelta(1), 0) is None


def test_a_clone_records_its_origin():
    properties = properties_of(history(), timedelta(days=1), now_ms=5)
    found = clone_of(replace(history(), properties=properties))
    assert found is not None and (found.origin, found.kept_until_ms) == (ORIGIN, DAY_MS + 5)
    assert clone_of(history()) is None


def test_a_replaced_clone_still_removes_no_files():
    wanted = ["write.metadata.delete-after-commit.enabled", "write.format.default"]
    clone = replace(history(), properties=properties_of(history(), timedelta(days=1), now_ms=5))
    assert still_forbidden(clone, wanted) == {wanted[0]: "false"}
    assert still_forbidden(history(), wanted) == {} == still_forbidden(None, wanted)


def test_an_unfinished_clone_counts_as_left_behind_after_some_time():
    name = unfinished(CLONE, clone_token(1_000, "0a1b2c")).name
    hour_ms = 3_600_000
    assert not is_left_unfinished(CLONE, name, 1_000 + hour_ms)
    assert is_left_unfinished(CLONE, name, 1_001 + hour_ms)
    assert is_left_unfinished(replace(CLONE, name="Orders"), name, 1_001 + hour_ms), "as Hive lists it"
    assert not is_left_unfinished(replace(CLONE, name="ders"), name, 1_001 + hour_ms)
    assert not is_left_unfinished(CLONE, "orders__ip_clone", 10**15)


@pytest.mark.parametrize(
    ("properties", "may"),
    [
        ({}, False),
        ({"gc.enabled": "TRUE"}, True),
        ({"gc.enabled": None}, True),
        ({"write.metadata.delete-after-commit.enabled": "true"}, True),
        ({"write.metadata.delete-after-commit.enabled": None}, False),
    ],
)
def test_a_clone_with_properties_that_let_iceberg_remove_files(properties, may):
    given = {**properties_of(history(), timedelta(days=1), now_ms=5), **properties}
    clone = replace(history(), properties={key: value for key, value in given.items() if value is not None})
    assert may_remove_files(clone) is may
    assert not may_remove_files(history(**{"gc.enabled": "true"}))


def test_a_clone_of_a_clone_is_not_kept_longer_than_the_first_clone():
    first = history(**{ORIGIN_KEY: str(CLONE), KEPT_KEY: "7"})
    assert properties_of(first, timedelta(days=1), now_ms=5)[KEPT_KEY] == "7"
    assert properties_of(first, timedelta(milliseconds=1), now_ms=5)[KEPT_KEY] == "6"


def test_a_clone_has_no_other_branch_or_tag():
    assert refs_to_drop(history()) == {"b": True, "t": False}


def test_positions_in_sources_that_were_also_cloned():
    position = Position("uuid", 1, 1, 60_000)
    checkpoint = Checkpoint("model.shop.m", 3, "i", {str(ORIGIN): position, "lake.prod.other": position})
    source = replace(history(**{ORIGIN_KEY: str(ORIGIN)}), table=CLONE)
    assert in_clones(checkpoint, {CLONE: source}).sources == {str(CLONE): position, "lake.prod.other": position}
    assert in_clones(checkpoint, {ORIGIN: source}) == checkpoint, "it is read under its old name still"
    assert in_clones(checkpoint, {CLONE: replace(history(), table=CLONE)}) == checkpoint

"""Which snapshots expire. Iceberg's retention rules apply, and required snapshots are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from iceberg_incremental.maintenance.expiry import ExpiryRisk, expired, is_collected, plan_expiry, without_branches
from iceberg_incremental.table.history import Retention
from tests.unit.incremental.histories import EPOCH_MS, chain, history, snapshot

SECOND = timedelta(seconds=1)
NOW = EPOCH_MS + 100_000
NONE = frozenset[int]()


def at(second):
    return EPOCH_MS + second * 1000


def test_the_newest_snapshots_are_kept():
    known = history(*chain(6))
    assert expired(known, at(4), 1, NOW) == {1, 2, 3}
    assert expired(known, NOW, 1, NOW) == {1, 2, 3, 4, 5}
    assert expired(known, NOW, 4, NOW) == {1, 2}
    assert expired(known, at(0), 1, NOW) == NONE


def test_other_branches_and_tags():
    side = snapshot(7, 2)
    known = history(*chain(6), side, head=6, refs={"main": 6, "side": 7, "tag": 3})
    known = replace(known, branches={"main": Retention(), "side": Retention()})
    assert expired(known, NOW, 1, NOW) == {1, 2, 4, 5}
    assert expired(without_branches(known, ("side",)), NOW, 1, NOW) == {1, 2, 4, 5, 7}
    assert expired(without_branches(known, ("side",)), at(7), 1, NOW) == {1, 2, 4, 5}
    own = replace(known, branches={"main": Retention(3), "side": Retention(None, 10**9)})
    assert expired(own, NOW, 1, NOW) == NONE
    aged = replace(known, ref_ages={"side": 1, "tag": 1})
    assert expired(aged, NOW, 1, NOW) == {1, 2, 3, 4, 5, 7}


def test_retention_ends_at_the_first_older_snapshot():
    """As in Iceberg, earlier snapshots expire even if a wrong clock gave them later times."""
    late = [replace(each, timestamp_ms=at(9)) if each.snapshot_id == 2 else each for each in chain(6)]
    assert expired(history(*late), at(5), 1, NOW) == {1, 2, 3, 4}


def test_the_age_is_a_table_property_or_an_argument():
    known = history(*chain(6), properties={"history.expire.max-snapshot-age-ms": "96000"})
    found, held = plan_expiry(known, NONE, {}, NOW)
    assert (found.snapshots, found.of, found.older_than_ms, found.keeps, held) == ((1, 2, 3), 6, at(4), 1, None)
    found, _ = plan_expiry(known, NONE, {}, NOW, 98 * SECOND)
    assert found.snapshots == (1,)
    least = {"history.expire.max-snapshot-age-ms": "1", "history.expire.min-snapshots-to-keep": "5"}
    assert plan_expiry(history(*chain(6), properties=least), NONE, {}, NOW)[0].snapshots == (1,)
    assert plan_expiry(history(*chain(6)), NONE, {}, NOW) == (None, None)


@pytest.mark.parametrize(
    ("own", "needs", "gone", "held"),
    [
        (NONE, {"a": {3, 4, 5, 6}}, (1, 2), ("a", 3)),
        (NONE, {"a": {5, 6}, "b": {2, 3, 4, 5, 6}}, (1,), ("b", 4)),
        ({4, 5, 6}, {}, (1, 2, 3), None),
        ({4, 5, 6}, {"a": {3, 4, 5, 6}}, (1, 2), ("a", 1)),
        ({2, 3, 4, 5, 6}, {"a": {5, 6}}, (1,), None),
        (NONE, {"a": {1, 6}}, None, ("a", 5)),
        (NONE, {"a": {99}}, (1, 2, 3, 4, 5), None),
    ],
)
def test_required_snapshots_are_kept(own, needs, gone, held):
    known = history(*chain(6))
    needs = {name: frozenset(ids) for name, ids in needs.items()}
    found, held_back = plan_expiry(known, frozenset(own), needs, NOW, SECOND)
    assert (None if found is None else found.snapshots) == gone
    assert (None if held_back is None else (held_back.by, held_back.snapshots)) == held


def test_a_branchs_own_retention_that_would_expire_required_snapshots():
    known = replace(history(*chain(6)), branches={"main": Retention(None, 1)})
    assert plan_expiry(known, NONE, {"a": frozenset({3})}, NOW, SECOND) == (None, ExpiryRisk("a", "main"))
    assert plan_expiry(known, NONE, {"a": frozenset({6})}, NOW, SECOND)[0].snapshots == (1, 2, 3, 4, 5)


def test_expired_refs_are_removed_without_snapshots():
    known = replace(history(*chain(2), refs={"main": 2, "old": 2}), ref_ages={"old": 1})
    found, _ = plan_expiry(known, NONE, {}, NOW)
    assert (found.snapshots, found.refs) == ((), ("old",))


def test_the_size_of_files_that_only_expired_snapshots_contain():
    removing = [replace(each, summary={"removed-files-size": str(10**each.snapshot_id)}) for each in chain(4)]
    assert plan_expiry(history(*removing), frozenset({3, 4}), {}, NOW, SECOND)[0].size == 10**2 + 10**3


@pytest.mark.parametrize(("value", "collected"), [("false", False), ("true", True)])
def test_a_table_that_may_share_files_with_others(value, collected):
    assert is_collected(history(*chain(1), properties={"gc.enabled": value})) is collected
    assert is_collected(history(*chain(1)))
    assert not is_collected(history(*chain(1), properties={"gc.enabled": value, "ip.cloned-from": "lake.prod.orders"}))


def test_nothing_expires_if_times_run_backwards():
    known = history(*chain(6))
    known.snapshots[4] = replace(known.snapshots[4], timestamp_ms=known.snapshots[2].timestamp_ms)
    assert plan_expiry(known, NONE, {"a": frozenset({3})}, NOW, SECOND) == (None, ExpiryRisk("a", None))

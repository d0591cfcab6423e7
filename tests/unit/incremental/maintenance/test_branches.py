"""Which branches were left behind by ended runs, and which may belong to a running one."""

from __future__ import annotations

from dataclasses import replace

from iceberg_incremental.maintenance.branches import LONGEST_RUN, alive, own_branches, seen_since
from tests.unit.incremental.histories import EPOCH_MS, chain, history

DEAD, NEXT, OTHERS = "ip_3_0123456789ab", "ip_4_0123456789ab", "ip_4_audit"
DAY_MS = int(LONGEST_RUN.total_seconds() * 1000)


def with_refs(*names, updated_ms=EPOCH_MS):
    return replace(history(*chain(1), refs={"main": 1, **dict.fromkeys(names, 1)}), updated_ms=updated_ms)


def test_a_branch_of_a_published_epoch_was_left_behind():
    known = with_refs(DEAD, NEXT, OTHERS, "side")
    assert alive(known, 3) == [NEXT]
    found = own_branches(known, 3, {}, EPOCH_MS)
    assert (found.left, found.fresh) == ((DEAD,), (NEXT,))


def test_a_branch_that_is_older_than_the_longest_run_was_left_behind():
    known = with_refs(NEXT)
    for age_ms, left in ((DAY_MS - 1, False), (DAY_MS, True)):
        found = own_branches(known, 3, {NEXT: EPOCH_MS}, EPOCH_MS + age_ms)
        assert (found.left == (NEXT,)) is left and (found.fresh == (NEXT,)) is not left


def test_a_branch_is_as_old_as_the_earliest_metadata_that_contains_it():
    logs = [with_refs(NEXT, updated_ms=5), with_refs(NEXT, updated_ms=4), with_refs(updated_ms=3), with_refs(NEXT)]
    assert seen_since([NEXT], logs) == {NEXT: 4}
    assert seen_since([NEXT], [with_refs(NEXT, updated_ms=None)]) == {}
    assert seen_since([NEXT], []) == {}

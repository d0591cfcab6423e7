"""How much of a source one run reads."""

from __future__ import annotations

import pytest

from iceberg_incremental.plan.changes import limited
from iceberg_incremental.plan.policy import Policy
from iceberg_incremental.table.commits import PART_KEY
from tests.unit.incremental.histories import APPEND, DELETE, NO_CHANGE, OVERWRITE, at, chain, history, snapshot

COMPACTED = [*chain(2), snapshot(3, 2, "replace", NO_CHANGE), *[snapshot(n, n - 1) for n in range(4, 7)]]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Policy(), (6, 0)),
        (Policy(max_snapshots=1), (3, 3)),  # the following compaction does not count
        (Policy(max_snapshots=3), (5, 1)),
        (Policy(max_snapshots=4), (6, 0)),
        (Policy(max_bytes=1), (3, 3)),  # at least one commit, regardless of its size
        (Policy(max_bytes=2000), (4, 2)),
        (Policy(max_bytes=10**9), (6, 0)),
        (Policy(max_snapshots=3, max_bytes=2000), (4, 2)),
    ],
)
def test_where_a_run_stops(limits, expected):
    known = history(*COMPACTED)
    assert known.current is not None
    end, waiting = limited(known, at(1), known.current, limits)
    assert (end.snapshot_id, waiting) == expected


def test_a_source_that_had_no_snapshot():
    known = history(*chain(3))
    assert limited(known, at(None), known.snapshots[3], Policy(max_snapshots=2)) == (known.snapshots[2], 1)


def test_a_rewrite_counts():
    known = history(*chain(2), snapshot(3, 2, "overwrite", OVERWRITE), snapshot(4, 3))
    assert limited(known, at(2), known.snapshots[4], Policy(max_snapshots=1)) == (known.snapshots[3], 1)


def test_a_broken_history_is_left_to_planning():
    known = history(*chain(3, first=5))
    assert limited(known, at(2), known.snapshots[7], Policy(max_snapshots=1)) == (known.snapshots[7], 0)


def test_the_commits_of_one_run_are_never_split():
    """Between the insert and the delete of a merge, the table contains both new and replaced rows."""
    part = snapshot(3, 2, summary={**APPEND, PART_KEY: "7"})
    known = history(*chain(2), part, snapshot(4, 3, "delete", DELETE), *[snapshot(n, n - 1) for n in (5, 6)])
    end = known.snapshots[6]
    assert limited(known, at(1), end, Policy(max_snapshots=1)) == (known.snapshots[2], 4)
    assert limited(known, at(2), end, Policy(max_snapshots=1)) == (known.snapshots[4], 2)
    assert limited(known, at(1), end, Policy(max_snapshots=3)) == (known.snapshots[4], 2)


def test_repeated_runs_reach_the_head():
    known = history(*COMPACTED)
    assert known.current is not None
    position, steps = 1, 0
    while position != 6:
        end, _ = limited(known, at(position), known.current, Policy(max_snapshots=1))
        position, steps = end.snapshot_id, steps + 1
    assert steps == 4

"""Which commits of a table belong to a run."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.lineage.facts import Statistics
from dbt.adapters.spark_iceberg.lineage.recorder import added_by, own_commits, unit_of
from iceberg_incremental.table.commits import PART_KEY
from iceberg_incremental.table.history import History, Snapshot, TableName


def snapshot(number: int, parent: int | None, **summary: str) -> Snapshot:
    return Snapshot(number, parent, number, number, "append", summary)


def history(*snapshots: Snapshot) -> History:
    head = snapshots[-1].snapshot_id if snapshots else None
    return History(TableName("a", "b", "c"), "u", 2, head, {each.snapshot_id: each for each in snapshots}, {}, {})


CHAIN = [snapshot(1, None), snapshot(2, 1), snapshot(3, 2)]


@pytest.mark.parametrize(
    ("found", "before", "expected"),
    [
        (history(), None, []),
        (history(*CHAIN[:1]), None, [1]),
        (history(*CHAIN[:2]), 2, []),
        (history(*CHAIN[:2]), 1, [2]),
        (history(*CHAIN), 1, None),
        (history(*CHAIN[:2], snapshot(9, None)), 2, [9]),
    ],
    ids=["no snapshot", "first build", "nothing written", "one commit", "several writers", "replaced"],
)
def test_a_run_without_a_plan(found: History, before: int | None, expected: list[int] | None) -> None:
    commits = own_commits(found, None, before)
    assert (None if commits is None else [each.snapshot_id for each in commits]) == expected


def test_commits_that_were_published_together_are_added_up() -> None:
    size = {"added-data-files": "1", "added-files-size": "100"}
    first = snapshot(2, 1, **{PART_KEY: "7", "added-records": "3"}, **size)
    last = snapshot(3, 2, **{"added-records": "4"}, **size)
    commits = unit_of(history(CHAIN[0], first, last), last)
    assert [each.snapshot_id for each in commits] == [2, 3]
    assert added_by(commits) == Statistics(rows=7, size=200, files=2)

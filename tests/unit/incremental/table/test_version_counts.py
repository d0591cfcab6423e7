"""How many versions a run wrote, according to the summaries of its commits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.capture.versions_run import recorded
from iceberg_incremental.plan.versions_config import HistoryConfig
from iceberg_incremental.table.checkpoint import KEY
from iceberg_incremental.table.commits import PART_KEY
from iceberg_incremental.table.row_counts import VersionCounts, last_versions, versions_written
from tests.unit.incremental.runs import TARGET, cp, hist, snap

KEPT = replace(cp(2, 1), history=recorded(HistoryConfig(("id",)), 1000))
BUILT = {"added-records": "9", "added-data-files": "1", "total-records": "9"}
MARKED = {"added-records": "5", "added-data-files": "1", "added-position-deletes": "2"}
COPIED = {"added-records": "12", "added-data-files": "1", "deleted-records": "9", "deleted-data-files": "1"}
COUNTED = {
    **COPIED,
    "spark.merge-into.num-target-rows-inserted": "3",
    "spark.merge-into.num-target-rows-updated": "2",
    "spark.merge-into.num-target-rows-deleted": "1",
}


def carrying(n, parent, summary, checkpoint=KEPT):
    return snap(n, parent, {**summary, KEY: checkpoint.to_json()}, "overwrite")


@pytest.mark.parametrize(
    ("summary", "counts"),
    [
        (BUILT, VersionCounts(9, 0)),
        (MARKED, VersionCounts(3, 2)),
        (COPIED, VersionCounts(3, None)),
        (COUNTED, VersionCounts(3, 3)),
    ],
)
def test_the_counts_of_a_commit(summary, counts):
    commit = carrying(100, None, summary)
    table = hist(TARGET, commit, snap(101, 100))
    assert versions_written(table, KEPT, commit) == last_versions(table) == counts


def test_a_run_of_a_dbt_snapshot_has_two_commits():
    taken = replace(cp(2, 1), model="snapshot.shop.taken")
    new = snap(100, 99, {"added-records": "3", "added-data-files": "1", PART_KEY: "2"})
    ended = carrying(101, 100, {"added-records": "2", "added-position-deletes": "2"}, taken)
    assert last_versions(hist(TARGET, carrying(99, None, BUILT, taken), new, ended)) == VersionCounts(3, 2)


def test_versions_that_are_deleted_and_inserted_again_count_as_updated():
    gone = snap(100, 99, {"added-position-deletes": "2", "added-delete-files": "1", PART_KEY: "2"}, "delete")
    written = carrying(101, 100, {"added-records": "5", "added-data-files": "2"})
    assert last_versions(hist(TARGET, carrying(99, None, BUILT), gone, written)) == VersionCounts(3, 2)


def test_other_tables_have_no_versions():
    assert last_versions(hist(TARGET, carrying(100, None, BUILT, cp(1, 1)))) is None
    assert last_versions(hist(TARGET, snap(100, None))) is None
    assert versions_written(hist(TARGET), KEPT, None) is None

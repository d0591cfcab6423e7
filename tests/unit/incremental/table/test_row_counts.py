"""Row counts from the totals in summaries, with deletes that apply, may not apply, or are not in any summary."""

from __future__ import annotations

import pytest

from iceberg_incremental.table.commits import written
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.row_counts import RowCount, rows_at, rows_gone, touched_rows

APPEND = {"added-records": "60", "total-records": "60", "total-delete-files": "0", "changed-partition-count": "1"}
DELETES = {"total-position-deletes": "7", "total-delete-files": "1", "added-position-deletes": "7"}
BY_ADD_FILES = {**APPEND, "added-data-files": "2"}  # no engine is recorded as the writer of the files
BY_FILE = {"total-records": "60", **DELETES, "added-position-delete-files": "1", "added-delete-files": "1"}
BY_VECTOR = {"total-records": "60", **DELETES, "added-dvs": "1", "added-delete-files": "1"}
COMPACTION = {
    "total-records": "53",
    "total-position-deletes": "7",
    "total-delete-files": "1",
    "deleted-data-files": "1",
}
REWRITE = {**APPEND, "spark.app.id": "app", "added-data-files": "1", "deleted-data-files": "1"}
EQUALITY = {"total-records": "60", "total-equality-deletes": "1", "total-delete-files": "1"}
BOTH = {**BY_FILE, "total-equality-deletes": "1", "total-delete-files": "2"}
UNSAID = {"total-records": "60", "total-delete-files": "1"}


def history(*summaries: dict[str, str], version: int = 2, first_parent: int | None = None) -> History:
    snapshots = {
        n: Snapshot(n, first_parent if n == 1 else n - 1, n, n, "overwrite", summary)
        for n, summary in enumerate(summaries, 1)
    }
    return History(TableName("a", "b", "c"), None, version, len(summaries), snapshots, {}, {})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (history(APPEND), RowCount(60)),
        (history(APPEND, BY_FILE), RowCount(53)),
        (history(APPEND, BY_FILE, COMPACTION), RowCount(53, at_most=True)),  # 46 if all deletes applied
        (history(BY_FILE, first_parent=9), RowCount(60, at_most=True)),  # earlier snapshots have expired
        (history(BY_VECTOR, first_parent=9, version=3), RowCount(53)),
        (history(APPEND, BY_VECTOR, {**BY_VECTOR, "deleted-data-files": "1"}, version=3), RowCount(53)),
        (history(APPEND, BY_FILE, {**BY_VECTOR, "deleted-data-files": "1"}, version=3), RowCount(60, at_most=True)),
        (history(BY_ADD_FILES, BY_VECTOR, version=3), RowCount(53, at_most=True)),  # 46 if the table lists a file twice
        (history({**BY_ADD_FILES, "spark.app.id": "app"}, BY_VECTOR, version=3), RowCount(53)),
        (
            history(BY_ADD_FILES, REWRITE),
            RowCount(60, at_most=True),
        ),  # fewer if the commit removed a file twice
        (history(REWRITE, BY_ADD_FILES), RowCount(60)),
        (history(APPEND, EQUALITY), RowCount(60, at_most=True)),
        (history(APPEND, BOTH), RowCount(53, at_most=True)),
        (history(APPEND, UNSAID), RowCount(60, at_most=True)),
    ],
)
def test_rows_at(found: History, expected: RowCount) -> None:
    assert found.current is not None
    assert rows_at(found, found.current) == expected


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ({"added-records": "5", "deleted-records": "6"}, 11),
        ({"added-position-deletes": "2", "added-dvs": "1"}, 2),
        ({"added-equality-deletes": "1", "total-records": "60"}, 60),
    ],
)
def test_the_maximum_of_rows_that_a_commit_changed(summary: dict[str, str], expected: int) -> None:
    assert touched_rows(Snapshot(1, None, 1, 1, "overwrite", summary)) == expected


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ({"deleted-records": "60"}, 60),
        ({"added-position-deletes": "7", "added-dvs": "1"}, 7),
        ({"added-position-deletes": "8", "removed-position-deletes": "7"}, 1),
        ({"deleted-records": "60", "removed-position-deletes": "7"}, 53),
        ({"removed-position-deletes": "7"}, 0),  # deletes that applied to no rows
    ],
)
def test_rows_that_a_commit_removed(summary: dict[str, str], expected: int) -> None:
    assert rows_gone(Snapshot(1, None, 1, 1, "overwrite", summary)) == expected


def test_rows_that_a_merge_copied_do_not_count_as_written() -> None:
    merged = {f"spark.merge-into.num-target-rows-{kind}": "1" for kind in ("inserted", "updated", "deleted")}
    assert written(Snapshot(1, None, 1, 1, "overwrite", {"added-records": "9", **merged})) == 3
    assert written(Snapshot(1, None, 1, 1, "overwrite", {"added-records": "9", **merged}), deleted=False) == 2
    unknown = {**merged, "spark.merge-into.num-target-rows-deleted": "-1"}
    assert written(Snapshot(1, None, 1, 1, "overwrite", {"added-records": "9", **unknown})) == 9

"""Which commit last changed rows, from literal histories."""

from __future__ import annotations

import pytest

from iceberg_incremental.table.commits import LastChangeExpired, last_change
from iceberg_incremental.table.history import Snapshot
from tests.unit.incremental.histories import (
    ADDITION,
    DELETE,
    EMPTY_APPEND,
    NO_CHANGE,
    OVERWRITE,
    POSITION_DELETE,
    history,
    snapshot,
)

MERGED_NOTHING = OVERWRITE | {
    f"spark.merge-into.num-target-rows-{each}": "0" for each in ("inserted", "updated", "deleted")
}


@pytest.mark.parametrize(
    "commit",
    [
        snapshot(2, 1, "replace", OVERWRITE),
        snapshot(2, 1, "append", EMPTY_APPEND),
        snapshot(2, 1, "overwrite", NO_CHANGE),
        snapshot(2, 1, "delete", NO_CHANGE),
        snapshot(2, 1, "overwrite", MERGED_NOTHING),
    ],
    ids=[
        "compaction",
        "append of nothing",
        "merge of nothing",
        "delete of nothing",
        "files rewritten without a change",
    ],
)
def test_commits_that_change_no_rows_are_ignored(commit: Snapshot):
    first = snapshot(1, None)
    assert last_change(history(first, commit)) == first


@pytest.mark.parametrize(
    "commit",
    [
        snapshot(2, 1),
        snapshot(2, 1, "overwrite", OVERWRITE),
        snapshot(2, 1, "overwrite", ADDITION),
        snapshot(2, 1, "overwrite", POSITION_DELETE),
        snapshot(2, 1, "delete", DELETE),
        snapshot(2, 1, "overwrite", {}),
    ],
    ids=["append", "update", "into an empty partition", "delete in place", "delete of files", "nothing is counted"],
)
def test_commits_that_change_rows(commit: Snapshot):
    assert last_change(history(snapshot(1, None), commit)) == commit


def test_a_table_that_never_had_rows():
    assert last_change(history()) is None
    empty = NO_CHANGE | {"total-records": "0"}
    assert last_change(history(snapshot(1, None, "delete", empty), snapshot(2, 1, "append", empty))) is None


def test_a_commit_on_another_branch_does_not_count():
    first = snapshot(1, None)
    assert last_change(history(first, snapshot(2, 1), head=1, refs={"main": 1, "audit": 2})) == first


def test_an_expired_commit_is_found_in_an_older_metadata_file():
    compacted = snapshot(3, 2, "replace", OVERWRITE)
    older = [history(snapshot(9, None), uuid="another table"), history(snapshot(1, None), snapshot(2, 1))]
    assert last_change(history(compacted), older) == snapshot(2, 1)


def test_an_expired_commit_that_no_metadata_file_contains():
    oldest = snapshot(3, 2, "replace", OVERWRITE)
    newer = snapshot(4, 3, "append", EMPTY_APPEND)
    assert last_change(history(oldest, newer)) == LastChangeExpired(oldest)
    assert last_change(history(head=5)) == LastChangeExpired(None)


def test_older_files_are_read_only_when_needed():
    def older():
        raise AssertionError("read")
        yield

    assert last_change(history(snapshot(3, 2)), older()) == snapshot(3, 2)


@pytest.mark.parametrize("commit", [snapshot(2, None, "replace", OVERWRITE), snapshot(2, None, "append", EMPTY_APPEND)])
def test_the_last_change_is_unknown_after_an_expiry_by_pyiceberg(commit: Snapshot):
    """PyIceberg removes the parent of the next snapshot, which then looks like the first."""
    assert last_change(history(commit)) == LastChangeExpired(commit)

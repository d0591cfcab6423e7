"""Each kind of Iceberg commit and its effect on the rows."""

from __future__ import annotations

import pytest

from iceberg_incremental.table.commits import (
    Effect,
    added,
    effect,
    may_repeat_files,
    may_undelete,
    merged_rows,
    same_rows,
    total,
)
from tests.unit.incremental import histories as h

CASES = [
    ("INSERT", "append", h.APPEND, Effect.APPEND),
    ("INSERT of no rows", "append", h.EMPTY_APPEND, Effect.NONE),
    ("append by a writer that counts nothing", "append", {}, Effect.APPEND),
    ("append with a count that is no number", "append", {"added-records": "many"}, Effect.APPEND),
    ("append with delete files", "append", {**h.APPEND, "added-delete-files": "1"}, Effect.REWRITE),
    ("MERGE or UPDATE, copy-on-write", "overwrite", h.OVERWRITE, Effect.REWRITE),
    ("MERGE or UPDATE, merge-on-read", "overwrite", {**h.ADDITION, "added-position-deletes": "1"}, Effect.REWRITE),
    ("MERGE that changes nothing", "overwrite", h.NO_CHANGE, Effect.NONE),
    ("INSERT OVERWRITE of an empty partition", "overwrite", h.ADDITION, Effect.ADDITION),
    ("overwrite by a writer that counts nothing", "overwrite", {}, Effect.REWRITE),
    (
        "UPDATE by a writer that writes only totals",
        "overwrite",
        {"total-records": "9", "total-data-files": "2"},
        Effect.REWRITE,
    ),
    (
        "DELETE by a writer that counts delete files as data files",
        "overwrite",
        {"added-data-files": "1", "added-records": "3", "deleted-data-files": "0", "total-records": "9"},
        Effect.REWRITE,
    ),
    (
        "DELETE by a writer that does not count delete files",
        "delete",
        {"total-records": "9", "total-data-files": "2"},
        Effect.REWRITE,
    ),
    (
        "append by a writer that writes only totals",
        "append",
        {"total-records": "9", "total-data-files": "2"},
        Effect.APPEND,
    ),
    (
        "PyIceberg's append of no rows to a table without partitions",
        "append",
        {"total-records": "9", "total-data-files": "2", "total-delete-files": "0"},
        Effect.NONE,
    ),
    (
        "INSERT OVERWRITE by a writer that counts only additions and the totals",
        "overwrite",
        {"added-data-files": "1", "added-records": "2", "total-records": "2", "total-delete-files": "0"},
        Effect.REWRITE,
    ),
    (
        "INSERT OVERWRITE of no rows by such a writer",
        "overwrite",
        {"total-records": "0", "total-data-files": "0", "total-delete-files": "0"},
        Effect.REWRITE,
    ),
    ("overwrite with deletion vectors", "overwrite", {**h.ADDITION, "added-dvs": "1"}, Effect.REWRITE),
    ("overwrite that takes deletes back", "overwrite", {**h.ADDITION, "removed-delete-files": "1"}, Effect.REWRITE),
    ("overwrite with a broken count", "overwrite", {**h.ADDITION, "deleted-records": "?"}, Effect.REWRITE),
    ("DELETE of whole files", "delete", h.DELETE, Effect.REWRITE),
    ("DELETE, merge-on-read", "delete", h.POSITION_DELETE, Effect.REWRITE),
    ("DELETE that matches nothing", "delete", h.NO_CHANGE, Effect.NONE),
    ("rewrite_data_files", "replace", h.OVERWRITE, Effect.NONE),
    ("rewrite_manifests", "replace", {}, Effect.NONE),
    ("no operation (format v1)", None, h.APPEND, Effect.REWRITE),
    ("an operation of the future", "truncate", h.NO_CHANGE, Effect.REWRITE),
]


@pytest.mark.parametrize(("operation", "summary", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_effect(operation, summary, expected):
    assert effect(h.snapshot(2, 1, operation, summary)) is expected


APPENDED, COMPACTED = h.snapshot(1, None), h.snapshot(2, 1, "replace", h.OVERWRITE)
AGAIN, MORE = h.snapshot(3, 2, "replace", h.OVERWRITE), h.snapshot(4, 3)


@pytest.mark.parametrize(
    ("snapshots", "start", "end", "expected"),
    [
        ((APPENDED,), 1, 1, True),
        ((), None, None, True),
        ((APPENDED, COMPACTED, AGAIN), 1, 3, True),
        ((COMPACTED, AGAIN), 1, 3, True),
        ((h.snapshot(1, None, "append", {**h.NO_CHANGE, "total-records": "0"}),), None, 1, True),
        ((h.snapshot(2, None, "append", h.EMPTY_APPEND),), None, 2, False),
        ((h.snapshot(2, None, "replace", h.OVERWRITE),), None, 2, False),
        ((APPENDED,), None, 1, False),
        ((APPENDED,), 1, None, False),
        ((APPENDED, COMPACTED, AGAIN, MORE), 1, 4, False),
        ((APPENDED, COMPACTED), 2, 1, False),
        ((AGAIN,), 1, 3, False),
        ((COMPACTED, AGAIN), None, 3, False),
    ],
    ids=[
        "the same snapshot",
        "no snapshot at either",
        "compactions",
        "compactions, the start expired",
        "a commit of nothing to a new table",
        "a commit of nothing whose parent PyIceberg's expiry took away",
        "a compaction whose parent PyIceberg's expiry took away",
        "rows in a new table",
        "a table made again",
        "an append",
        "a rollback",
        "expired between",
        "the first commits expired",
    ],
)
def test_same_rows(snapshots, start, end, expected):
    assert same_rows(h.history(*snapshots), start, end) is expected


def test_counts():
    commit = h.snapshot(2, 1, "append", {**h.APPEND, "total-data-files": "7", "total-files-size": "9000"})
    assert added(commit) == (2, 10, 1000)
    assert total(commit) == (7, 10, 9000)
    assert added(h.snapshot(2, 1, "append", {})) == total(h.snapshot(2, 1, "append", {})) == (0, 0, 0)


BY_ANOTHER = {key: value for key, value in h.ADDITION.items() if key not in h.SPARK}


@pytest.mark.parametrize(
    ("operation", "summary", "expected"),
    [
        ("overwrite", {**BY_ANOTHER, "removed-delete-files": "1"}, True),
        ("overwrite", {}, True),
        ("overwrite", {**h.ADDITION, "removed-dvs": "1"}, False),
        ("replace", {"removed-dvs": "1"}, False),
        ("delete", h.POSITION_DELETE, False),
    ],
)
def test_an_unknown_writer_that_removes_deletes_may_restore_rows(operation, summary, expected):
    """Known engines and compactions copy the deletes in delete files that they remove into new files."""
    assert may_undelete(h.snapshot(2, 1, operation, summary)) is expected


def test_files_may_be_listed_twice_after_unknown_commits_or_add_files():
    first, second = h.snapshot(1, None), h.snapshot(2, 1)
    assert not may_repeat_files(h.history(first, second), 2)
    assert may_repeat_files(h.history(second), 2)
    assert may_repeat_files(h.history(h.snapshot(2, None, summary=h.EXPIRED_BEFORE)), 2)
    assert may_repeat_files(h.history(first, h.snapshot(2, 1, "append", BY_ANOTHER)), 2)
    assert not may_repeat_files(h.history(first, h.snapshot(2, 1, "append", BY_ANOTHER)), 1)


def test_the_row_counts_of_a_merge_are_used_only_if_complete():
    counts = {f"spark.merge-into.num-target-rows-{kind}": "1" for kind in ("inserted", "updated", "deleted")}
    assert merged_rows(h.snapshot(2, 1, "overwrite", counts)) == (1, 1, 1)
    assert merged_rows(h.snapshot(2, 1, "overwrite", dict(list(counts.items())[:2]))) is None

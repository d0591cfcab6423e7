"""How much of a table was read."""

from __future__ import annotations

import pytest

from iceberg_incremental.table.history import Snapshot
from iceberg_incremental.table.shares import Share, from_document, share_at, sum_of, to_document, whole_of

END = Snapshot(7, 6, 7, 7000, "append", {"total-records": "80", "total-files-size": "4000"})
SHARE = Share(20, 1000, 80, 4000)


def test_the_share_of_a_table():
    assert share_at(END, 20, 1000) == SHARE
    assert (SHARE.of_records, SHARE.of_bytes) == (0.25, 0.25)
    assert whole_of(END, at_most=True) == Share(80, 4000, 80, 4000, at_most=True)


def test_a_table_without_a_snapshot_is_empty():
    found = share_at(None, 0, 0)
    assert found == Share(0, 0, 0, 0)
    assert (found.of_records, found.of_bytes) == (None, None)


def test_the_share_is_unknown_without_totals():
    assert share_at(Snapshot(7, 6, 7, 7000, "append", {"total-records": "80"}), 20, 1000) is None
    assert whole_of(Snapshot(7, 6, 7, 7000, "append", {})) is None


def test_the_sum_of_several():
    assert sum_of([SHARE, Share(1, 2, 3, 4, at_most=True)]) == Share(21, 1002, 83, 4004, at_most=True)
    assert sum_of([]) == Share(0, 0, 0, 0)


@pytest.mark.parametrize("share", [SHARE, Share(20, 1000, 80, 4000, at_most=True)])
def test_a_share_in_a_checkpoint_can_be_read(share):
    assert from_document(to_document(share)) == share


@pytest.mark.parametrize(
    "document", [None, 7, {}, {**to_document(SHARE), "bytes": "many"}, {**to_document(SHARE), "records": -1}]
)
def test_an_invalid_share_is_ignored(document):
    assert from_document(document) is None

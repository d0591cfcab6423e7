"""The planned range for a history and a position, for each kind of change to the source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.plan.breaks import Break
from iceberg_incremental.plan.changes import Rewritten, plan_as_of, plan_changes, plan_whole
from iceberg_incremental.plan.policy import Cause
from iceberg_incremental.plan.ranges import Addition, Counts, Kind, Range
from tests.unit.incremental import histories as h


def planned(history, position, **options):
    return plan_changes(history, position, history.current, **options)


def test_appends_after_the_position():
    found = planned(h.history(*h.chain(5)), h.at(2))
    assert isinstance(found, Range)
    assert (found.kind, found.start.snapshot_id, found.end.snapshot_id) == (Kind.APPEND, 2, 5)
    assert found.counts == Counts(3, 6, 30, 3000)
    assert found.append_scan and found.additions == () and found.brings_rows and found.has_moved
    assert found.position == h.at(5)


def test_nothing_new():
    found = planned(h.history(*h.chain(3)), h.at(3))
    assert (found.kind, found.brings_rows, found.has_moved) == (Kind.EMPTY, False, False)


@pytest.mark.parametrize(
    ("operation", "summary"),
    [("replace", h.OVERWRITE), ("append", h.EMPTY_APPEND), ("overwrite", h.NO_CHANGE), ("delete", h.NO_CHANGE)],
)
def test_commits_without_rows_move_the_position_only(operation, summary):
    found = planned(h.history(*h.chain(2), h.snapshot(3, 2, operation, summary)), h.at(2))
    assert (found.kind, found.brings_rows, found.has_moved, found.position) == (Kind.EMPTY, False, True, h.at(3))


def test_compaction_between_appends_is_not_counted():
    found = planned(h.history(*h.chain(2), h.snapshot(3, 2, "replace", h.OVERWRITE), h.snapshot(4, 3)), h.at(1))
    assert (found.kind, found.counts.snapshots, found.counts.files) == (Kind.APPEND, 2, 4)


def test_additions_belong_to_the_changes():
    found = planned(
        h.history(
            *h.chain(2),
            h.snapshot(3, 2, "overwrite", h.ADDITION),
            h.snapshot(4, 3, "overwrite", h.ADDITION),
            h.snapshot(5, 4),
            h.snapshot(6, 5, "overwrite", h.ADDITION),
        ),
        h.at(1),
    )
    assert found.additions == (Addition(2, 4), Addition(5, 6))
    assert (found.append_scan, found.counts.snapshots, found.counts.records) == (True, 5, 35)


def test_only_additions_need_no_append_scan():
    found = planned(h.history(*h.chain(2), h.snapshot(3, 2, "overwrite", h.ADDITION)), h.at(2))
    assert (found.append_scan, found.additions) == (False, (Addition(2, 3),))


@pytest.mark.parametrize(
    ("operation", "summary"), [("overwrite", h.OVERWRITE), ("delete", h.DELETE), ("delete", h.POSITION_DELETE)]
)
def test_rewrites_are_named(operation, summary):
    found = planned(h.history(*h.chain(2), h.snapshot(3, 2, operation, summary), h.snapshot(4, 3)), h.at(1))
    assert isinstance(found, Rewritten)
    assert [s.snapshot_id for s in found.rewrites] == [3]


def test_rewrites_can_be_ignored():
    source = h.history(*h.chain(2), h.snapshot(3, 2, "overwrite", h.OVERWRITE), h.snapshot(4, 3))
    found = planned(source, h.at(1), ignore_rewrites=True)
    assert (found.kind, found.counts.snapshots, found.end.snapshot_id) == (Kind.APPEND, 2, 4)


def test_a_rewrite_before_the_position_does_not_matter():
    source = h.history(h.snapshot(1, None), h.snapshot(2, 1, "overwrite", h.OVERWRITE), h.snapshot(3, 2))
    assert planned(source, h.at(2)).kind is Kind.APPEND


def test_commits_on_other_branches_are_ignored():
    source = h.history(*h.chain(3), h.snapshot(9, 2, "overwrite", h.OVERWRITE), head=3)
    assert planned(source, h.at(1)).counts.snapshots == 2


def test_the_position_itself_may_be_expired():
    found = planned(h.history(*h.chain(3, first=4)), h.at(3))
    assert (found.kind, found.counts.snapshots) == (Kind.APPEND, 3)


def test_an_empty_source_stays_empty():
    source = h.history()
    assert planned(source, h.at(None)).kind is Kind.EMPTY
    assert plan_whole(source, None).kind is Kind.EMPTY


def test_all_rows_of_a_source_that_was_empty_are_new():
    source = h.history(h.snapshot(1, None), h.snapshot(2, 1, "overwrite", h.OVERWRITE), h.snapshot(3, 2))
    found = planned(source, h.at(None))
    assert (found.kind, found.end.snapshot_id, found.brings_rows) == (Kind.FULL, 3, True)


def test_a_total_of_zero_does_not_hide_rows():
    source = h.history(h.snapshot(1, None), h.snapshot(2, 1, "append", {"total-records": "0"}))
    found = planned(source, h.at(None))
    assert (found.kind, found.brings_rows) == (Kind.FULL, True)


def test_first_rows_of_an_empty_source_in_an_expired_commit():
    source = h.history(h.snapshot(2, 1, "append", {"total-records": "1"}))
    assert planned(source, h.at(None)).kind is Kind.FULL


OF_A_NEW_BRANCH = {**h.NO_CHANGE, "total-records": "0", "total-data-files": "0"}
"""The first write to a branch starts the totals at zero."""


@pytest.mark.parametrize(
    ("operation", "summary"),
    [("replace", h.OVERWRITE), ("append", h.EMPTY_APPEND), ("append", OF_A_NEW_BRANCH), ("overwrite", OF_A_NEW_BRANCH)],
)
def test_first_rows_of_an_empty_source_in_a_commit_that_pyiceberg_expired(operation, summary):
    """PyIceberg removes the parent of the next snapshot, which then looks like the first."""
    source = h.history(h.snapshot(2, None, operation, summary))
    assert planned(source, h.at(None)).kind is Kind.FULL


def test_an_empty_source_with_commits_without_rows():
    source = h.history(h.snapshot(1, None, "append", {**h.NO_CHANGE, "total-records": "0"}))
    found = planned(source, h.at(None))
    assert (found.kind, found.has_moved) == (Kind.EMPTY, True)


# Breaks

REPLACED = h.history(*h.chain(3), h.snapshot(4, None), h.snapshot(5, 4))
ROLLED_BACK = h.history(*h.chain(4), head=2)
ROLLED_BACK_AND_ON = h.history(*h.chain(4), h.snapshot(5, 2))
EXPIRED = h.history(*h.chain(3, first=6))
RETAINED_BY_TAG = h.history(h.snapshot(2, 1), *h.chain(3, first=6))

BREAKS = [
    ("dropped and created again", h.history(*h.chain(2), uuid="other"), h.at(2), Cause.REBUILT, None),
    ("created again, still empty", h.history(), h.at(2), Cause.REBUILT, None),
    ("CREATE OR REPLACE", REPLACED, h.at(3), Cause.REBUILT, None),
    ("expired by PyIceberg", h.history(h.snapshot(5, None, summary=h.EXPIRED_BEFORE)), h.at(3), Cause.EXPIRED, None),
    ("CREATE OR REPLACE, then expired", h.history(h.snapshot(4, None), h.snapshot(5, 4)), h.at(3), Cause.REBUILT, None),
    ("rolled back", ROLLED_BACK, h.at(4), Cause.ROLLED_BACK, 2),
    ("rolled back, then committed to", ROLLED_BACK_AND_ON, h.at(4), Cause.ROLLED_BACK, 2),
    ("rolled back, undone part expired", h.history(*h.chain(2), h.snapshot(5, 2)), h.at(4), Cause.ROLLED_BACK, None),
    ("restored from a backup", h.history(*h.chain(2)), h.at(4), Cause.ROLLED_BACK, None),
    ("expired", EXPIRED, h.at(2), Cause.EXPIRED, None),
    ("expired, the position kept by a tag", RETAINED_BY_TAG, h.at(2), Cause.EXPIRED, None),
    ("expired, without sequence numbers", h.history(h.snapshot(7, 6, sequence_number=None)),
     h.at(2, sequence_number=None), Cause.EXPIRED, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "position", "cause", "ancestor"), [b[1:] for b in BREAKS], ids=[b[0] for b in BREAKS]
)
def test_breaks_are_told_apart(source, position, cause, ancestor):
    found = planned(source, position)
    assert isinstance(found, Break)
    assert found.cause is cause
    assert (found.ancestor.snapshot_id if found.ancestor else None) == ancestor


def test_unknown_uuids_are_not_compared():
    assert planned(h.history(*h.chain(2), uuid=None), h.at(1)).kind is Kind.APPEND
    assert planned(h.history(*h.chain(2)), h.at(1, uuid=None)).kind is Kind.APPEND


@pytest.mark.parametrize(
    ("source", "created_ms", "cause"),
    [
        (h.chain(2), 4001, Cause.REBUILT),
        (h.chain(2), 4000, Cause.ROLLED_BACK),  # as the snapshot that was read, which was expired after a rollback
        (h.chain(2), None, Cause.ROLLED_BACK),
        (h.chain(4), 4001, Cause.ROLLED_BACK),  # the table has the snapshot, and a clock was wrong
    ],
)
def test_without_uuids_a_table_that_is_newer_than_what_was_read_is_another(source, created_ms, cause):
    created = None if created_ms is None else h.EPOCH_MS + created_ms
    history = replace(h.history(*source, uuid=None, head=2), created_ms=created)
    found = planned(history, h.at(4, uuid=None))
    assert isinstance(found, Break) and found.cause is cause


# Whole tables


def test_as_of_ignores_breaks():
    found = plan_as_of(REPLACED, h.at(3), REPLACED.current)
    assert (found.kind, found.end.snapshot_id, found.brings_rows) == (Kind.FULL, 5, True)


def test_as_of_an_emptied_table_is_new():
    found = plan_as_of(h.history(uuid="other"), h.at(3), None)
    assert (found.kind, found.end, found.brings_rows, found.has_moved) == (Kind.EMPTY, None, True, True)


def test_as_of_a_table_that_stays_empty_is_not_new():
    found = plan_as_of(h.history(), h.at(None), None)
    assert (found.kind, found.brings_rows, found.has_moved) == (Kind.EMPTY, False, False)


def test_as_of_a_compacted_table_has_no_new_rows():
    source = h.history(*h.chain(2), h.snapshot(3, 2, "replace", h.OVERWRITE))
    found = plan_as_of(source, h.at(2), source.current)
    assert (found.kind, found.brings_rows, found.has_moved) == (Kind.FULL, False, True)


def test_a_long_history_can_be_planned():
    source = h.history(*h.chain(20_000))
    assert planned(source, h.at(1)).counts.snapshots == 19_999

"""Changes by commit. Each commit with changes is a separate range."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.capture.source_policy import commits_of, plan_commits
from iceberg_incremental.plan.breaks import Break, Reason
from iceberg_incremental.plan.policy import Cause
from iceberg_incremental.plan.ranges import Nothing, PerCommit
from iceberg_incremental.table.commits import PART_KEY
from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from tests.unit.incremental import histories as h

ID, V = TableColumn(1, "id", "long"), TableColumn(2, "v", "string")


def adding(*paths: str, columns: tuple[TableColumn, ...] = (ID, V), is_plain: bool = False) -> ChangedFiles:
    files = tuple(DataFile(path, 10, 100) for path in paths)
    return ChangedFiles(
        columns, columns, FileDifference((), files, ()), without_deletes=is_plain, has_present_columns=is_plain
    )


def ends(history, position):
    found = commits_of(history, position, history.current)
    assert not isinstance(found, Break)
    return [(each.position.snapshot_id, each.end.snapshot_id) for each in found]


def test_each_commit_is_a_separate_range():
    assert ends(h.history(*h.chain(4)), h.at(2)) == [(2, 3), (3, 4)]


def test_commits_without_changes_are_omitted():
    history = h.history(
        *h.chain(2),
        h.snapshot(3, 2, "replace", h.OVERWRITE),
        h.snapshot(4, 3, "overwrite", h.NO_CHANGE),
        h.snapshot(5, 4, "delete", h.DELETE),
    )
    assert ends(history, h.at(1)) == [(1, 2), (4, 5)]


def test_commits_that_were_published_together_are_one():
    parted = h.snapshot(3, 2, "append", {**h.APPEND, PART_KEY: "1"})
    assert ends(h.history(*h.chain(2), parted, h.snapshot(4, 3, "delete", h.DELETE)), h.at(2)) == [(2, 4)]


def test_an_empty_table_is_read_from_its_first_commit():
    assert ends(h.history(*h.chain(2)), h.at(None)) == [(None, 1), (1, 2)]


@pytest.mark.parametrize("position", [h.at(3), h.at(None)])
def test_the_snapshot_before_a_commit_must_exist(position):
    history = h.history(h.snapshot(4, 3, "append", h.EXPIRED_BEFORE), h.snapshot(5, 4))
    found = commits_of(history, position, history.current)
    assert isinstance(found, Break)
    assert (found.cause, found.reason) == (Cause.EXPIRED, Reason.COMMIT_STARTS_EXPIRED)
    assert found.oldest is not None
    assert found.oldest.snapshot_id == 4


def planned(history, position, changed, between):
    units = commits_of(history, position, history.current)
    assert not isinstance(units, Break)
    return plan_commits(history, position, history.current, units, lambda each: changed[each.end.snapshot_id], between)


def test_counts_are_the_sums_over_the_commits():
    history = h.history(*h.chain(4))
    found = planned(history, h.at(1), {2: adding("b"), 3: adding(), 4: adding("d", "e")}, adding("b", "d", "e"))
    assert isinstance(found, PerCommit)
    assert [each.commit.snapshot_id for each in found.commits] == [2, 4]
    assert [each.snapshot_ids for each in found.commits] == [(2,), (4,)]
    assert (found.counts.snapshots, found.counts.files, found.counts.size) == (2, 3, 300)
    assert (found.position, found.brings_rows) == (h.at(4), True)


def test_commits_without_changed_files_have_no_rows():
    found = planned(h.history(*h.chain(2)), h.at(1), {2: adding()}, adding())
    assert isinstance(found, Nothing)
    assert found.position == h.at(2)


def test_rows_have_the_columns_of_the_end():
    history, before = h.history(*h.chain(3)), adding("b", columns=(ID,))
    found = planned(history, h.at(1), {2: before, 3: adding("c")}, replace(adding("b", "c"), start=(ID,)))
    assert isinstance(found, PerCommit)
    assert {each.net.columns for each in found.commits} == {(ID, V)}
    assert found.shown_as.snapshot_id == 3


@pytest.mark.parametrize(
    ("last", "has_log"),
    [(h.snapshot(3, 2, "overwrite", h.OVERWRITE), True), (h.snapshot(3, 2, "delete", h.POSITION_DELETE), False)],
)
def test_one_changelog_scan_reads_commits_without_delete_files(last, has_log):
    files = adding("b", is_plain=True)
    found = planned(h.history(*h.chain(2), last), h.at(1), {2: files, 3: files}, files)
    assert isinstance(found, PerCommit)
    assert found.has_log is has_log

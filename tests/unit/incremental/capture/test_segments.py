"""Segments, which are the ranges between compactions, and when net changes are read from them."""

from __future__ import annotations

import pytest

from iceberg_incremental.capture.source_policy import by_segments, segments_of
from iceberg_incremental.plan.changes import Rewritten, plan_changes
from iceberg_incremental.plan.net_changes import plan_net
from iceberg_incremental.plan.ranges import MOST_SEGMENTS, NetChanges, Nothing
from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from tests.unit.incremental import histories as h

COMPACTION = ("replace", {**h.SPARK, "added-data-files": "1", "deleted-data-files": "9"})
REWRITE = ("overwrite", h.OVERWRITE)
APPEND = ("append", {**h.SPARK, "added-data-files": "1", "added-records": "5"})
NOTHING = ("overwrite", h.NO_CHANGE)
MANIFESTS = ("replace", {"total-data-files": "4", "added-data-files": "0"})
COLUMNS = (TableColumn(1, "id", "int"),)


def rewritten(*commits, without=()):
    """The range of these commits since snapshot 1. The snapshots ``without`` have expired."""
    chain = [h.snapshot(number, number - 1, *commit) for number, commit in enumerate(commits, start=2)]
    source = h.history(*(each for each in [*h.chain(1), *chain] if each.snapshot_id not in without))
    found = plan_changes(source, h.at(1), source.current)
    assert isinstance(found, Rewritten)
    return found


def ends(found):
    return [(each.position.snapshot_id, each.end.snapshot_id) for each in segments_of(found)]


def changed(size, *places, columns=COLUMNS):
    """Changed files, with one file of this size in each of these fields of FileDifference."""
    files = {name: (DataFile(f"{name}.parquet", 10, size),) for name in places}
    difference = FileDifference(*(files.get(name, ()) for name in ("at_start", "at_end", "with_other_deletes")))
    return ChangedFiles(columns, columns, difference)


@pytest.mark.parametrize(
    ("commits", "expected"),
    [
        ([REWRITE, APPEND], []),
        ([REWRITE, MANIFESTS, APPEND], []),
        ([REWRITE, COMPACTION], [(1, 2)]),
        ([COMPACTION, REWRITE], [(2, 3)]),
        ([REWRITE, COMPACTION, COMPACTION, APPEND, NOTHING, COMPACTION], [(1, 2), (4, 6)]),
        ([APPEND, COMPACTION, NOTHING, COMPACTION, REWRITE], [(1, 2), (5, 6)]),
        ([REWRITE, COMPACTION] * MOST_SEGMENTS, [(2 * n + 1, 2 * n + 2) for n in range(MOST_SEGMENTS)]),
        ([REWRITE, COMPACTION] * (MOST_SEGMENTS + 1), []),
    ],
)
def test_ranges_between_compactions(commits, expected):
    assert ends(rewritten(*commits)) == expected


def test_all_ends_must_still_exist():
    commits = [REWRITE, COMPACTION, APPEND, REWRITE]
    assert ends(rewritten(*commits)) == [(1, 2), (3, 5)]
    assert ends(rewritten(*commits, without={1})) == []


def test_segments_are_read_if_they_are_smaller():
    found = rewritten(REWRITE, COMPACTION, APPEND)
    whole = plan_net(found, changed(900, "at_start", "at_end"))
    first, second = segments_of(found)
    parts = [plan_net(first, changed(50, "with_other_deletes")), plan_net(second, changed(10, "at_end"))]
    assert isinstance(whole, NetChanges)
    combined = by_segments(whole, parts)
    assert combined.net.segments == tuple(each.net for each in parts)
    assert (combined.counts.files, combined.counts.size) == (2, 60)
    assert [file.size for file in combined.net.read.files.all] == [10, 50]
    assert whole.net.read is whole.net.changed
    assert (combined.start, combined.end) == (whole.start, whole.end)
    heavy = [plan_net(first, changed(9000, "at_start", "at_end")), parts[1]]
    assert by_segments(whole, heavy) is whole


def test_segments_need_the_columns_of_the_end():
    found = rewritten(REWRITE, COMPACTION)
    other = (*COLUMNS, TableColumn(2, "n", "int"))
    whole = plan_net(found, changed(900, "at_start", "at_end", columns=other))
    parts = [plan_net(each, changed(1, "at_end")) for each in segments_of(found)]
    assert by_segments(whole, parts) is whole


def test_a_segment_without_changed_files_is_omitted():
    found = rewritten(REWRITE, COMPACTION, APPEND)
    whole = plan_net(found, changed(900, "at_start", "at_end"))
    first, second = segments_of(found)
    nothing = plan_net(first, ChangedFiles(COLUMNS, COLUMNS, FileDifference((), (), ())))
    assert isinstance(nothing, Nothing)
    appended = plan_net(second, changed(10, "at_end"))
    assert by_segments(whole, [nothing, appended]).net.segments == (appended.net,)

"""The lateness of a commit, which is the time between its oldest event and the commit."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from iceberg_incremental.table.history import Snapshot
from iceberg_incremental.table.lateness import CommitLateness, Lateness, lateness_in_all, lateness_of

DAY_MS = 86_400_000
TODAY = 20_000
COMMIT = Snapshot(7, 6, 7, TODAY * DAY_MS, "append")


def bound(value, type_):
    return {1: struct.pack("<i" if type_ == "date" else "<q", value)}


def file(oldest, newest, type_="timestamptz", records=5):
    return DataFile("f.parquet", records, 100, lower=bound(oldest, type_), upper=bound(newest, type_))


def added(*files, type_="timestamptz"):
    columns = (TableColumn(1, "happened_at", type_),)
    return ChangedFiles(columns, columns, FileDifference((), files, ()))


@pytest.mark.parametrize(
    ("files", "type_", "oldest", "newest"),
    [
        ([(-2, 0)], "timestamptz", (TODAY - 2) * DAY_MS, TODAY * DAY_MS),
        ([(-2, 0), (-17, -1)], "timestamp", (TODAY - 17) * DAY_MS, TODAY * DAY_MS),
        ([(-1, -1)], "date", TODAY * DAY_MS - 1, TODAY * DAY_MS - 1),  # the end of the day
        ([(1, 2)], "timestamptz", (TODAY + 1) * DAY_MS, (TODAY + 2) * DAY_MS),  # in the future
    ],
)
def test_lateness_is_measured_from_the_oldest_event(files, type_, oldest, newest):
    unit = 1 if type_ == "date" else DAY_MS * 1000
    days = [(TODAY + first, TODAY + last) for first, last in files]
    found = lateness_of(COMMIT, added(*(file(a * unit, b * unit, type_) for a, b in days), type_=type_), "HAPPENED_AT")
    assert found == CommitLateness(7, oldest, newest, TODAY * DAY_MS - oldest)


def test_lateness_is_unknown_without_metadata():
    known = file((TODAY - 2) * DAY_MS * 1000, TODAY * DAY_MS * 1000)
    assert lateness_of(COMMIT, None, "happened_at") is None
    assert lateness_of(COMMIT, added(), "happened_at") is None
    assert lateness_of(COMMIT, added(known), "another") is None
    assert lateness_of(COMMIT, added(known, type_="string"), "happened_at") is None
    assert lateness_of(COMMIT, added(known, replace(known, lower={})), "happened_at") is None
    assert lateness_of(COMMIT, replace(added(known), files=None), "happened_at") is None
    assert lateness_of(COMMIT, added(replace(known, values={1: 5}, nulls={1: 5})), "happened_at") is None


def test_files_without_rows_do_not_count():
    known = file((TODAY - 2) * DAY_MS * 1000, TODAY * DAY_MS * 1000)
    found = lateness_of(COMMIT, added(known, replace(known, records=0, lower={})), "happened_at")
    assert found is not None
    assert found.late_ms == 2 * DAY_MS


def test_the_lateness_of_several_commits():
    several = [CommitLateness(1, 500, 900, 300), CommitLateness(2, 700, 2000, 1300)]
    assert lateness_in_all("happened_at", several) == Lateness("happened_at", 2, 500, 2000, 1300)
    assert lateness_in_all("happened_at", []) is None

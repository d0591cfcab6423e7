"""Which rows are processed in a single task."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.expose.net import upserts_sql
from iceberg_incremental.expose.one_task import in_one_task, net_in_one_task
from iceberg_incremental.plan.ranges import NetRange
from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from tests.unit.incremental import histories as h

COLUMNS = (TableColumn(1, "id", "int"),)
HERE, THERE = "/*+ coalesce(1) */ ", "/*+ repartition(1) */ "


def net(*, rows=10, at_start=0, at_end=0, kept=0, **more):
    files = [(DataFile(name, records=records, size=1),) if records else () for name, records in
             (("s", at_start), ("e", at_end), ("k", kept))]  # fmt: skip
    return NetRange(h.FLIGHTS, 2, 3, ChangedFiles(COLUMNS, COLUMNS, FileDifference(*files)), rows=rows, **more)


@pytest.mark.parametrize(
    ("rows", "read", "hint"),
    [(0, 0, HERE), (50_000, 100_000, HERE), (50_000, 100_001, THERE), (50_001, 50_001, ""), (50_001, 9**9, "")],
)
def test_few_rows_are_processed_in_one_task(rows, read, hint):
    assert in_one_task(rows, read) == hint


@pytest.mark.parametrize(
    ("found", "hint"),
    [
        (net(at_end=20_000, kept=20_000), HERE),
        (net(at_end=20_000, kept=9**9), THERE),
        (net(at_end=20_000, kept=9**9, rows=10**6), ""),
        (net(at_start=20_000, at_end=20_000), HERE),
        (net(at_start=9**9, at_end=9**9, untouched_since=2), THERE),
        (net(at_start=9**9, at_end=9**9), ""),  # these rows include moved rows
        (net(at_start=9**9, at_end=9**9, untouched_since=2, has_log=True), ""),
        (net(at_end=9**9, rows=None), ""),
        (replace(net(), changed=ChangedFiles(COLUMNS, COLUMNS)), ""),
    ],
)
def test_moved_rows_of_a_range_count(found, hint):
    assert net_in_one_task(found) == hint


def test_scans_of_a_whole_table_use_several_tasks():
    """These scans include rows of unchanged files, and their number is unknown."""
    names = tuple(DataFile(f"{'n' * 200}{number}", records=1, size=1) for number in range(1_000))
    found = replace(net(), changed=ChangedFiles(COLUMNS, COLUMNS, FileDifference((), names, ())))
    assert "VERSION AS OF 2" in upserts_sql(found, None)
    assert "coalesce(1)" not in upserts_sql(found, None)

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_iceberg.operations.documentation import table_stats
from iceberg_incremental.table.checkpoint import UPDATE_METHOD_KEY
from iceberg_incremental.table.history import History
from iceberg_incremental.table.layout import Layout
from tests.unit.incremental.histories import OVERWRITE, history, snapshot

TOTALS = {
    "total-records": "60",
    "total-data-files": "3",
    "total-delete-files": "1",
    "total-files-size": "4096",
    "total-position-deletes": "7",
    "added-data-files": "1",
    "added-records": "60",
    "added-dvs": "1",
}


def values(table: History, layout: Layout | None = None) -> dict[str, object]:
    return {key: value for key, (_, value, _) in table_stats(table, layout).items()}


def test_a_table():
    table = history(snapshot(1, None, "overwrite", TOTALS), snapshot(2, 1, "replace", {**OVERWRITE, **TOTALS}))
    assert values(table, Layout((), ("days(ts)", "bucket(4, id)"), ("id asc nulls first",))) == {
        "format_version": 2,
        "partitioned_by": "days(ts), bucket(4, id)",
        "sorted_by": "id asc nulls first",
        "snapshots": 2,
        "files": 3,
        "delete_files": 1,
        "bytes": 4096,
        "rows": 53,
        "last_modified": "2026-01-01 00:00:01 UTC",
    }


def test_the_update_method():
    table = history(snapshot(1, None, "append", TOTALS))
    told = replace(table, properties={UPDATE_METHOD_KEY: "by id"})
    assert values(told) == {**values(table), "update_method": "by id"}
    assert values(replace(table, properties={UPDATE_METHOD_KEY: ""})) == values(table)


def test_a_table_without_a_snapshot():
    assert values(history(), Layout(())) == {
        "format_version": 2,
        "partitioned_by": "nothing",
        "sorted_by": "nothing",
        "snapshots": 0,
        "files": 0,
        "delete_files": 0,
        "bytes": 0,
        "rows": 0,
        "last_modified": "never",
    }


def test_unknown_values_are_omitted():
    assert values(history(snapshot(3, 2, "replace", {}))) == {
        "format_version": 2,
        "snapshots": 1,
        "last_modified": "before 2026-01-01 00:00:03 UTC",
    }

"""Configured and existing partitioning, in a normalized form."""

from __future__ import annotations

import pytest

from iceberg_incremental.metadata.describe import describe
from iceberg_incremental.table.layout import columns_of, configured, specified

COLUMNS = [("id", "int", None), ("at", "timestamp", None), ("region", "string", None)]


@pytest.mark.parametrize(
    ("partition_by", "rows"),
    [
        (None, COLUMNS),
        ("region", [*COLUMNS, ("# Partition Information", "", ""), ("# col_name", "data_type", "comment"),
                    ("region", "string", None)]),
        (["Region", "`id`"], [*COLUMNS, ("# Partition Information", "", ""), ("# col_name", "data_type", "comment"),
                              ("region", "string", None), ("id", "int", None)]),
        (["days(at)", "bucket(16, id)"], [*COLUMNS, ("", "", ""), ("# Partitioning", "", ""),
                                          ("Part 0", "days(at)", ""), ("Part 1", "bucket(16, id)", "")]),
        (["day(at)", "bucket(id, 16)"], [*COLUMNS, ("# Partitioning", "", ""), ("Part 0", "days(at)", ""),
                                         ("Part 1", "bucket(16, `id`)", ""), ("", "", ""),
                                         ("# Metadata Columns", "", ""), ("_file", "string", "")]),
    ],
)  # fmt: skip
def test_equal_partitions_have_the_same_form(partition_by, rows):
    assert configured(partition_by) == configured(describe(rows).partition_fields)


def test_other_partitions_differ():
    assert configured("days(at)") != configured("months(at)")
    assert configured("bucket(16, id)") != configured("bucket(8, id)")


def test_a_spec_in_the_metadata_has_the_same_form():
    names = {1: "id", 2: "at", 3: "Region"}
    listed = [("identity", 3), ("day", 2), ("bucket[16]", 1), ("truncate[4]", 3), ("void", 1), ("year", 9)]
    spec = {"fields": [{"source-id": source, "name": "gone", "transform": each} for each, source in listed]}
    assert specified(spec, names) == ("region", "days(at)", "bucket(16,id)", "truncate(4,region)", "years(gone)")
    assert set(specified(spec, names)) == set(
        configured(["Region", "day(at)", "bucket(16, id)", "truncate(region, 4)", "years(gone)"])
    )


def test_the_source_columns_of_partitions():
    fields = ["Region", "days(`at`)", "bucket(16, id)", "truncate(name, 2)", "place.country", "`odd one`"]
    columns = ["region", "AT", "id", "name", "place", "odd one", "country", "v"]
    assert columns_of(fields, columns) == columns[:6]

"""Configured and existing partitioning, in a normalized form."""

from __future__ import annotations

import pytest

from iceberg_incremental.metadata.describe import describe
from iceberg_incremental.table.layout import columns_of, fields_of_spec, normal_fields

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
    assert normal_fields(partition_by) == normal_fields(describe(rows).partition_fields)


def test_other_partitions_differ():
    assert normal_fields("days(at)") != normal_fields("months(at)")
    assert normal_fields("bucket(16, id)") != normal_fields("bucket(8, id)")


def test_a_spec_in_the_metadata_has_the_same_form():
    names = {1: "id", 2: "at", 3: "Region"}
    listed = [("identity", 3), ("day", 2), ("bucket[16]", 1), ("truncate[4]", 3), ("void", 1), ("year", 9)]
    spec = {"fields": [{"source-id": source, "name": "gone", "transform": each} for each, source in listed]}
    assert fields_of_spec(spec, names) == ("region", "days(at)", "bucket(16,id)", "truncate(4,region)", "years(gone)")
    assert set(fields_of_spec(spec, names)) == set(
        normal_fields(["Region", "day(at)", "bucket(16, id)", "truncate(region, 4)", "years(gone)"])
    )


def test_the_source_columns_of_partitions():
    fields = ["Region", "days(`at`)", "bucket(16, id)", "truncate(name, 2)", "place.country", "`odd one`"]
    columns = ["region", "AT", "id", "name", "place", "odd one", "country", "v"]
    assert columns_of(fields, columns) == columns[:6]

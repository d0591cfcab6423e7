"""Partitioning as configured and as described, in one form."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.incremental.partitions import configured, described

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
def test_the_same_partitions_have_one_form(partition_by, rows):
    assert configured(partition_by) == described(rows)


def test_other_partitions_differ():
    assert configured("days(at)") != configured("months(at)")
    assert configured("bucket(16, id)") != configured("bucket(8, id)")

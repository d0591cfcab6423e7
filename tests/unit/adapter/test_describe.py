from __future__ import annotations

import pytest

from iceberg_incremental.metadata.describe import describe

from .test_docs import TABLE, VIEW

PARTITIONED = [
    ("id", "int", None),
    ("d", "date", None),
    ("# Partition Information", "", ""),
    ("# col_name", "data_type", "comment"),
    ("d", "date", None),
]


def test_a_table():
    found = describe(TABLE)
    assert [(c.name, c.type, c.comment) for c in found.columns] == [
        ("id", "bigint", "the key"),
        ("# odd", "string", None),
    ]
    assert found.provider == "iceberg"
    assert {key: value for key, (_, value, _) in found.stats.items()} == {"bytes": 1109, "rows": 93}


def test_a_view_has_no_format_and_no_statistics():
    found = describe(VIEW)
    assert (len(found.columns), found.provider, found.stats) == (1, None, {})


def test_partition_columns_are_not_repeated():
    assert [c.name for c in describe(PARTITIONED).columns] == ["id", "d"]


def test_a_missing_relation_has_no_columns():
    assert describe([]).columns == ()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(TABLE, False), (VIEW, True), ([("id", "int"), ("# Detailed Table Information", ""), ("Type", "VIEW")], True)],
)
def test_a_view_is_recognized_by_its_section_or_type(rows, expected):
    assert describe(rows).is_view is expected


def test_a_column_with_the_name_of_a_detail_is_a_column():
    assert not describe([("Type", "VIEW", None)]).is_view


def test_partition_fields():
    transforms = [
        ("", "", ""),
        ("# Partitioning", "", ""),
        ("Part 0", "days(at)", ""),
        ("Part 1", "bucket(16, `id`)", ""),
    ]
    assert describe(PARTITIONED).partition_fields == ("d",)
    assert describe(transforms).partition_fields == (
        "days(at)",
        "bucket(16, `id`)",
    )

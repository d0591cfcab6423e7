"""Which tables have their files in each other's folders."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.incremental.table.history import TableName
from dbt.adapters.spark_iceberg.incremental.upkeep.folders import listed_with

ONE, OTHER = TableName("lake", "shop", "one"), TableName("lake", "shop", "other")


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("s3://b/shop/one/metadata/1.json", "s3://b/shop/other/metadata/1.json", ((), ())),
        ("s3://b/shop/one/metadata/1.json", "s3://b/shop/one2/metadata/1.json", ((), ())),
        ("s3://b/shop/one/metadata/1.json", "s3a://b/shop/one/metadata/2.json", ((OTHER,), (ONE,))),
        ("file:/b/one/metadata/1.json", "file:///b/one/metadata/2.json", ((OTHER,), (ONE,))),
        ("/b/one/metadata/1.json", "file:/b/one/below/metadata/1.json", ((OTHER,), ())),
    ],
)
def test_folders(one, other, found):
    files = {ONE: one, OTHER: other}
    assert (listed_with(ONE, files), listed_with(OTHER, files)) == found


def test_a_table_that_is_not_known_shares_nothing():
    assert listed_with(ONE, {OTHER: "/b/other/metadata/1.json"}) == ()

"""Which tables have files in another table's folder."""

from __future__ import annotations

import pytest

from iceberg_incremental.maintenance.folders import listed_with
from iceberg_incremental.table.history import TableName

ONE, OTHER = TableName("lake", "shop", "one"), TableName("lake", "shop", "other")


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (["s3://b/shop/one"], ["s3://b/shop/other"], ((), ())),
        (["s3://b/shop/one"], ["s3://b/shop/one2"], ((), ())),
        (["s3://b/shop/one"], ["s3a://b/shop/one/"], ((OTHER,), (ONE,))),
        (["file:/b/one"], ["file:///b/one"], ((OTHER,), (ONE,))),
        (["/b/one"], ["file:/b/one/below"], ((OTHER,), ())),
        (["/b/one"], ["/b/other", "/b/one/data"], ((OTHER,), ())),
        (["/b/one", "/b/other/data"], ["/b/other"], ((), (ONE,))),
        (["/b/one"], [], ((), ())),
        ([], ["/b/other"], ((), ())),
    ],
)
def test_folders(one, other, found):
    folders = {ONE: one, OTHER: other}
    assert (listed_with(ONE, folders), listed_with(OTHER, folders)) == found

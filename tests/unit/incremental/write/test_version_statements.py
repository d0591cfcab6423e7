"""Versions that end in a merge-on-read table are deleted and inserted again."""

from __future__ import annotations

import pytest

from iceberg_incremental.errors import DuplicateKeyError
from iceberg_incremental.explain import history_errors
from iceberg_incremental.write.versions.statements import are_deleted, insert_sql, require_deleted
from tests.unit.incremental.runs import TARGET, hist, snap


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"write.delete.mode": "merge-on-read"}, True),
        ({"write.delete.mode": "copy-on-write"}, False),
        ({"write.merge.mode": "merge-on-read"}, False),
    ],
)
def test_versions_are_deleted_only_if_deletes_are_merge_on_read(properties, expected):
    assert are_deleted(hist(TARGET, snap(1, None), properties=properties)) is expected


def test_queries_are_combined_by_union_all():
    assert insert_sql("t.b", ["id", "v"], "a") == "insert into t.b (`id`, `v`)\na"
    assert insert_sql("t.b", ["id"], "a", "b").endswith("a\nunion all\nb")


def test_the_number_of_deleted_versions_is_checked():
    commit = snap(2, 1, {"added-position-deletes": "2"})
    require_deleted(commit, 2, lambda: history_errors.ids_repeated("m", "dbt_scd_id"))
    with pytest.raises(DuplicateKeyError, match="two valid versions with the same dbt_scd_id"):
        require_deleted(commit, 1, lambda: history_errors.ids_repeated("m", "dbt_scd_id"))

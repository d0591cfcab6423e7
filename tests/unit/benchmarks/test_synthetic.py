from __future__ import annotations

import itertools
from typing import Any

import pytest
from pyiceberg.table.metadata import TableMetadataUtil

from benchmarks import synthetic
from iceberg_incremental.metadata import table_metadata
from iceberg_incremental.table import checkpoint
from iceberg_incremental.table.commits import Effect, effect
from iceberg_incremental.table.history import TableName

FIELD = {"id": 1, "name": "id", "required": False, "type": "long"}


def real() -> dict[str, Any]:
    """The metadata of a table with one commit that added one file."""
    summary = {
        "operation": "append",
        "spark.app.id": "local-1",
        "added-data-files": "1",
        "added-records": "1",
        "added-files-size": "400",
        "changed-partition-count": "1",
        "total-records": "1",
        "total-files-size": "400",
        "total-data-files": "1",
        "total-delete-files": "0",
    }
    snapshot = {
        "sequence-number": 1,
        "snapshot-id": 11,
        "timestamp-ms": 1_767_225_600_000,
        "summary": summary,
        "manifest-list": "/lake/raw/events/metadata/snap-11.avro",
        "schema-id": 0,
    }
    return {
        "format-version": 2,
        "table-uuid": "6f1c1e5e-0c4b-4f5e-8a8e-0f6b0a3c2d10",
        "location": "/lake/raw/events",
        "last-sequence-number": 1,
        "last-updated-ms": 1_767_225_600_000,
        "last-column-id": 1,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [FIELD]}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {},
        "current-snapshot-id": 11,
        "refs": {"main": {"snapshot-id": 11, "type": "branch"}},
        "snapshots": [snapshot],
        "snapshot-log": [{"snapshot-id": 11, "timestamp-ms": 1_767_225_600_000}],
        "metadata-log": [],
    }


def test_a_long_history_is_valid_metadata():
    found = TableMetadataUtil.parse_obj(synthetic.lengthen(real(), 50))
    assert len(found.snapshots) == 50
    assert found.current_snapshot().sequence_number == found.last_sequence_number == 50


def test_every_commit_is_an_append_to_its_parent():
    history = table_metadata.to_history(TableName("lake", "raw", "events"), synthetic.lengthen(real(), 50))
    chain = list(history.ancestors(history.current_snapshot_id))[::-1]
    assert len(chain) == 50
    assert {effect(each) for each in chain} == {Effect.APPEND}
    totals = [int(each.summary["total-data-files"]) for each in chain]
    assert {after - before for before, after in itertools.pairwise(totals)} == {synthetic.FILES_PER_COMMIT}


@pytest.mark.parametrize("length", [1, 2])
def test_a_checkpoint_stays_with_the_head(length: int):
    document = synthetic.with_checkpoint(real(), "position")
    found = synthetic.lengthen(document, length)["snapshots"]
    assert [each["summary"].get(checkpoint.KEY) for each in found] == [None] * (length - 1) + ["position"]

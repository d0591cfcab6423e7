"""Which files differ between two snapshots. The tests write the manifests, also with equality deletes."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from iceberg_incremental.metadata import FilesAt
from iceberg_incremental.metadata.manifest_files import _equal_to_itself
from iceberg_incremental.metadata.manifests import changed_files, data_files, live_files, live_specs
from iceberg_incremental.table.files import Content
from iceberg_incremental.table.layout import LiveSpec

SUMMARY = StructType(
    NestedField(509, "contains_null", BooleanType(), required=True),
    NestedField(510, "lower_bound", BinaryType(), required=False),
    NestedField(511, "upper_bound", BinaryType(), required=False),
)
MANIFEST = Schema(
    NestedField(500, "manifest_path", StringType(), required=True),
    NestedField(502, "partition_spec_id", IntegerType(), required=True),
    NestedField(517, "content", IntegerType(), required=True),
    NestedField(515, "sequence_number", LongType(), required=True),
    NestedField(507, "partitions", ListType(508, SUMMARY, element_required=True), required=False),
    NestedField(520, "first_row_id", LongType(), required=False),
)


def entry_schema(partition):
    data_file = StructType(
        NestedField(134, "content", IntegerType(), required=True),
        NestedField(100, "file_path", StringType(), required=True),
        NestedField(102, "partition", partition, required=True),
        NestedField(103, "record_count", LongType(), required=True),
        NestedField(104, "file_size_in_bytes", LongType(), required=True),
        NestedField(125, "lower_bounds", MapType(126, IntegerType(), 127, BinaryType()), required=False),
        NestedField(128, "upper_bounds", MapType(129, IntegerType(), 130, BinaryType()), required=False),
        NestedField(143, "referenced_data_file", StringType(), required=False),
        NestedField(144, "content_offset", LongType(), required=False),
    )
    return Schema(
        NestedField(0, "status", IntegerType(), required=True),
        NestedField(3, "sequence_number", LongType(), required=False),
        NestedField(4, "file_sequence_number", LongType(), required=False),
        NestedField(2, "data_file", data_file, required=True),
    )


class Output(io.BytesIO):
    content = b""

    def close(self):
        self.content = self.getvalue()
        super().close()

    def create(self, overwrite=False):
        return self


def avro(schema, rows):
    output: Any = Output()
    with AvroOutputFile[Record](output, schema, "row") as file:
        file.write_block(rows)
    return output.content


@dataclass
class Lake:
    """Metadata files by location. Spec 0 is unpartitioned, spec 1 is by region (column 2), spec 2 has a void field."""

    files: dict[str, bytes] = field(default_factory=dict)
    snapshots: list[dict[str, object]] = field(default_factory=list)

    def manifest(self, path, *entries, spec=1, content=0, sequence_number=1, first_row_id=None):
        """Write a manifest. ``entries``: (status, path, region, more), with further fields of the file in ``more``."""
        partition = StructType(*([NestedField(1000, "region", StringType(), required=False)] if spec == 1 else []))
        if spec == 2:
            partition = StructType(NestedField(1001, "gone", StringType(), required=False))
        rows = []
        for status, name, region, more in entries:
            values = () if spec == 0 else (region if spec == 1 else None,)
            number, added_at = more.get("sequence_number"), more.get("added_at")
            rows.append(
                Record(
                    status, number, added_at,
                    Record(
                        more.get("content", 0), name, Record(*values), 10, 100, more.get("lower"), more.get("upper"),
                        more.get("referenced"), more.get("offset"),
                    ),
                )
            )  # fmt: skip
        self.files[path] = avro(entry_schema(partition), rows)
        regions = [region for _, _, region, _ in entries if region is not None]
        bounds = (min(regions).encode(), max(regions).encode()) if regions else (None, None)
        nulls = any(region is None for _, _, region, _ in entries)
        summaries = [Record(nulls, *bounds)] if spec == 1 else []
        return Record(path, spec, content, sequence_number, summaries, first_row_id)

    def snapshot(self, *manifests, **more):
        number = len(self.snapshots) + 1
        self.files[f"list-{number}"] = avro(MANIFEST, manifests)
        self.snapshots.append({"snapshot-id": number, "schema-id": 0, "manifest-list": f"list-{number}", **more})
        return number

    def document(self):
        fields = [{"id": 1, "name": "id", "type": "int"}, {"id": 2, "name": "region", "type": "string"}]
        return {
            "schemas": [{"schema-id": 0, "fields": fields}],
            "current-schema-id": 0,
            "partition-specs": [
                {"spec-id": 0, "fields": []},
                {"spec-id": 1, "fields": [{"field-id": 1000, "source-id": 2, "transform": "identity"}]},
                {"spec-id": 2, "fields": [{"field-id": 1001, "source-id": 1, "transform": "void"}]},
            ],
            "sort-orders": [{"order-id": 3, "fields": [{"source-id": 1, "transform": "identity"}]}],
            "default-sort-order-id": 3,
            "snapshots": self.snapshots,
        }

    def has_repeated(self, may_repeat):
        files = changed_files(self.document(), 1, 2, self.files.__getitem__, may_repeat=may_repeat).files
        return files.has_repeated

    def difference(self, start=1, end=2):
        changed = changed_files(self.document(), start, end, self.files.__getitem__)
        parts = (changed.files.at_start, changed.files.at_end, changed.files.with_other_deletes)
        return tuple([file.path for file in part] for part in parts)


@pytest.fixture
def lake():
    return Lake()


EU: Any
US: Any
EU, US = (1, "eu.parquet", "eu", {}), (1, "us.parquet", "us", {})


def kept(entry, number=1):
    return (0, entry[1], entry[2], {**entry[3], "sequence_number": number})


def test_added_and_removed_files(lake):
    lake.snapshot(lake.manifest("a", EU, US))
    rewritten = lake.manifest("b", kept(EU), (2, "us.parquet", "us", {}), (1, "new.parquet", "us", {}))
    lake.snapshot(rewritten)
    assert lake.difference() == (["us.parquet"], ["new.parquet"], [])


def test_shared_manifests_are_not_read(lake):
    shared = lake.manifest("a", EU)
    lake.snapshot(shared)
    lake.snapshot(shared, lake.manifest("b", US, sequence_number=2))
    del lake.files["a"]
    assert lake.difference() == ([], ["us.parquet"], [])


def test_a_file_that_is_added_again_later_is_a_different_file(lake):
    lake.snapshot(lake.manifest("a", EU))
    lake.snapshot(lake.manifest("b", EU, sequence_number=2))
    assert lake.difference() == (["eu.parquet"], ["eu.parquet"], [])


def test_a_file_that_is_added_again_with_the_same_sequence_number(lake):
    """In format v1, files have no sequence numbers."""
    lake.snapshot(lake.manifest("a", EU, US, sequence_number=0))
    lake.snapshot(lake.manifest("b", kept(EU, 0), kept(US, 0), (1, "us.parquet", "us", {}), sequence_number=0))
    assert lake.difference() == ([], ["us.parquet"], [])
    assert lake.difference(2, 1) == (["us.parquet"], [], [])


def test_a_changed_file_that_a_table_lists_twice_is_detected(lake):
    """Manifests that both snapshots share are read only if the table may list a file twice."""
    shared = lake.manifest("a", EU)
    lake.snapshot(shared)
    lake.snapshot(shared, lake.manifest("b", EU, US, sequence_number=2))
    assert lake.has_repeated(may_repeat=True)
    assert not lake.has_repeated(may_repeat=False)


def test_a_file_that_one_manifest_lists_twice_is_detected(lake):
    lake.snapshot(lake.manifest("a", US))
    lake.snapshot(lake.manifest("b", EU, EU, sequence_number=2))
    assert lake.has_repeated(may_repeat=False)


def test_partitions_of_nan_are_equal():
    one, other = (tuple(map(_equal_to_itself, (float("nan"), number, "nan"))) for number in (0.0, -0.0))
    assert {one} == {other}


DELETES = {
    "a deletion vector": {"content": 1, "referenced": "eu.parquet", "offset": 4},
    "position deletes of one file": {
        "content": 1, "lower": {2147483546: b"eu.parquet"}, "upper": {2147483546: b"eu.parquet"},
    },
    "position deletes of a partition": {"content": 1},
    "equality deletes": {"content": 2, "lower": {2147483546: b"us.parquet"}, "upper": {2147483546: b"us.parquet"}},
}  # fmt: skip


@pytest.mark.parametrize("kind", list(DELETES))
def test_files_with_other_deletes(lake, kind):
    data = lake.manifest("a", EU, US)
    deletes = lake.manifest("d", (1, "d.puffin", "eu", DELETES[kind]), content=1, sequence_number=2)
    lake.snapshot(data)
    lake.snapshot(data, deletes)
    lake.snapshot(lake.manifest("rewritten", kept(EU), kept(US)), deletes)
    assert lake.difference(1, 2) == ([], [], ["eu.parquet"])
    assert lake.difference(2, 1) == ([], [], ["eu.parquet"])
    assert lake.difference(1, 3) == ([], [], ["eu.parquet"])
    assert lake.difference(2, 3) == ([], [], [])


def test_vectors_in_one_puffin_file_are_distinguished(lake):
    data = lake.manifest("a", EU, US)
    vectors = [
        (1, "d.puffin", region, {"content": 1, "referenced": f"{region}.parquet", "offset": offset})
        for region, offset in (("eu", 4), ("us", 60))
    ]
    lake.snapshot(data, lake.manifest("d", *vectors, content=1, sequence_number=2))
    lake.snapshot(data, lake.manifest("e", kept(vectors[0], 2), content=1, sequence_number=3))
    assert lake.difference() == ([], [], ["us.parquet"])


def test_manifests_without_the_partition_of_a_delete_are_not_read(lake):
    eu, us = lake.manifest("a", EU), lake.manifest("b", US)
    lake.snapshot(eu, us)
    lake.snapshot(eu, us, lake.manifest("d", (1, "d", "eu", DELETES["a deletion vector"]), content=1))
    del lake.files["b"]
    assert lake.difference() == ([], [], ["eu.parquet"])


@pytest.mark.parametrize(("spec", "region"), [(0, None), (1, "us"), (1, None)])
@pytest.mark.parametrize("kind", ["a deletion vector", "position deletes of one file"])
def test_deletes_of_one_file_apply_to_it_in_any_partition(lake, spec, region, kind):
    """DuckDB writes them with the current partition spec, even if their data file has an older one."""
    eu, us = lake.manifest("a", EU), lake.manifest("b", US)
    lake.snapshot(eu, us)
    lake.snapshot(eu, us, lake.manifest("d", (1, "d", region, DELETES[kind]), content=1, spec=spec))
    assert lake.difference() == ([], [], ["eu.parquet"])


def test_a_partition_of_nulls(lake):
    null: Any = (1, "null.parquet", None, {})
    data = lake.manifest("a", EU, null)
    lake.snapshot(data)
    lake.snapshot(data, lake.manifest("d", (1, "d", None, {"content": 1}), content=1))
    assert lake.difference() == ([], [], ["null.parquet"])


@pytest.mark.parametrize("spec", [0, 2])
def test_equality_deletes_without_a_partition_may_affect_every_file(lake, spec):
    data = lake.manifest("a", EU, US)
    lake.snapshot(data)
    lake.snapshot(data, lake.manifest("d", (1, "d", None, {"content": 2}), content=1, spec=spec))
    assert lake.difference() == ([], [], ["eu.parquet", "us.parquet"])


def test_columns_and_clustering(lake):
    data = lake.manifest("a", EU)
    lake.snapshot(data)
    lake.snapshot(data)
    changed = changed_files(lake.document(), 1, 2, lake.files.__getitem__)
    assert [column.name for column in changed.end] == ["id", "region"]
    assert changed.clustered_by == (2, 1)


def test_all_rows_have_ids_only_if_each_manifest_of_data_files_has_them(lake):
    """Some writers of format v3 give ids to a snapshot, but not to its manifests."""
    with_ids, without = (lake.manifest(name, EU, first_row_id=first) for name, first in (("a", 0), ("b", None)))
    deletes = lake.manifest("d", (1, "d", "eu", {"content": 1}), content=1)
    lake.snapshot(without)
    lake.snapshot(with_ids, deletes, **{"first-row-id": 0})
    lake.snapshot(with_ids, without, **{"first-row-id": 10})
    starts = [changed_files(lake.document(), start, 1, lake.files.__getitem__) for start in (1, 2, 3)]
    assert [each.start_has_row_ids for each in starts] == [False, True, False]


def test_files_that_were_added_after_a_sequence_number(lake):
    """A compacted file may have the sequence number of its rows instead of its commit's."""
    compacted = (0, "compacted", "eu", {"sequence_number": 1, "added_at": 3})
    manifests = [
        lake.manifest("old", EU, sequence_number=2),
        lake.manifest("merged", kept(US, 2), compacted, kept((1, "appended", "eu", {}), 3), sequence_number=4),
        lake.manifest("new", (1, "new", "eu", {}), sequence_number=5),
    ]
    lake.snapshot(*manifests)
    del lake.files["old"]  # must not be read
    found = data_files(lake.document(), FilesAt(1, added_after=2), lake.files.__getitem__)
    assert [file.path for file in found.files.at_end] == ["compacted", "appended", "new"]
    assert found.start == found.end == found.present


def test_a_snapshot_without_a_manifest_list(lake):
    lake.snapshot(lake.manifest("a", EU))
    lake.snapshots.append({"snapshot-id": 2, "manifests": ["a"]})
    assert changed_files(lake.document(), 1, 2, lake.files.__getitem__).files is None


def test_the_partition_specs_of_live_files(lake):
    lake.snapshot(
        lake.manifest("a", EU, US),
        lake.manifest("b", (1, "c.parquet", None, {}), (2, "d.parquet", None, {}), spec=0),
        lake.manifest("c", (2, "e.parquet", None, {}), spec=2),
        lake.manifest("d", (1, "deletes", "eu", {"content": 1}), content=1),
    )
    found = live_specs({**lake.document(), "default-spec-id": 1}, 1, lake.files.__getitem__)
    assert found == [LiveSpec(0, 1, (), False), LiveSpec(1, 2, ("region",), True)]
    del lake.snapshots[0]["manifest-list"]
    assert live_specs(lake.document(), 1, lake.files.__getitem__) == []


def test_all_live_files_and_their_manifests(lake):
    gone = (2, "gone.parquet", "eu", {})
    lake.snapshot(
        lake.manifest("a", EU, US, gone),
        lake.manifest("b", gone),
        lake.manifest("c", (1, "d-eu", "eu", {"content": 1, "referenced": "eu.parquet"}), content=1),
        lake.manifest("e", (1, "d-all", "eu", {"content": 2}), content=1),
    )
    live = live_files({**lake.document(), "default-spec-id": 1}, 1, lake.files.__getitem__)
    assert [(each.content, each.path, each.partition, each.of, each.manifest) for each in live.files] == [
        (Content.DATA, "eu.parquet", ("eu",), None, "a"),
        (Content.DATA, "us.parquet", ("us",), None, "a"),
        (Content.POSITION_DELETES, "d-eu", ("eu",), "eu.parquet", "c"),
        (Content.EQUALITY_DELETES, "d-all", ("eu",), None, "e"),
    ]
    assert (live.spec_id, {path: each.lists_deletes for path, each in live.manifests.items()}) == (
        1,
        {"a": False, "c": True, "e": True},
    )
    del lake.snapshots[0]["manifest-list"]
    assert live_files(lake.document(), 1, lake.files.__getitem__) is None

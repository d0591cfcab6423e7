"""Conversion of metadata documents to histories and layouts."""

from __future__ import annotations

import gzip
import json

import pytest

from iceberg_incremental.explain.target_errors import keeps_layout
from iceberg_incremental.metadata.table_metadata import columns_at, layout_of, parse, renamed_since, to_history
from iceberg_incremental.table.clone import NO_REMOVAL
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.layout import DescribedColumn, Layout

TABLE = TableName("lake", "ops", "flights")


def test_a_table_without_a_snapshot():
    document = {"format-version": 2, "table-uuid": "u", "current-snapshot-id": -1, "properties": {"a": "b"}}

    assert to_history(TABLE, document) == History(TABLE, "u", 2, None, {}, {}, {"a": "b"})


def test_a_clone_keeps_what_protects_its_origin():
    properties = {"ip.cloned-from": "lake.ops.origin", **NO_REMOVAL}
    document = {"format-version": 2, "table-uuid": "u", "properties": properties}
    wanted = {"write.metadata.delete-after-commit.enabled": True}
    assert keeps_layout(to_history(TABLE, document), "model.shop.flights", [], [], wanted) is None


@pytest.mark.parametrize(
    ("fields", "properties", "said"),
    [
        (["days(at)"], {"a": "b", "format-version": 2, "c": True}, None),
        (["day(`At`)"], {}, None),
        ([], {}, None),  # a partitioned table whose partitioning the config leaves open
        (["region"], {}, "partition_by is region in the config and days(at) in the table."),
        ([], {"a": "c", "d": 1}, "a is 'c' in the config and 'b' in the table; d is '1' in the config and not set in"),
        ([], {"format-version": "3"}, "format-version is '3' in the config and '2' in the table."),
        ([], {"format-version": 1}, None),  # which no run and no rebuild can apply
    ],
)
def test_a_config_that_the_table_does_not_have(fields, properties, said):
    columns = [{"id": 1, "name": "at", "type": "timestamp"}, {"id": 2, "name": "region", "type": "string"}]
    document = {
        "format-version": 2,
        "table-uuid": "u",
        "properties": {"a": "b", "c": "true"},
        "schemas": [{"schema-id": 0, "fields": columns}],
        "partition-specs": [
            {"spec-id": 0, "fields": [{"source-id": 2, "transform": "identity", "name": "region"}]},
            {"spec-id": 1, "fields": [{"source-id": 1, "transform": "day", "name": "at_day"}]},
        ],
        "default-spec-id": 1,
    }
    found = keeps_layout(to_history(TABLE, document), "model.shop.flights", fields, [], properties)
    assert (found is None) is (said is None)
    assert said is None or said in found


@pytest.mark.parametrize(
    ("sort_by", "said"),
    [
        ([], None),
        (["bucket(`At`, 4)  DESC nulls last", "region"], None),
        (
            ["bucket(4, at) desc"],
            "desc nulls last in the config and bucket(4,at) desc nulls last, region asc",
        ),
        (["region desc", "at"], "sort_by is region desc nulls last, at asc nulls first in the config and"),
    ],
)
def test_an_order_that_the_table_does_not_have(sort_by, said):
    columns = [{"id": 1, "name": "at", "type": "timestamp"}, {"id": 2, "name": "region", "type": "string"}]
    fields = [
        {"source-id": 1, "transform": "bucket[4]", "direction": "desc", "null-order": "nulls-last"},
        {"source-id": 2, "transform": "identity", "direction": "asc", "null-order": "nulls-first"},
    ]
    document = {
        "format-version": 2,
        "table-uuid": "u",
        "schemas": [{"schema-id": 0, "fields": columns}],
        "sort-orders": [{"order-id": 0, "fields": []}, {"order-id": 1, "fields": fields}],
        "default-sort-order-id": 1,
    }
    found = keeps_layout(to_history(TABLE, document), "model.shop.flights", [], sort_by, {})
    assert (found is None) is (said is None)
    assert said is None or said in found
    unsorted = keeps_layout(to_history(TABLE, {**document, "default-sort-order-id": 0}), "m", [], sort_by, {})
    assert (unsorted is None) is not sort_by or "the table is not sorted" in unsorted


def test_types_that_spark_lacks_at_any_depth():
    of_list = {
        "type": "list",
        "element-id": 5,
        "element": {"type": "struct", "fields": [{"id": 6, "name": "t", "type": "time"}]},
    }
    of_map = {"type": "map", "key": "string", "value": "timestamptz_ns"}
    types = ("long", "timestamp", "timestamptz", "timestamp_ns", "geometry(srid:4326)", of_list, of_map)
    fields = [{"id": 10 + place, "name": f"c{place}", "type": each} for place, each in enumerate(types)]
    document = {"format-version": 3, "table-uuid": "u", "schemas": [{"schema-id": 0, "fields": fields}]}
    assert to_history(TABLE, document).foreign == {
        "c3": "timestamp_ns",
        "c4": "geometry(srid:4326)",
        "c5.element.t": "time",
        "c6.value": "timestamptz_ns",
    }


@pytest.mark.parametrize("version", [2, 3])
def test_snapshots_refs_and_log(version: int):
    first = {"snapshot-id": 1, "sequence-number": 7, "timestamp-ms": 1000, "summary": {"operation": "append", "k": "v"}}
    second = {
        "snapshot-id": 2,
        "parent-snapshot-id": 1,
        "sequence-number": 8,
        "timestamp-ms": 2000,
        "summary": {"operation": "delete"},
        "first-row-id": 0,
    }
    document = {
        "format-version": version,
        "table-uuid": "u",
        "current-snapshot-id": 2,
        "snapshots": [first, second],
        "refs": {
            "main": {"snapshot-id": 2, "type": "branch"},
            "v1": {"snapshot-id": 1, "type": "tag", "max-ref-age-ms": 5},
        },
        "metadata-log": [{"metadata-file": "a", "timestamp-ms": 1}, {"metadata-file": "b", "timestamp-ms": 2}],
        "schemas": [{"fields": [{"id": 1, "name": "v", "type": "a type of tomorrow"}]}],
    }

    assert to_history(TABLE, document) == History(
        TABLE,
        "u",
        version,
        2,
        {
            1: Snapshot(1, None, 7, 1000, "append", {"k": "v"}),
            2: Snapshot(2, 1, 8, 2000, "delete", {}, has_row_ids=True),
        },
        {"main": 2, "v1": 1},
        {},
        ("a", "b"),
        {"v1": 5},
    )


def test_format_1_without_refs_sequence_numbers_summaries_or_uuid():
    document = {"format-version": 1, "current-snapshot-id": 1, "snapshots": [{"snapshot-id": 1, "timestamp-ms": 5}]}

    assert to_history(TABLE, document) == History(
        TABLE, None, 1, 1, {1: Snapshot(1, None, 0, 5, None)}, {"main": 1}, {}
    )


@pytest.mark.parametrize(
    ("fields", "renamed"),
    [
        ([(5, "a", "int"), (6, "b", "int")], set()),
        ([(5, "a", "long"), (6, "b", "int")], set()),  # both values are read in the same way
        ([(5, "b", "int"), (6, "a", "int")], {1}),
        ([(6, "b", "int"), (5, "a", "int")], {1}),  # Spark inserts the fields of a struct by position
    ],
)
def test_columns_whose_fields_were_altered_since(fields, renamed):
    schemas = [
        {
            "schema-id": schema_id,
            "fields": [{"id": 1, "name": "s", "type": {
                "type": "struct", "fields": [dict(zip(("id", "name", "type"), each, strict=True)) for each in listed],
            }}],
        }
        for schema_id, listed in enumerate([[(5, "a", "int"), (6, "b", "int")], fields])
    ]  # fmt: skip
    document = {"schemas": schemas, "current-schema-id": 1}
    assert renamed_since(document, columns_at(document, {"schema-id": 0})) == renamed


@pytest.mark.parametrize(("heads", "expected"), [([1, 2], None), ([1, 2, 1], 3), ([1, 2, 1, 3], 3), ([1, 2, 1, 2], 4)])
def test_the_time_of_a_rollback(heads, expected):
    log = [{"snapshot-id": head, "timestamp-ms": time} for time, head in enumerate(heads, start=1)]
    snapshots = [{"snapshot-id": head, "timestamp-ms": head} for head in {*heads}]
    document = {"format-version": 2, "current-snapshot-id": heads[-1], "snapshots": snapshots, "snapshot-log": log}

    assert to_history(TABLE, document).rolled_back_ms == expected


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_metadata_file_may_be_compressed(compress):
    document = {"format-version": 2, "properties": {"name": "é"}}

    assert parse(compress(json.dumps(document, ensure_ascii=False).encode())) == document


@pytest.mark.parametrize("content", [b"[]", b"{}", b"not json", b""])
def test_invalid_metadata_files(content: bytes):
    with pytest.raises(ValueError, match=r"format-version|Expecting value"):
        parse(content)


def test_the_layout_is_the_current_one():
    def column(number: int, name: str, type_: str, **more: str) -> dict[str, object]:
        return {"id": number, "name": name, "type": type_, "required": False, **more}

    def field(number: int, transform: str, **more: object) -> dict[str, object]:
        return {"source-id": number, "transform": transform, **more}

    document = {
        "format-version": 2,
        "current-schema-id": 1,
        "schemas": [
            {"schema-id": 0, "fields": [column(1, "old", "int")]},
            {"schema-id": 1, "fields": [column(1, "id", "long", doc="the key"), column(2, "ts", "timestamptz")]},
        ],
        "default-spec-id": 2,
        "partition-specs": [
            {"spec-id": 1, "fields": [field(1, "identity", name="id", **{"field-id": 1000})]},
            {
                "spec-id": 2,
                "fields": [
                    field(1, "void", name="id", **{"field-id": 1000}),
                    field(2, "day", name="ts_day", **{"field-id": 1001}),
                    field(1, "bucket[4]", name="id_bucket", **{"field-id": 1002}),
                ],
            },
        ],
        "default-sort-order-id": 1,
        "sort-orders": [
            {"order-id": 0, "fields": []},
            {
                "order-id": 1,
                "fields": [field(2, "identity", direction="desc", **{"null-order": "nulls-last"})],
            },
        ],
    }

    assert layout_of(document) == Layout(
        (DescribedColumn("id", "bigint", "the key"), DescribedColumn("ts", "timestamp")),
        ("days(ts)", "bucket(4, id)"),
        ("ts desc nulls last",),
    )


def test_the_layout_of_format_1():
    schema = {"fields": [{"id": 1, "name": "id", "type": "int", "required": False}]}
    spec = [{"source-id": 1, "transform": "identity", "name": "id"}]
    assert layout_of({"format-version": 1, "schema": schema, "partition-spec": spec}) == Layout(
        (DescribedColumn("id", "int"),), ("id",)
    )


@pytest.mark.parametrize(
    ("present", "has_other_names"),
    [
        ([(1, "a"), (2, "b"), (3, "c")], False),
        ([(1, "b"), (2, "a")], True),
        ([(1, "x"), (2, "b")], True),
        ([(3, "a"), (2, "b")], True),
        ([(1, "a")], True),
    ],
    ids=["added", "swapped", "renamed", "added_again", "dropped"],
)
@pytest.mark.parametrize("nested", [False, True])
def test_names_that_refer_to_other_columns_since(present, has_other_names, nested):
    def schema(number, columns):
        fields = [{"id": field_id, "name": name, "type": "int"} for field_id, name in columns]
        inside = {"type": "list", "element-id": 8, "element": {"type": "struct", "fields": fields}}
        return {"schema-id": number, "fields": [{"id": 9, "name": "s", "type": inside}] if nested else fields}

    document = {
        "format-version": 2,
        "current-snapshot-id": 1,
        "current-schema-id": 1,
        "schemas": [schema(0, [(1, "a"), (2, "b")]), schema(1, present)],
        "snapshots": [{"snapshot-id": 1, "timestamp-ms": 1, "schema-id": 0}],
    }
    history = to_history(TABLE, document)
    assert history.current.has_other_names == has_other_names
    assert list(history.current.fields.values())[-2:] == [1, 2]
    assert list(history.fields.values())[-len(present) :] == [field_id for field_id, _ in present]

from __future__ import annotations

from typing import Any

import pytest

from iceberg_incremental.table.layout import names_by_id, spark_type, transform_sql

POINT = {
    "type": "struct",
    "fields": [
        {"id": 3, "name": "x", "required": False, "type": "double"},
        {"id": 4, "name": "a b", "required": False, "type": "uuid"},
    ],
}


@pytest.mark.parametrize(
    ("iceberg", "spark"),
    [
        ("boolean", "boolean"),
        ("int", "int"),
        ("long", "bigint"),
        ("decimal(9, 2)", "decimal(9,2)"),
        ("timestamp", "timestamp_ntz"),
        ("timestamptz", "timestamp"),
        ("uuid", "string"),
        ("fixed[16]", "binary"),
        ("binary", "binary"),
        ("variant", "variant"),
        ("timestamp_ns", "timestamp_ns"),
        (POINT, "struct<x:double,a b:string>"),
        ({"type": "list", "element-id": 5, "element": POINT}, "array<struct<x:double,a b:string>>"),
        ({"type": "map", "key-id": 6, "key": "string", "value-id": 7, "value": "long"}, "map<string,bigint>"),
    ],
)
def test_types_are_converted_to_spark_types(iceberg: Any, spark: str):
    assert spark_type(iceberg) == spark


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ("identity", "ts"),
        ("day", "days(ts)"),
        ("hour", "hours(ts)"),
        ("bucket[16]", "bucket(16, ts)"),
        ("truncate[4]", "truncate(4, ts)"),
        ("void", None),
    ],
)
def test_transforms_are_written_as_in_ddl(transform: str, expected: str | None):
    assert transform_sql(transform, "ts") == expected


def test_fields_of_structs_have_a_path():
    schema = {"fields": [{"id": 1, "name": "id", "type": "int"}, {"id": 2, "name": "p", "type": POINT}]}
    assert dict(names_by_id(schema)) == {1: "id", 2: "p", 3: "p.x", 4: "p.a b"}

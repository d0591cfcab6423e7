"""Values in comparable forms. Other tests run the SQL with Spark."""

from __future__ import annotations

import pytest

from iceberg_incremental.table.types import as_written
from iceberg_incremental.write.columns.comparable import comparable_sql


@pytest.mark.parametrize(
    ("dtype", "sql"),
    [
        ("array<struct<a:int>>", "c"),
        ("variant", "to_json(c)"),
        (
            "map<string,int>",
            "array_sort(transform(map_entries(c), `_ip_0` -> "
            "named_struct('key', `_ip_0`.key, 'value', `_ip_0`.value)))",
        ),
    ],
)
def test_values_are_converted_to_types_that_can_be_grouped(dtype, sql):
    assert comparable_sql("c", as_written(dtype)) == sql


def test_nested_maps_are_also_converted():
    found = comparable_sql("c", as_written("struct<m:array<map<int,map<int,int>>>>"))
    assert found.count("map_entries") == 2 and found.startswith("if(c is null, null, named_struct('m', transform(c.`m`")


def test_fields_whose_names_differ_only_in_case_are_all_compared():
    found = comparable_sql("c", as_written("STRUCT<a: MAP<STRING, INT>, A: variant>"))
    assert "'a', array_sort(transform(map_entries(c.`a`)" in found and "'A', to_json(c.`A`)" in found

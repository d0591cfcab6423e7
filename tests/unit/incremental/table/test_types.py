"""Iceberg's types: whether they contain floats, and whether Spark can group by them."""

from __future__ import annotations

import pytest

from iceberg_incremental.table.types import has_floats, has_maps, is_comparable
from tests.unit.incremental.histories import array, fields, mapping


@pytest.mark.parametrize(
    ("type_", "floats", "comparable"),
    [
        ("int", False, True),
        ("float", True, True),
        (array(fields((5, "d", "double"))), True, True),
        (fields((5, "float", "string"), (6, "variant", "string")), False, True),
        (mapping("string", "variant"), False, False),
        ("geometry(srid:4326)", False, False),
        ("array<struct<d:double>>", True, True),  # in Spark's notation
        ("map<string,int>", False, False),
        ("variant", False, False),
    ],
)
def test_whether_a_type_contains_floats_and_is_comparable(type_, floats, comparable):
    assert (has_floats(type_), is_comparable(type_)) == (floats, comparable)


@pytest.mark.parametrize(
    ("type_", "maps"),
    [
        ("string", False),
        (mapping("string", "int"), True),
        (array(fields((5, "m", mapping("string", "int")))), True),
        (fields((5, "n", array("int"))), False),
    ],
)
def test_maps_within_a_type(type_, maps):
    assert has_maps(type_) is maps

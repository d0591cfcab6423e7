"""Which types compare alike. ``test_key_types.py`` proves with Spark's casts that exactly these types do."""

from __future__ import annotations

import pytest

from iceberg_incremental.table.types import Trait, compares_alike, is_collated, traits

ALIKE = [
    ("int", "bigint"),
    ("tinyint", "decimal(3,0)"),
    ("bigint", "decimal(5)"),
    ("decimal(10,2)", "DECIMAL(12, 2)"),
    ("varchar(3)", "string"),
    ("timestamp_ltz", "timestamp"),
    ("void", "date"),
    ("struct<a:int,b:array<string>>", "struct<A:bigint,B:array<char(2)>>"),
    ("string collate UTF8_LCASE", "string collate utf8_lcase"),
]
NOT_ALIKE = [
    ("string", "int"),
    ("string", "decimal(10,2)"),
    ("string", "double"),
    ("string", "date"),
    ("string", "boolean"),
    ("string", "binary"),
    ("string", "string collate UTF8_LCASE"),
    ("string collate UNICODE", "string collate UTF8_LCASE"),
    ("float", "double"),
    ("int", "float"),
    ("int", "double"),
    ("int", "boolean"),
    ("int", "decimal(12,2)"),
    ("decimal(10,2)", "decimal(12,4)"),
    ("decimal(10,2)", "double"),
    ("date", "timestamp"),
    ("date", "timestamp_ntz"),
    ("timestamp", "timestamp_ntz"),
    ("timestamp", "bigint"),
    ("interval day", "interval month"),
    ("struct<a:int>", "struct<b:int>"),
    ("struct<a:int>", "struct<a:int,b:int>"),
    ("struct<a:float>", "struct<a:double>"),
    ("array<int>", "int"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_types_that_differ_only_in_size_compare_alike(one: str, other: str) -> None:
    assert compares_alike(one, other)
    assert compares_alike(other, one)


@pytest.mark.parametrize(("one", "other"), NOT_ALIKE)
def test_types_with_lossy_conversions_do_not_compare_alike(one: str, other: str) -> None:
    assert not compares_alike(one, other)
    assert not compares_alike(other, one)


def test_types_with_a_collation() -> None:
    assert is_collated("string collate UTF8_LCASE")
    assert is_collated("struct<a:int,b:array<string collate UNICODE_CI>>")
    assert not is_collated("struct<a:string,collate:string>")


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("bigint", Trait.EXACT | Trait.BOUNDED | Trait.NUMBER | Trait.SUMMED),
        ("Decimal(10, 2)", Trait.EXACT | Trait.BOUNDED | Trait.NUMBER | Trait.SUMMED),
        ("boolean", Trait.EXACT | Trait.BOUNDED | Trait.NUMBER),
        ("timestamp_ltz", Trait.EXACT | Trait.BOUNDED),
        ("string", Trait.EXACT | Trait.BOUNDED),
        ("binary", Trait.EXACT),
        ("double", Trait.NUMBER),
        ("array<struct<double: int, b: string>>", Trait.EXACT),
        ("struct<a: int, b: array<float>>", Trait.NONE),
        ("map<string,int>", Trait.NONE),
        ("string collate UTF8_LCASE", Trait.NONE),
        ("interval day to second", Trait.NONE),
        ("variant", Trait.NONE),
        ("void", Trait.NONE),
    ],
)
def test_what_is_true_of_the_values_of_a_type(type_, expected):
    assert traits(type_) is expected

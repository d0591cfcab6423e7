"""Which types can represent all values of another type."""

from __future__ import annotations

import pytest

from iceberg_incremental.write.columns.table_columns import fits, promotes, same_type

SAME = [
    ("int", "INTEGER"),
    ("smallint", "int"),
    ("varchar(3)", "string"),
    ("decimal(10,2)", "decimal(10, 2)"),
    ("struct<a:int,b:array<map<string,double>>>", "struct<A:int,B:array<map<string,double>>>"),
    ("geometry(4326)", "geometry(4326)"),
]
WIDER = [
    ("void", "date"),
    ("int", "bigint"),
    ("int", "double"),
    ("float", "double"),
    ("bigint", "decimal(19,0)"),
    ("int", "decimal(12,2)"),
    ("decimal(10,2)", "decimal(12,3)"),
    ("date", "timestamp"),
    ("date", "timestamp_ntz"),
    ("bigint", "string"),
    ("timestamp_ntz", "string"),
    ("array<int>", "array<bigint>"),
    ("struct<a:float,b:string>", "struct<a:double,b:string>"),
]
LOSSY = [
    ("bigint", "int"),
    ("double", "float"),
    ("int", "float"),
    ("bigint", "double"),
    ("double", "int"),
    ("double", "decimal(38,10)"),
    ("decimal(30,20)", "double"),
    ("decimal(10,3)", "decimal(10,2)"),
    ("decimal(10,2)", "decimal(4,2)"),
    ("bigint", "decimal(18,0)"),
    ("decimal(10,2)", "int"),
    ("timestamp", "date"),
    ("timestamp_ntz", "date"),
    ("timestamp", "timestamp_ntz"),
    ("timestamp_ntz", "timestamp"),
    ("timestamp", "string"),
    ("binary", "string"),
    ("string", "int"),
    ("struct<b:int,a:int>", "struct<a:int,b:int>"),
    ("struct<a:int,c:int>", "struct<a:int,b:int>"),
    ("struct<a:int>", "struct<a:int,b:int>"),
    ("struct<a:int,b:int>", "struct<a:int>"),
    ("array<double>", "array<float>"),
    ("map<string,struct<b:int,a:int>>", "map<string,struct<a:int,b:int>>"),
    ("array<int>", "int"),
    ("array<int>", "map<int,int>"),
    ("struct<a b:int,c,d:int>", "struct<a b:int,c:int>"),
]


@pytest.mark.parametrize(("given", "target"), SAME)
def test_the_same_type_with_another_spelling(given: str, target: str) -> None:
    assert same_type(given, target)
    assert fits(given, target)


@pytest.mark.parametrize(("given", "target"), WIDER)
def test_a_type_that_represents_all_values_of_another(given: str, target: str) -> None:
    assert fits(given, target)
    assert not same_type(given, target)


@pytest.mark.parametrize(("given", "target"), LOSSY)
def test_a_type_that_would_lose_values(given: str, target: str) -> None:
    assert not fits(given, target)
    assert not same_type(given, target)


def test_type_promotions_of_iceberg() -> None:
    promoted = [("int", "bigint"), ("float", "double"), ("decimal(10,2)", "decimal(12,2)")]
    assert all(promotes(*pair) and not promotes(*reversed(pair)) for pair in promoted)
    assert not any(promotes(*pair) for pair in [("decimal(10,2)", "decimal(12,3)"), ("int", "double"), ("date", "int")])

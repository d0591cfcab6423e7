from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergColumn as Column


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        *((t, "integer") for t in ("tinyint", "smallint", "int", "INTEGER", "bigint")),
        *((t, "float") for t in ("float", "double")),
        *((t, "numeric") for t in ("decimal(10,2)", "decimal", "DECIMAL(38, 0)")),
        *((t, "string") for t in ("string", "varchar(10)", "char(3)")),
        *((t, None) for t in ("date", "timestamp", "boolean", "binary", "array<int>", "struct<a:string>")),
    ],
)
def test_kinds_of_types(dtype, kind):
    column = Column("c", dtype)
    found = {
        "integer": column.is_integer(),
        "float": column.is_float(),
        "numeric": column.is_numeric(),
        "string": column.is_string(),
    }
    assert [name for name, yes in found.items() if yes] == ([kind] if kind else [])
    assert column.is_number() == (kind in ("integer", "float", "numeric"))


@pytest.mark.parametrize(("name", "quoted"), [("a", "`a`"), ("a b", "`a b`"), ("a`b", "`a``b`")])
def test_a_name_is_quoted(name, quoted):
    assert Column(name, "int").quoted == quoted


@pytest.mark.parametrize(
    ("own", "other", "expands"),
    [
        ("varchar(5)", "varchar(10)", True),
        ("varchar(10)", "varchar(5)", False),
        ("varchar(5)", "string", True),
        ("string", "varchar(5)", False),
        ("string", "string", False),
        ("int", "bigint", False),
    ],
)
def test_only_longer_strings_expand_a_column(own, other, expands):
    assert Column("c", own).can_expand_to(Column("c", other)) is expands


def test_types_are_those_of_spark_sql():
    assert Column("c", "decimal(10,2)").data_type == "decimal(10,2)"
    assert Column.string_type(10) == "varchar(10)"
    assert Column("c", Column.string_type(Column("c", "string").string_size())).data_type == "string"

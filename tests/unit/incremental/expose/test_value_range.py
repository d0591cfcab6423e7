"""The range of a column's values, from metadata or from a query."""

from __future__ import annotations

import pytest
from jinja2 import Environment

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.expose.value_range import PARSED, ValueRange, from_metadata, from_query, from_row
from iceberg_incremental.sql import sql_string
from iceberg_incremental.table.files import ChangedFiles, FileDifference, TableColumn
from tests.unit.incremental.data_files import file, whole

COLUMNS = (TableColumn(1, "id", "int"), TableColumn(2, "part", "double"))
ONLY_NULLS = file(nulls={1: 10}, values={1: 10})


def changes(*files):
    return ChangedFiles(COLUMNS, COLUMNS, FileDifference((), files, ()))


def ids(low, high, nulls=0):
    return file(lower={1: whole(low)}, upper={1: whole(high)}, nulls={1: nulls}, values={1: 10})


@pytest.mark.parametrize(
    ("found", "column", "expected"),
    [
        ([changes(ids(1, 5)), changes(ids(3, 9))], "ID", ValueRange("1", "9", False, False)),
        ([changes(ids(1, 5, nulls=1), ids(7, 7))], "id", ValueRange("1", "7", False, True)),
        ([changes(ONLY_NULLS)], "id", ValueRange("cast(null as int)", "cast(null as int)", False, True)),
        ([changes(ids(1, 5), file())], "id", None),
        ([changes(ids(1, 5)), None], "id", None),
        ([ChangedFiles(COLUMNS, COLUMNS)], "id", None),
        ([changes(ids(1, 5))], "part", None),
        ([changes(ids(1, 5))], "missing", None),
        ([changes()], "id", None),
    ],
)
def test_a_range_from_metadata(found, column, expected):
    assert from_metadata(found, column) == expected


@pytest.mark.parametrize(
    ("kind", "row", "low", "high"),
    [
        ("int", ("1", "9", 3, 0), "cast('1' as int)", "cast('9' as int)"),
        ("date", ("0", "1", 3, 0), "date '1970-01-01'", "date '1970-01-02'"),
        ("double", ("0.0", "-0.0", 3, 0), "cast('-0.0' as double)", "cast('0.0' as double)"),
        ("string", (b"a".hex(), "Zü".encode().hex(), 3, 0), "'a'", "'['"),
        ("string", (b"a".hex(), "\U0010ffff".encode().hex(), 3, 0), "'a'", sql_string("\U0010ffff" * 2)),
        ("string", (b"a".hex(), "\U0010ffff\U0010ffffz".encode().hex(), 3, 0), "'a'", sql_string("\U0010ffff" * 3)),
        ("timestamp", (None, None, 3, 3), "cast(null as timestamp_ltz)", "cast(null as timestamp_ltz)"),
    ],
)
def test_a_range_from_a_query(kind, row, low, high):
    assert from_row("c", kind, row) == ValueRange(low, high, is_empty=False, has_nulls=row[3] > 0)


def test_a_range_without_rows_is_empty():
    assert from_row("c", "int", (None, None, 0, 0)).is_empty


def test_values_without_a_literal_bound_are_refused():
    with pytest.raises(ConfigError, match="NaN"):
        from_row("c", "double", ("1.0", "NaN", 2, 0))
    for beyond in (b"\xff", "\U0010ffff".encode() + b"\xff"):
        with pytest.raises(ConfigError, match="not UTF-8"):
            from_row("c", "string", (b"a".hex(), beyond.hex(), 2, 0))


def test_a_type_without_literals_is_refused_before_rows_are_read():
    sent = []

    def query(sql):
        sent.append(sql)
        return ["binary"]

    with pytest.raises(ConfigError, match="binary"):
        from_query(["t"], "c", query)
    assert len(sent) == 1 and "limit 0" in sent[0]


@pytest.mark.parametrize(
    ("asked", "meant"), [("minimum", "min"), ("maximum", "max"), ("empty", "is_empty"), ("nulls", "has_nulls")]
)
def test_the_error_of_an_unknown_attribute_lists_the_attributes(asked, meant):
    template = Environment(autoescape=False).from_string("{{ given." + asked + " }}")
    with pytest.raises(ConfigError) as caught:
        template.render(given=PARSED)
    assert "Expected: .min, .max, .is_empty, .has_nulls." in str(caught.value)
    assert f"write ip_range(…).{meant}." in str(caught.value)

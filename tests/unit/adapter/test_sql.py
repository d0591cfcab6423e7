from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from iceberg_incremental.sql import plain_name, property_value, sql_name, sql_string, sql_value, statements


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain", "'plain'"),
        ("it's", r"'it\'s'"),
        ("a\\b", r"'a\\b'"),
        ("two\nlines", r"'two\nlines'"),
        ("${spark.app.name}", r"'\u0024{spark.app.name}'"),
        ("日本 é", "'日本 é'"),
        (7, "'7'"),
    ],
)
def test_a_string_is_escaped(value, written):
    assert sql_string(value) == written


@pytest.mark.parametrize("name", ["plain", "Upper", "a b", "a.b", "a`b", "`", "``", "日本", "it's", 'say "hi"', ""])
def test_a_quoted_name_can_be_unquoted(name):
    assert plain_name(sql_name(name)) == name


def test_a_name_without_quotes_is_unchanged():
    assert plain_name("plain") == "plain"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (Decimal("1.50"), "1.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("NaN"), "NaN"),
        (Decimal("-" + "9" * 37 + ".9"), "-" + "9" * 37 + ".9"),
        (Decimal("9" * 39), "'" + "9" * 39 + "'"),
        (Decimal("1E-38"), "0." + "0" * 37 + "1"),
        (Decimal("1E-39"), "'0." + "0" * 38 + "1'"),
        (Decimal("9" * 40), "'" + "9" * 40 + "'"),
        (datetime.date(2020, 1, 2), "date '2020-01-02'"),
        (datetime.datetime(2020, 1, 2, 3, 4, 5), "timestamp '2020-01-02 03:04:05'"),  # noqa: DTZ001
        ("", "''"),
    ],
)
def test_a_value_is_written_as_a_literal(value, written):
    assert sql_value(value) == written


def test_a_value_without_a_literal_is_refused():
    with pytest.raises(TypeError, match="type object cannot be written"):
        sql_value(object())


@pytest.mark.parametrize(("value", "written"), [(True, "'true'"), (False, "'false'"), (10, "'10'"), ("a'b", r"'a\'b'")])
def test_a_property_is_written_as_iceberg_reads_it(value, written):
    assert property_value(value) == written


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" ; ;", []),
        ("set a = 1", ["set a = 1"]),
        ("set a = 1; set b = 2;", ["set a = 1", "set b = 2"]),
        ("select ';', \";\", `;`; select 2", ["select ';', \";\", `;`", "select 2"]),
        (r"select 'it\'s; so'; select 2", [r"select 'it\'s; so'", "select 2"]),
        ("select 1 -- one; two\n; select 2", ["select 1 -- one; two", "select 2"]),
        ("select /* a; b */ 1; select 2", ["select /* a; b */ 1", "select 2"]),
        ("select 'open", ["select 'open"]),
    ],
)
def test_statements_are_split_at_semicolons(text, found):
    assert statements(text) == found

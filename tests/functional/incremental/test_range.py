"""Pattern C: the bounds of a column in the changes, as parameters of a model's SQL."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.expose.value_range import from_query

COLUMNS = """
id int, d date, i int, l bigint, s string, p decimal(12,3), t timestamp, n timestamp_ntz, x double, b boolean,
u string
"""
PROBE = """
{% set r = ip_range(source('raw', 'facts'), var('column')) %}
select id, cast({{ r.min }} as string) as low, cast({{ r.max }} as string) as high,
    {{ r.is_empty }} as is_empty, {{ r.has_nulls }} as has_nulls
from {{ ip_as_of(source('raw', 'facts')) }}
"""
LONG = "z" * 40


def fact(id_: int, day: int, **values: str) -> str:
    row = {
        "d": f"date'2026-03-{day:02}'",
        "i": str(day),
        "l": str(day * 10**12),
        "s": f"'s{day:02}'",
        "p": f"{day}.125",
        "t": f"timestamp'2026-03-{day:02} 01:30:00+01:00'",
        "n": f"timestamp_ntz'2026-03-{day:02} 01:30:00'",
        "x": f"{day}.5D",
        "b": "true",
        "u": f"'{day:02}{LONG}'",
        **values,
    }
    return f"({id_}, {', '.join(row.values())})"


@pytest.fixture
def facts(shop):
    table = shop.source("facts", COLUMNS, "tblproperties('write.metadata.metrics.column.l'='none')")
    shop.insert(table, fact(1, 1), fact(2, 2))
    return table


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("d", "2026-03-05", "2026-03-09"),
        ("I", "5", "9"),
        ("l", "5000000000000", "9000000000000"),  # without metrics, a query over the changes computes the bounds
        ("s", "s05", "s09"),
        ("p", "5.125", "9.125"),
        ("t", "2026-03-05 00:30:00", "2026-03-09 00:30:00"),
        ("n", "2026-03-05 01:30:00", "2026-03-09 01:30:00"),
        ("x", "5.5", "9.5"),
        ("b", "true", "true"),
    ],
)
def test_types(shop, facts, column, low, high):
    shop.model("probe", PROBE, incremental_strategy="merge", unique_key="id")
    variables = ["--vars", f"{{column: {column}}}"]
    shop.run(*variables)
    shop.insert(facts, fact(3, 5), fact(4, 9))
    shop.insert(facts, fact(5, 7))
    shop.run(*variables)
    shop.sql("set time zone 'UTC'")
    found = set(shop.sql(f"select low, high, is_empty, has_nulls from {shop.built('probe')}"))
    shop.sql("reset `spark.sql.session.timeZone`")
    assert found == {(low, high, False, False)}


WINDOW = """
{% set days = ip_range([source('raw', 'facts'), source('raw', 'ads')], 'd') %}
select f.d, count(*) as facts, count(distinct a.ad) as ads
from {{ ip_as_of(source('raw', 'facts')) }} f
left join {{ ip_as_of(source('raw', 'ads')) }} a on a.d = f.d
where f.d between {{ days.min }} and {{ days.max }}
group by f.d
"""


@pytest.mark.core
def test_a_join_over_the_days_in_which_either_side_changed(shop, facts):
    ads = shop.source("ads", "ad int, d date")
    shop.insert(ads, "(1, date'2026-03-01')", "(2, date'2026-03-02')")
    shop.model("per_day", WINDOW, incremental_strategy="insert_overwrite", partition_by="d")

    def assert_rebuilt():
        expected = (
            f"(select f.d, count(*), count(distinct a.ad) from {facts} f left join {ads} a using (d) group by f.d)"
        )
        assert shop.rows(shop.built("per_day")) == shop.rows(expected)

    shop.run()
    assert_rebuilt()
    files = dict(shop.sql(f"select d, _file from {shop.built('per_day')}"))
    shop.insert(facts, fact(3, 2), fact(4, 4))
    shop.insert(ads, "(3, date'2026-03-03')")
    found = shop.run()
    assert "between date '2026-03-02' and date '2026-03-04'" in shop.compiled("per_day")
    assert_rebuilt()
    now = dict(shop.sql(f"select d, _file from {shop.built('per_day')}"))
    assert [day for day in files if files[day] == now[day]] == [min(files)]
    shop.sql(f"update {facts} set d = date'2026-03-01' where id = 4")  # from one day to another
    shop.run()
    assert "between date '2026-03-01' and date '2026-03-04'" in shop.compiled("per_day")
    found = shop.run()
    assert found.action("per_day") == "nothing"


def test_nulls_and_long_strings(shop, facts):
    shop.model("probe", PROBE, incremental_strategy="merge", unique_key="id")
    shop.run("--vars", "{column: u}")
    shop.insert(facts, fact(3, 5, d="null"), fact(4, 9, d="null"))
    shop.run("--vars", "{column: u}")
    low, high = shop.sql(f"select distinct low, high from {shop.built('probe')}")[0]
    assert low <= f"05{LONG}"
    assert high >= f"09{LONG}"  # writers truncate it, so the bound is not a value
    shop.insert(facts, fact(5, 5, d="null"))
    shop.run("--vars", "{column: d}")
    found = set(shop.sql(f"select low, high, is_empty, has_nulls from {shop.built('probe')}"))
    assert found == {(None, None, False, True)}


def test_deletes_alone_have_a_range_too(shop, facts):
    shop.model("probe", PROBE, incremental_strategy="merge", unique_key="id")
    shop.run("--vars", "{column: i}")
    shop.sql(f"delete from {facts} where id = 2")
    shop.run("--vars", "{column: i}")
    low, high = shop.sql(f"select low, high from {shop.built('probe')} where id = 1")[0]
    assert int(low) <= 2 <= int(high)


def test_bad_arguments(shop, facts):
    shop.model("probe", PROBE, incremental_strategy="merge", unique_key="id")
    assert "Expected: columns of" in shop.fails("--vars", "{column: nope}")
    assert "instead of columns" in shop.fails("--vars", "{column: 3}")
    shop.model("probe", PROBE.replace("source('raw', 'facts'), var", "[], var"), incremental_strategy="append")
    assert "expects a relation" in shop.fails("--vars", "{column: d}")


def test_under_empty_and_sample_the_relation_as_given_is_asked(shop, facts):
    shop.model("probe", PROBE, incremental_strategy="merge", unique_key="id")
    shop.run("--empty", "--vars", "{column: d}")
    assert "cast(null as date)" in shop.compiled("probe")


@contextmanager
def settings(shop, **values):
    """Settings of the session. Two underscores stand for each dot."""
    names = {f"spark.sql.{name.replace('__', '.')}": value for name, value in values.items()}
    for name, value in names.items():
        shop.sql(f"set {name} = {value}")
    try:
        yield
    finally:
        for name in names:
            shop.sql(f"reset {name}")


def queried(shop, table, column):
    return from_query([table], column, lambda sql: shop.sql(sql)[0])


UNUSUAL = {
    "t": ["timestamp'2026-10-25 00:30:00Z'", "timestamp'2026-10-25 01:30:00Z'"],  # 2:30 twice, when clocks go back
    "far": ["timestamp_micros(317336832000123456)", "timestamp'-0044-03-15 12:00:00.000001Z'"],
    "n": [
        "timestamp_ntz'2026-10-25 02:30:00.123456'",
        "timestampadd(DAY, 4000000, timestamp_ntz'1970-01-01 00:00:00')",
    ],
    "d": ["date_from_unix_date(4000000)", "date'-0044-03-15'"],
    "x": ["double('-Infinity')", "double('Infinity')", "null"],
    "zero": ["double('-0.0')", "0.0D"],
    "z": ["float('0.0')", "float('-0.0')"],
    "p": ["cast('-99999999999999999999999999999999.999999' as decimal(38,6))", "cast(1 as decimal(38,6))"],
    "s": ["'it''s ${x} \\\\ \\n'", "''", "'NaN'"],
}


@pytest.mark.parametrize(
    "given",
    [{}, {"timestampType": "TIMESTAMP_NTZ"}, {"legacy__timeParserPolicy": "LEGACY"}],
    ids=lambda given: "-".join(given) or "default",
)
def test_every_value_lies_in_the_range_that_a_query_finds(shop, given):
    """One file per value, so that Iceberg also prunes with the literals."""
    with settings(shop, session__timeZone="Europe/Amsterdam", **given):
        for column, values in UNUSUAL.items():
            table = shop.raw(f"only_{column}")
            shop.sql(f"create or replace table {table} as select {values[0]} as {column}")
            for value in values[1:]:
                shop.insert(table, f"({value})")
            found = queried(shop, table, column)
            inside = f"select count(*) from {table} where {column} between {found.min} and {found.max}"
            assert shop.sql(inside) == [(len(values) - values.count("null"),)], (column, found)
            assert found.has_nulls is ("null" in values)


def test_a_range_with_nan_is_refused(shop):
    facts = shop.source("facts", "id int, x double")
    shop.model("probe", PROBE, incremental_strategy="merge", unique_key="id")
    shop.insert(facts, "(1, 1.5D)")
    shop.run("--vars", "{column: x}")
    shop.insert(facts, "(2, double('NaN'))")
    message = shop.fails("--vars", "{column: x}")
    assert "with x, which is NaN in a changed row" in message and "nanvl(x, null)" in message


def test_a_range_of_a_type_without_literals_is_refused(shop):
    table = shop.source("maps", "m map<int,int>")
    with pytest.raises(ConfigError, match="whose type is map<int,int>"):
        queried(shop, table, "m")

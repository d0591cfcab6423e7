"""Columns and types that differ between a model's SQL and its table: exact values, or one error that names them."""

from __future__ import annotations

from collections import Counter

import pytest
import yaml

from .shop import FILLS_IN_COLUMNS

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
LOG = "select * from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}"
PLAIN = "select * from {{ source('raw', 'events') }}"
MERGED = {"incremental_strategy": "merge", "unique_key": "id"}
STRATEGIES = {
    "append": (CHANGES, {}),
    "merge": (CHANGES, MERGED),
    "merge-statement": (CHANGES, {**MERGED, "merge_exclude_columns": "w"}),
    "insert_overwrite": (CHANGES, {"incremental_strategy": "insert_overwrite", "partition_by": "id"}),
    "apply_changes": (LOG, {"incremental_strategy": "apply_changes", "unique_key": "id"}),
    "incremental": (PLAIN, {"materialized": "incremental"}),
    "incremental-merge": (PLAIN, {"materialized": "incremental", **MERGED}),
}
ALL = pytest.mark.parametrize("strategy", STRATEGIES)


def built_once(shop, strategy, columns="id int, v string, w string", row="(1, 'a', 'b')"):
    """Build a model from one row, and add another row to its source."""
    events = shop.source("events", columns)
    sql, config = STRATEGIES[strategy]
    shop.model("staged", sql, **config)
    shop.insert(events, row)
    shop.run()
    return events


@pytest.mark.core("append")
@ALL
def test_a_column_that_the_source_renamed_is_an_error_and_not_null(shop, strategy):
    events = built_once(shop, strategy)
    staged = shop.built("staged")
    before = shop.head(staged)
    shop.sql(f"alter table {events} rename column v to vv")
    shop.insert(events, "(2, 'x', 'y')")
    message = shop.fails()
    assert "no v. The SQL returns vv" in message and "(was v renamed to vv?)." in message
    assert (shop.head(staged), shop.branches(staged)) == (before, {"main"})
    rename = message.split("also rename it in the table: ", 1)[1].split("\n")[0]
    shop.sql(rename)
    shop.run()
    assert (2, "x") in shop.rows(staged, "id, vv")


@FILLS_IN_COLUMNS
def test_the_fixes_for_a_removed_column(shop):
    events = built_once(shop, "append")
    staged = shop.built("staged")
    shop.sql(f"alter table {events} drop column v")
    shop.insert(events, "(2, 'y')")
    assert "no v." in shop.fails()
    shop.model("staged", CHANGES, on_schema_change="append_new_columns")
    shop.run()
    assert shop.rows(staged, "id, v, w") == Counter([(1, "a", "b"), (2, None, "y")])


def test_a_column_that_is_only_added_is_ignored_and_logged(shop):
    events = built_once(shop, "append")
    shop.sql(f"alter table {events} add column x string first")
    shop.insert(events, "('new', 2, 'c', 'd')")
    found = shop.run()
    assert found.printed.count("returns x, which") == 1
    assert shop.rows(shop.built("staged")) == Counter([(1, "a", "b"), (2, "c", "d")])


@pytest.mark.thorough
@ALL
def test_a_double_is_not_rounded_to_the_float_of_the_table(shop, strategy):
    events = built_once(shop, strategy, "id int, v float, w string", "(1, 0.5, 'b')")
    staged = shop.built("staged")
    before = shop.head(staged)
    shop.sql(f"alter table {events} alter column v type double")
    shop.insert(events, "(2, 0.1, 'y')")
    message = shop.fails()
    assert "v is double in the model and float in the table" in message and "sync_all_columns" in message
    assert shop.head(staged) == before
    sql, config = STRATEGIES[strategy]
    shop.model("staged", sql, **config, on_schema_change="sync_all_columns")
    shop.run()
    assert (2, 0.1) in shop.rows(staged, "id, v")


@pytest.mark.parametrize(
    ("kept", "given"),
    [
        ("int", "cast(v as bigint)"),
        ("int", "v + 0.5D"),
        ("decimal(10,2)", "cast(v as decimal(12,3)) / 3"),
        ("date", "timestamp'2026-01-01 10:00:00'"),
        ("struct<a:int,b:int>", "named_struct('b', 1, 'a', 2)"),
        ("struct<a:int,b:int>", "named_struct('a', 1, 'c', 2)"),
    ],
    ids=["overflow", "cut", "rounded", "time-of-day", "swapped-fields", "renamed-field"],
)
def test_values_that_spark_would_change_or_refuse(shop, kept, given):
    events = shop.source("events", "id int, v int")
    shop.model("staged", f"select id, cast(null as {kept}) as v from {{{{ ip_changes(source('raw', 'events')) }}}}")
    shop.insert(events, "(1, 1)")
    shop.run()
    shop.insert(events, "(2, 2)")
    shop.model("staged", f"select id, {given} as v from {{{{ ip_changes(source('raw', 'events')) }}}}")
    message = shop.fails()
    assert "do not fit the values of model.shop.staged" in message and f"{kept} in the table" in message
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,)])


def test_fields_that_the_table_lacks_are_added_by_the_statement_of_the_error(shop):
    events = shop.source("events", "id int, s struct<a: int, inner: array<struct<b: int>>>")
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, named_struct('a', 1, 'inner', array(named_struct('b', 1))))")
    shop.run()
    shop.insert(events, "(2, named_struct('a', 2, 'inner', array(named_struct('b', 2))))")
    shop.model(
        "staged",
        """
        select id, named_struct('new', 0, 'a', s.a, 'inner', transform(s.inner, x -> named_struct('b', x.b, 'c', '?')))
        as s from {{ ip_changes(source('raw', 'events')) }}
        """,
    )
    message = shop.fails()
    assert "cannot change" not in message and "do not fit the values" in message
    shop.sql(message.split("NULL in existing rows: ")[1].split("\n")[0])
    shop.run()
    assert [str(row[0]) for row in shop.sql(f"select string(s) from {shop.built('staged')} order by id")] == [
        "{null, 1, [{1, null}]}",
        "{0, 2, [{2, ?}]}",
    ]


@pytest.mark.core
def test_narrower_types_and_other_cases_and_orders_of_names_are_taken(shop):
    events = shop.source("events", "id bigint, v double, s struct<a:bigint,b:string>")
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, 0.5, named_struct('a', 1, 'b', 'x'))")
    shop.run()
    shop.insert(events, "(2, 1.5, named_struct('a', 2, 'b', 'y'))")
    shop.model(
        "staged",
        """
        select named_struct('A', cast(s.a as int), 'B', s.b) as S, cast(v as float) as V, cast(id as smallint) as ID
        from {{ ip_changes(source('raw', 'events')) }}
        """,
    )
    shop.run()
    assert shop.rows(shop.built("staged"), "id, v, s.a, s.b") == Counter([(1, 0.5, 1, "x"), (2, 1.5, 2, "y")])


def test_columns_out_of_sync_are_an_error_with_their_names(shop):
    built_once(shop, "append")
    shop.insert(shop.raw("events"), "(2, 'x', 'y')")
    shop.model(
        "staged",
        "select id, v, 1 as n from {{ ip_changes(source('raw', 'events')) }}",
        on_schema_change="fail",
    )
    message = shop.fails()
    assert "not in the table: n; not in the model's SQL: w." in message and "SparkIcebergColumn" not in message


def test_the_last_field_of_a_wide_struct_is_compared_too(shop):
    """DESCRIBE shows the first 25 fields only."""
    shop.source("events", "id int")
    fields = [f"'f{n}', {n}" for n in range(40)]
    sql = "select id, named_struct({}) as s from {{{{ ip_changes(source('raw', 'events')) }}}}"
    shop.model("staged", sql.format(", ".join(fields)))
    shop.insert(shop.raw("events"), "(1)")
    shop.run()
    shop.insert(shop.raw("events"), "(2)")
    shop.run()
    assert shop.rows(shop.built("staged"), "id, s.f39") == Counter([(1, 39), (2, 39)])
    shop.insert(shop.raw("events"), "(3)")
    shop.model("staged", sql.format(", ".join([*fields[:38], fields[39], fields[38]])))
    assert "f39:int,f38:int> in the model" in shop.fails()


@pytest.mark.parametrize("macro", ["ip_changed_groups", "ip_range"])
def test_a_name_that_two_columns_have_in_different_cases_is_refused(shop, embedded_target, macro):
    """With spark.sql.caseSensitive, a table can have both columns. The bounds of one do not apply to the other."""
    settings = {**embedded_target["server_side_parameters"], "spark.sql.caseSensitive": "true"}
    profile = {**embedded_target, "server_side_parameters": settings, "schema": shop.schema}
    shop.write("profiles.yml", yaml.safe_dump({"shop": {"target": "dev", "outputs": {"dev": profile}}}))
    sql = {
        "ip_changed_groups": "select a, sum(`A`) as total"
        " from {{ ip_changed_groups(source('raw', 'events'), 'a') }} group by a",
        "ip_range": "{% set r = ip_range(source('raw', 'events'), 'a') %}"
        "select a, `A` as total from {{ ip_as_of(source('raw', 'events')) }}"
        " where a between {{ r.min }} and {{ r.max }}",
    }[macro]
    shop.model("totals", sql, incremental_strategy="merge", unique_key="a")
    shop.declare("events")
    shop.sql("set spark.sql.caseSensitive = true")
    try:
        table = shop.raw("events")
        shop.sql(f"create table {table} (a int, `A` int) using iceberg")
        shop.insert(table, "(1, 500)", "(2, 600)")
        if macro == "ip_changed_groups":
            shop.run()
        shop.insert(table, "(1, 700)")
        message = shop.fails()
    finally:
        shop.sql("reset spark.sql.caseSensitive")
    assert "a, A in" in message and "differ only in case" in message and "spark.sql.caseSensitive" in message


def test_a_column_that_hides_iceberg_s_metadata_column_is_refused_where_that_is_needed(shop):
    """Iceberg refuses a column _file, but not in another case. Spark takes that column for Iceberg's own."""
    events = shop.source("events", "id int, `_FILE` string")
    config = {"incremental_strategy": "apply_changes", "unique_key": "id"}
    shop.model("mirror", "select * from {{ ip_changelog(source('raw', 'events'), 'id') }}", **config)
    shop.model(
        "latest",
        "select * from {{ ip_changes(source('raw', 'events')) }}",
        incremental_strategy="merge",
        unique_key="id",
    )
    shop.model("all", "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.insert(events, "(1, 'a')")
    found = shop.dbt("run").nodes
    for name in ("latest", "mirror"):
        assert "Found: _FILE" in found[name].message and "metadata columns" in found[name].message
    assert found["all"].status == "success"
    shop.model("mirror", "select * except (_file) from {{ ip_changelog(source('raw', 'events'), 'id') }}", **config)
    shop.run("--select", "mirror")
    shop.sql(f"insert overwrite {events} values (2, 'c')")
    message = shop.fails("--select", "mirror")
    assert "metadata columns: _FILE" in message


@pytest.mark.core
def test_a_not_null_column_of_a_contract_is_so_in_the_table(shop):
    """Iceberg's API sets NOT NULL if Spark's driver is in dbt's process. On a server, only the query rejects NULLs."""
    events = shop.source("events")
    shop.model("m", "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.write(
        "models/m.yml",
        """
        models:
          - name: m
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: int, constraints: [{type: not_null}]}
              - {name: v, data_type: string}
        """,
    )
    for row in ("(1, 'a')", "(2, null)"):
        shop.insert(events, row)
        shop.run()
        assert [field.nullable for field in shop.session.table(shop.built("m")).schema.fields] == [False, True]

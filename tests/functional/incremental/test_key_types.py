"""Types of the columns with which rows are compared. Spark's casts prove which may differ; all others are errors."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest
from pyspark.errors import AnalysisException

from iceberg_incremental.table.types import compares_alike
from iceberg_incremental.write.columns.table_columns import fits

_RANDOM = random.Random(22)


def _integers(digits: int) -> list[str]:
    """Whole numbers as SQL with up to this many digits, and the limits of smaller types."""
    ends = [0, 1, 2, 9, 10, 127, 128, 32767, 32768, 16777217, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1]
    drawn = [_RANDOM.randrange(10 ** _RANDOM.randint(1, digits)) for _ in range(40)]
    listed = sorted({sign * number for number in (*ends, *drawn) for sign in (1, -1)})
    return [str(number) for number in listed if len(str(abs(number))) <= digits]


def _decimals(precision: int, scale: int) -> list[str]:
    units = _integers(precision)
    return [f"{unit}e-{scale}" for unit in units] + [f"{unit}e0" for unit in units if len(unit) <= precision - scale]


def _floats() -> list[str]:
    drawn = [repr(_RANDOM.uniform(-1, 1) * 10 ** _RANDOM.randint(-5, 20)) for _ in range(40)]
    return ["0.1", "0.5", "-0.0", "0.0", "1", "16777217", "1e30", "NaN", "Infinity", "-Infinity", *drawn]


def _times() -> list[str]:
    """Local times, including those of the changes to and from daylight saving time in New York."""
    days = ["2026-03-08", "2026-11-01", "1969-12-31", "2026-01-01", "0001-01-01"]
    drawn = [f"{_RANDOM.randint(1, 23):02}:{_RANDOM.randint(0, 59):02}:{_RANDOM.random() * 59:09.6f}" for _ in days]
    return [f"{day} {time}" for day in days for time in ("00:00:00", "01:30:00", "02:30:00", "23:59:59.999999", *drawn)]


TEXTS = ["a", "A", "b", "1", "01", "1.0", "1.00", "+1", " 1", "9", "10", "true", "t", "2026-01-01", "2026-1-1", "", "é"]
VALUES: dict[str, list[str]] = {
    "tinyint": _integers(3),
    "smallint": _integers(5),
    "int": _integers(10),
    "bigint": _integers(19),
    "decimal(5,0)": _integers(5),
    "decimal(25,0)": _integers(25),
    "decimal(10,2)": _decimals(10, 2),
    "decimal(20,2)": _decimals(20, 2),
    "decimal(12,4)": _decimals(12, 4),
    "float": _floats(),
    "double": _floats(),
    "string": TEXTS,
    "string collate UTF8_LCASE": TEXTS,
    "binary": TEXTS,
    "boolean": ["true", "false"],
    "date": ["2026-01-01", "2026-03-08", "2026-11-01", "1969-12-31", "0001-01-01"],
    "timestamp": [*_times(), "2026-11-01 01:30:00 EST", "2026-11-01 01:30:00 EDT"],
    "timestamp_ntz": _times(),
}
"""Values of each type that Spark compares and Iceberg stores, as text that casts to the type."""

BY_DECLARATION = {frozenset({"string", "binary"})}
"""Types whose values all convert exactly, but that do not count as alike, since no Iceberg column accepts both."""


def _castable(session, given: str) -> list[str]:
    """The types to which Spark can cast a type."""
    found = []
    for target in VALUES:
        try:
            session.sql(f"select try_cast(cast(null as {given}) as {target})")
        except AnalysisException as error:
            if "DATATYPE_MISMATCH" not in str(error):
                raise
        else:
            found.append(target)
    return found


def _keeping(session, given: str) -> set[str]:
    """The types in which values of a type keep order and equality, and from which they convert back unchanged.

    Values that are too large for the other type do not count, since an INSERT of them fails.
    """
    columns = []
    for target in _castable(session, given):
        cast = f"try_cast(v as {target})"
        places = (f"rank() over (partition by {cast} is null order by {each})" for each in ("v", cast))
        kept = f"try_cast({cast} as {given}) <=> v and {' = '.join(places)}"
        columns.append(f"if({cast} is null, null, {kept}) as `{target}`")
    values = ", ".join(f"try_cast('{text}' as {given})" for text in VALUES[given])
    kept = session.sql(f"select {', '.join(columns)} from (select explode(array({values})) as v) where v is not null")
    (row,) = kept.selectExpr(*(f"every(`{target}`)" for target in kept.columns)).collect()
    return {target for target, every in zip(kept.columns, row, strict=True) if every}


def test_types_compare_alike_where_spark_s_casts_keep_all_comparisons_both_ways(outside):
    """In both directions: an edit can change the type that a model's SQL returns either way."""
    session = outside.session.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.codegen.wholeStage", "false")  # compilation takes longer than the queries
    kept = {given: _keeping(session, given) for given in VALUES}
    pairs = [pair for pair in combinations(VALUES, 2) if frozenset(pair) not in BY_DECLARATION]
    proven = {(one, other) for one, other in pairs if other in kept[one] and one in kept[other]}
    assert proven == {pair for pair in pairs if compares_alike(*pair)}
    assert {("int", "bigint"), ("bigint", "decimal(25,0)"), ("decimal(10,2)", "decimal(20,2)")} <= proven


def test_types_that_are_not_alike_by_declaration_do_not_fit_each_other():
    for one, other in BY_DECLARATION:
        assert not compares_alike(one, other) and not fits(one, other) and not fits(other, one)


ROWS = "select {} from {{{{ ip_changes(source('raw', 'events')) }}}}"
LOG = "select {}, 'UPDATE_AFTER' as _change_type from {{{{ ip_changes(source('raw', 'events')) }}}}"
PLAIN = "select {} from {{{{ source('raw', 'events') }}}}"
PYTHON = """
def model(dbt, session):
    dbt.config(materialized="iceberg_incremental_snapshot", incremental_strategy="merge", unique_key="k")
    return dbt.ip_changes(dbt.source("raw", "events")).selectExpr({!r}, "at")
"""
IGNORE, APPEND, SYNC = (
    {"on_schema_change": f"{name}"} for name in ("ignore", "append_new_columns", "sync_all_columns")
)
MERGE = {"incremental_strategy": "merge", "unique_key": "k"}
APPLY = {"incremental_strategy": "apply_changes", "unique_key": "k"}
NEWEST = {**MERGE, "sequence_by": "at"}
OVERWRITE = {"incremental_strategy": "insert_overwrite"}
INCREMENTAL = {"materialized": "incremental"}
EDITS = {
    "newest": (ROWS, {**NEWEST, **IGNORE}, "k, string(at) as at", "k, at", "sequence_by at is int"),
    "newest_synced": (ROWS, {**NEWEST, **SYNC}, "k, string(at) as at", "k, at, 1 as more", "sequence_by at is int"),
    "newest_log": (
        LOG,
        {**APPLY, "sequence_by": "at", **APPEND},
        "k, string(at) as at",
        "k, at, 1 as more",
        "sequence_by at is int",
    ),
    "newest_day": (ROWS, NEWEST, "k, timestamp '2026-01-01 10:00:00' as at", "k, date '2026-01-02' as at", "date in"),
    "merged": (ROWS, MERGE, "string(k) as k, at", "decimal(k) as k, at", "unique_key k is decimal(10,0)"),
    "merged_double": (ROWS, MERGE, "string(k) as k, at", "double(k) as k, at", "unique_key k is double"),
    "merged_float": (ROWS, MERGE, "double(k) as k, at", "float(k) as k, at", "k is float"),
    "merged_synced": (ROWS, {**MERGE, **SYNC}, "float(k) as k, at", "double(k) as k, at, 1 as more", "k is double"),
    "merged_struct": (
        ROWS,
        MERGE,
        "named_struct('a', string(k)) as k, at",
        "named_struct('a', k) as k, at",
        "k is struct<a:int>",
    ),
    "merged_fixed": (
        ROWS,
        {**MERGE, "merge_fixed_columns": "at"},
        "k, string(at) as at",
        "k, decimal(at) as at",
        "merge_fixed_columns at",
    ),
    "applied": (LOG, APPLY, "string(k) as k, at", "cast(k as decimal(10,2)) as k, at", "unique_key k is decimal(10,2)"),
    "overwritten": (
        ROWS,
        {**OVERWRITE, "partition_by": "k"},
        "string(k) as k, at",
        "cast(k as decimal(10,2)) as k, at",
        "partition_by k is decimal(10,2)",
    ),
    "in_buckets": (
        ROWS,
        {**OVERWRITE, "partition_by": "bucket(4, k)"},
        "string(k) as k, at",
        "k, at",
        "partition_by k",
    ),
    "truncated": (ROWS, {**OVERWRITE, "partition_by": "truncate(1, k)"}, "string(k) as k, at", "k, at", "partition_by"),
    "by_day": (
        ROWS,
        {**OVERWRITE, "partition_by": "days(at)"},
        "k, timestamp '2026-01-01 10:00:00' as at",
        "k, date '2026-01-01' as at",
        "partition_by at is date",
    ),
    "plain": (PLAIN, {**INCREMENTAL, **MERGE}, "string(k) as k, at", "double(k) as k, at", "unique_key k is double"),
    "plain_synced": (
        PLAIN,
        {**INCREMENTAL, "incremental_strategy": "delete+insert", "unique_key": "k", **SYNC},
        "float(k) as k, at",
        "double(k) as k, at, 1 as more",
        "k is double",
    ),
    "plain_overwritten": (
        PLAIN,
        {**INCREMENTAL, **OVERWRITE, "partition_by": "k"},
        "string(k) as k, at",
        "k, at",
        "partition_by k is int",
    ),
}
"""The model's SQL, its configs, its columns before and after an edit, and the error."""


OFTEN = ("newest_synced", "newest_log", "merged", "merged_fixed", "overwritten", "plain_synced")


def write_models(shop, names, edited):
    for name in names:
        sql, config, *columns, _ = EDITS[name]
        shop.model(name, sql.format(columns[edited]), **config)
    shop.write("models/in_python.py", PYTHON.format("double(k) as k" if edited else "string(k) as k"))


def states(shop, names):
    """All state that a refused run must not change: snapshots, refs, columns and the checkpoint of each table."""
    looks = ("select * from {}.snapshots", "select * from {}.refs", "describe {}", "show tblproperties {}")
    return {name: [shop.sql(look.format(shop.built(name))) for look in looks] for name in names}


@pytest.mark.parametrize(
    "edits", [OFTEN, pytest.param(EDITS.keys() - OFTEN, marks=pytest.mark.thorough)], ids=["often", "others"]
)
def test_edits_that_change_how_rows_compare_are_refused_before_anything_is_written(shop, edits):
    events = shop.source("events", "k int, at int")
    names = [*edits, "in_python"]
    shop.insert(events, "(1, 9)")
    write_models(shop, edits, edited=False)
    shop.run()
    before = states(shop, names)
    shop.insert(events, "(2, 10)")
    write_models(shop, edits, edited=True)
    found = shop.dbt("run")
    said = {name: found.message(name) for name in names if found.nodes[name].status == "error"}
    assert sorted(said) == sorted(names)
    for name in names:
        text = EDITS[name][-1] if name in EDITS else "unique_key k is double"
        assert text in said[name] and "--full-refresh --select" in said[name], said[name]
    assert states(shop, names) == before


@pytest.mark.core
def test_the_ways_on_from_a_key_of_another_type(shop):
    events = shop.source("events", "k int, at int")
    shop.model("newest", ROWS.format("string(k) as k, string(at) as at"), **NEWEST)
    shop.insert(events, "(1, 9)")
    shop.run()
    shop.model("newest", ROWS.format("k, at"), **NEWEST)
    shop.insert(events, "(1, 10)")
    message = shop.fails()
    assert "unique_key k is int in the model and string in the table" in message
    assert "sequence_by at is int in the model and string in the table" in message
    shop.run("--full-refresh")
    shop.insert(events, "(1, 11)")
    shop.model("newest", ROWS.format("cast(k as smallint) as k, bigint(at) as at"), **NEWEST, **SYNC)
    shop.run()
    assert shop.rows(shop.built("newest")) == Counter([(1, 11)])


def test_a_key_that_the_table_does_not_have_is_not_added_to_it(shop):
    """Old rows would have NULL in the key, so new rows would not replace them."""
    events = shop.source("events", "k int, at int")
    shop.model("merged", ROWS.format("k, at"), **MERGE)
    shop.insert(events, "(1, 9)")
    shop.run()
    before = states(shop, ["merged"])
    for policy in (IGNORE, APPEND, SYNC):
        config = {**MERGE, "unique_key": ["k", "region"], **policy}
        shop.model("merged", ROWS.format("k, 'NL' as region, at"), **config)
        shop.insert(events, "(1, 10)")
        assert "no column for unique_key region" in shop.fails()
    assert states(shop, ["merged"]) == before


def test_a_key_of_text_with_a_collation_is_refused_from_the_first_build_on(shop):
    events = shop.source("events", "k string, at int")
    shop.insert(events, "('a', 1)", "('A', 2)")
    collated = ROWS.format("k collate UTF8_LCASE as k, at")
    shop.model("newest", collated, **NEWEST)
    shop.model("groups", ROWS.format("k, at"), **MERGE)
    found = shop.dbt("run")
    assert "unique_key k of type string collate UTF8_LCASE" in found.message("newest")
    shop.insert(events, "('a', 3)")
    shop.model("groups", collated, **MERGE)
    assert "unique_key k of type string collate UTF8_LCASE" in shop.dbt("run").message("groups")
    assert shop.rows(shop.built("groups")) == Counter([("a", 1), ("A", 2)])
    shop.model("newest", ROWS.format("lower(k) as k, at"), **NEWEST)
    shop.run("--select", "newest")
    assert shop.rows(shop.built("newest")) == Counter([("a", 3)])


def test_deletions_that_were_remembered_by_another_type_are_not_compared_with(shop):
    events = shop.source("events", "k int, at int, _change_type string")
    config = {**APPLY, "sequence_by": "at"}
    shop.model("mirror", "select * from {{ ip_changes(source('raw', 'events')) }}", **config)
    shop.insert(events, "(1, 1, 'INSERT')", "(2, 9, 'DELETE')")
    shop.run()
    mirror = shop.built("mirror")
    for statement in ("drop column k", "add column k string first"):
        shop.sql(f"alter table {mirror} {statement}")
    shop.sql(f"update {mirror} set k = '01'")
    sql = "select lpad(k, 2, '0') as k, at, _change_type from {{ ip_changes(source('raw', 'events')) }}"
    shop.model("mirror", sql, **config)
    shop.insert(events, "(2, 5, 'INSERT')")
    # the table already has the new type, so the types in the checkpoint cause the refusal
    assert "column k is string in the model and int in the table" in shop.fails()


def test_a_group_s_key_of_another_type_is_refused_before_a_column_is_added(shop):
    events = shop.source("events", "k int, v int")
    sql = "select {} from {{{{ ip_changed_groups(source('raw', 'events'), 'k') }}}} group by k"
    shop.model("groups", sql.format("bigint(k) as k, sum(v) as v"), **MERGE, **APPEND)
    shop.insert(events, "(1, 9)")
    shop.run()
    before = states(shop, ["groups"])
    shop.model("groups", sql.format("bigint(k) as k, sum(v) as v, 1 as more"), **MERGE, **APPEND)
    shop.insert(events, "(1, 10)")
    assert "keys of different types" in shop.fails()
    assert states(shop, ["groups"]) == before

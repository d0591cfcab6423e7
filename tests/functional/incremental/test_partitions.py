"""The values of partition_by, and insert_overwrite into tables with changed partitioning."""

from __future__ import annotations

from collections import Counter

import pytest

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
OVERWRITE = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
MODELS = {
    "snapshot": (CHANGES, OVERWRITE),
    "plain": ("select * from {{ source('raw', 'events') }}", {**OVERWRITE, "materialized": "incremental"}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("reader", ["auto", "spark"])
def test_files_of_an_older_partitioning_are_not_left_beside_the_rows_that_replace_them(shop, kind, reader):
    shop.read_metadata_by(reader)
    events = shop.source("events", "id int, day date")
    sql, config = MODELS[kind]
    shop.model("daily", sql, **{**config, "partition_by": "months(day)"})
    shop.insert(events, "(1, date'2026-01-01')")
    shop.run()
    daily = shop.built("daily")
    shop.sql(f"alter table {daily} replace partition field day_month with day")
    shop.sql(f"insert into {daily} values (7, date'2026-02-01')")
    shop.model("daily", sql, **config)
    shop.insert(events, "(2, date'2026-01-01')")
    before = shop.head(daily)
    message = shop.fails()
    assert "Found: 1 file of spec 0" in message and " of spec 1" in message
    assert reader == "spark" or ("spec 0 (months(day)); " in message and "spec 1 (day), the current one." in message)
    assert (shop.head(daily), shop.branches(daily)) == (before, {"main"})
    call = message.split("run the model again: `", 1)[1].split("`\n")[0]
    shop.sql(call.removesuffix("`"))
    shop.run()
    kept = [(1,), (2,)] if kind == "plain" else [(2,)]
    assert shop.rows(daily, "id") == Counter([*kept, (7,)])


@pytest.mark.core
def test_a_table_that_was_not_partitioned_at_first(shop):
    events = shop.source("events", "id int, day date")
    shop.model("daily", CHANGES)
    shop.insert(events, "(1, date'2026-01-01')")
    shop.run()
    shop.sql(f"alter table {shop.built('daily')} add partition field day")
    shop.model("daily", CHANGES, **OVERWRITE)
    shop.insert(events, "(2, date'2026-01-01')")
    assert "spec 0 (no partitions)" in shop.fails()
    assert shop.rows(shop.built("daily"), "id") == Counter([(1,)])
    shop.run("--full-refresh")
    shop.insert(events, "(3, date'2026-01-01')")
    shop.run()
    assert shop.rows(shop.built("daily"), "id") == Counter([(3,)])


def test_a_partitioning_that_changes_between_the_capture_and_the_statement(shop):
    events = shop.source("events", "id int, day date")
    shop.model("daily", CHANGES, **OVERWRITE)
    shop.insert(events, "(1, date'2026-01-01')")
    shop.run()
    daily = shop.built("daily")
    shop.insert(events, "(2, date'2026-01-01')")
    evolve = f"alter table {daily} replace partition field day with bucket(2, day)"
    shop.model("daily", CHANGES, **OVERWRITE, pre_hook=evolve)
    message = shop.fails()
    assert "Expected: partition_by day" in message and "bucket(2,day)" in message
    assert shop.rows(daily, "id") == Counter([(1,)])


def test_dbts_incremental_model_is_not_overwritten_by_unconfigured_partitions(shop):
    events = shop.source("events", "id int, day date")
    sql, config = MODELS["plain"]
    shop.model("daily", sql, materialized="incremental")
    shop.insert(events, "(1, date'2026-01-01')")
    shop.run()
    shop.model("daily", sql + " where id = 2", **config)
    shop.insert(events, "(2, date'2026-01-02')")
    assert "Found: no partitions" in shop.fails()
    assert shop.rows(shop.built("daily"), "id") == Counter([(1,)])


@pytest.mark.parametrize("materialized", ["iceberg_incremental_snapshot", "incremental", "table"])
@pytest.mark.parametrize(
    "value",
    ["day(d", "nope", "days(nope)", "days(id)", {"field": "d", "data_type": "date"}, ["d", {"field": "d"}]],
    ids=["syntax", "column", "column-of-transform", "type", "mapping", "list-of-mappings"],
)
def test_a_wrong_partition_by_is_named(shop, materialized, value):
    shop.source("events", "id int, d date")
    sql = CHANGES if materialized.startswith("iceberg") else MODELS["plain"][0]
    shop.model("staged", sql, materialized=materialized, partition_by=value)
    found = shop.dbt("run")
    assert not found.success
    assert "partition_by" in found.printed and "xpected" in found.printed

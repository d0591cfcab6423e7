"""SQL with the strategy ``auto`` that reads the clock: a run updates the rows that depend on the time."""

from __future__ import annotations

import json
import time

import pytest

from .test_explain import explained

ROWS = 2000
"""The number of events, one for each second. One leaves the last two hours in each second."""
EVENTS = "id int, at timestamp, day date"
SQL = {
    "newest": "select id from {events} where at >= current_timestamp() - interval 2 hours",
    "in_parts": (
        "select id, case when at >= now() - interval 2 hours then 'new' else 'old' end as age, day from {events}"
    ),
    "counted": (
        "select id div 5 as part, count_if(at >= current_timestamp - interval 2 hours) as n from {events} group by 1"
    ),
    "of_today": "select id, day from {events} where day >= current_date and day < date 'tomorrow'",
    "since_yesterday": "with recent as (select * from {events} where day between 'yesterday' and 'today') "
    "select r.id, current_date() as computed_on from recent r",
}


@pytest.fixture
def events(shop):
    table = shop.source("events", EVENTS)
    shop.sql(
        f"insert into {table} select cast(id as int), now() - interval 2 hours + make_dt_interval(0, 0, 0, id), "
        f"date_sub(current_date, cast(id % 60 as int)) from range({ROWS})"
    )
    for name, sql in SQL.items():
        named = sql.format(events="{{ source('raw', 'events') }}")
        shop.model(name, named, incremental_strategy="auto", rebuild_above=1)
    return shop, table


def test_rows_follow_the_clock(events):
    shop, _ = events
    assert shop.run().success
    first = shop.rows(shop.built("newest"))
    assert 0 < len(first) < ROWS
    time.sleep(2)
    how = explained(shop)
    assert all(how[name]["is_incremental"] and how[name]["update_method"]["whole"] is None for name in SQL)
    statuses = shop.statuses()
    assert {name: each["action"] for name, each in statuses.items()} == {
        "newest": "apply", "in_parts": "apply", "counted": "apply", "of_today": "nothing", "since_yesterday": "nothing",
    }  # fmt: skip
    assert statuses["newest"]["next_run"] == "updates the rows that depend on the time"
    found = shop.run()
    assert found.success
    assert found.message("of_today") == found.message("since_yesterday") == "NOTHING NEW"
    rows = {each["unique_id"].rpartition(".")[2]: each["adapter_response"]["rows_affected"] for each in results(shop)}
    last = shop.rows(shop.built("newest"))
    left = len(first) - len(last)
    assert left > 0 and not last - first
    assert rows["in_parts"] == left and 0 < rows["counted"] <= left // 5 + 2
    printed = shop.operation("ip_verify", format="json").printed
    verified, _ = json.JSONDecoder().raw_decode(printed, printed.index('{\n  "version"'))
    assert {each["result"] for each in verified["models"]} == {"equal"}, printed


def test_what_cannot_be_read_from_the_clock(events):
    shop, _ = events
    shop.model("unnamed", "select id, current_date from {{ source('raw', 'events') }}", incremental_strategy="auto")
    shop.model("random", "select id, rand() as r from {{ source('raw', 'events') }}", incremental_strategy="auto")
    found = shop.dbt("run", "--select", "unnamed", "random")
    assert "a column that reads the clock and has no alias" in found.message("unnamed")
    assert "rand(), whose value" in found.message("random")


def results(shop):
    return shop.run_results()["results"]

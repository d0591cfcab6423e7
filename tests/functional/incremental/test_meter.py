"""How much each run read and how late the rows arrived, as runs, the ledger and the status report it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .shop import Shop

COPY = "select * from {{ ip_changes(source('raw', 'plays')) }}"
BOTH_WAYS = f"{COPY} where account in (select account from {{{{ ip_as_of(source('raw', 'plays')) }}}})"
COLUMNS = "account int, played_at timestamp"
DAY_MS = 86_400_000


def played(account: int, days_ago: int) -> str:
    return f"({account}, now() - interval {days_ago} days)"


def totals(shop: Shop, table: str) -> tuple[int, int]:
    """The rows and bytes of a table's current files, as Iceberg's own metadata table counts them."""
    return shop.sql(f"select sum(record_count), sum(file_size_in_bytes) from {table}.files")[0]


def source_of(ip: dict[str, Any]) -> dict[str, Any]:
    (source,) = ip["sources"].values()
    return source


@pytest.fixture
def plays(shop: Shop) -> str:
    table = shop.source("plays", COLUMNS)
    shop.declare("plays", config={"event_time": "played_at"})
    return table


@pytest.mark.core
def test_shares_and_lateness_of_each_run(shop, plays):
    shop.model("copied", COPY)
    shop.model("both_ways", BOTH_WAYS)
    shop.insert(plays, *(played(n, 0) for n in range(30)))
    first = shop.run()
    whole = totals(shop, plays)
    for name in ("copied", "both_ways"):
        read = source_of(first.ip(name))
        assert (read["table_records"], read["table_bytes"]) == whole
        assert (read["share_of_records"], read["share_of_bytes"]) == (1, 1)
        assert "lateness" not in read  # a complete read has no new rows

    shop.insert(plays, played(1, 9), played(2, 0))
    shop.insert(plays, *(played(n, 2) for n in range(8)))
    second = shop.run()
    whole = totals(shop, plays)
    read = source_of(second.ip("copied"))
    assert (read["records"], read["table_records"], read["share_of_records"]) == (10, 40, 0.25)
    assert read["table_bytes"] == whole[1]
    assert read["share_of_bytes"] == round(read["bytes"] / whole[1], 6)
    assert source_of(second.ip("both_ways"))["share_of_records"] == 1  # also for the complete table
    late = read["lateness"]
    assert (late["event_time"], late["commits"]) == ("played_at", 2)
    assert 9 * DAY_MS <= late["max_late_ms"] < 9 * DAY_MS + 300_000
    assert late["oldest_event_ms"] < late["newest_event_ms"]

    third = shop.run()
    assert third.action("copied") == "nothing"
    assert source_of(third.ip("copied"))["share_of_records"] == 0


def test_the_ledger_adds_up_what_runs_read_after_the_source_has_expired(shop, plays):
    shop.model("copied", COPY)
    shop.insert(plays, *(played(n, 0) for n in range(30)))
    shop.run()
    for _ in range(2):
        shop.insert(plays, *(played(n, 0) for n in range(5)))
        shop.run()
    expire = "call {}.system.expire_snapshots(table => '{}', older_than => now(), retain_last => 1)"
    shop.sql(expire.format(shop.catalog, plays))
    printed = shop.operation("ip_ledger", model="copied", format="json").printed
    found, _ = json.JSONDecoder().raw_decode(printed[printed.index("{\n") :])
    assert [(line["share"]["records"], line["share"]["table_records"]) for line in found["lines"]] == [
        (30, 30),
        (5, 35),
        (5, 40),
    ]
    assert (found["read"]["records"], found["read"]["table_records"]) == (40, 105)
    assert "read in total: 40 of 105 rows (38.1%)" in shop.operation("ip_ledger", model="copied").printed


def test_the_status_has_sources_runs_and_commits(shop, plays, asked_of_spark):
    shop.model("copied", COPY, event_time="played_at")
    shop.model("again", "select * from {{ ip_changes(ref('copied')) }}")
    shop.insert(plays, *(played(n, 0) for n in range(30)))
    shop.run()
    shop.insert(plays, played(1, 9))
    asked_of_spark.clear()
    found = shop.project_status()
    assert asked_of_spark == []
    assert (found["version"], found["project"]) == (1, "shop")
    assert {(edge["source"].rpartition(".")[2], edge["model"]) for edge in found["edges"]} == {
        ("plays", "model.shop.copied"),
        ("copied", "model.shop.again"),
    }
    again, copied = found["models"]
    assert (again["state"], again["lag_ms"]) == ("current", 0)
    assert (copied["state"], copied["next_run"]) == ("pending", "applies what is pending")
    (source,) = copied["sources"]
    assert 0 < copied["lag_ms"] == found["generated_at_ms"] - source["oldest_pending_ms"] < 300_000
    assert source["expires_at_ms"] == source["position_timestamp_ms"] + 5 * DAY_MS
    (run,) = copied["runs"]
    assert (run["epoch"], run["rows_added"], run["sources"][0]["kind"]) == (1, 30, "whole")
    assert (copied["read"]["records"], copied["read"]["table_records"]) == (30, 30)
    tables = {table["table"].rpartition(".")[2]: table for table in found["tables"]}
    assert (tables["plays"]["kind"], tables["plays"]["event_time"]) == ("source", "played_at")
    commits = tables["plays"]["commits"]
    assert [(commit["effect"], commit["rows_added"]) for commit in commits] == [("append", 30), ("append", 1)]
    assert 9 * DAY_MS <= commits[1]["late_ms"] < 9 * DAY_MS + 300_000


def test_the_status_of_a_model_that_fails_has_the_commands_that_fix_it(shop, plays):
    shop.model("copied", COPY)
    shop.insert(plays, *(played(n, 0) for n in range(3)))
    shop.run()
    shop.sql(f"delete from {plays} where account = 1")
    (copied,) = shop.project_status()["models"]
    assert copied["state"] == "fails"
    assert "dbt run --full-refresh --select copied" in copied["commands"]


def test_a_held_position_expires_later(shop, plays):
    shop.model("copied", COPY, hold_source="14 days")
    shop.insert(plays, played(1, 0))
    shop.run()
    shop.insert(plays, played(2, 0))
    (source,) = shop.project_status()["models"][0]["sources"]
    assert source["held_until_ms"] == source["expires_at_ms"]
    assert source["expires_at_ms"] - source["position_timestamp_ms"] >= 14 * DAY_MS

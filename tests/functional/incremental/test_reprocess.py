"""Bounded reprocessing: ``--event-time-start`` and ``--event-time-end`` for a model with an event_time."""

from __future__ import annotations

import pytest

WINDOW = ["--event-time-start", "2026-01-02", "--event-time-end", "2026-01-04"]
SQL = "select account, day, seconds * {{ var('factor', 1) }} as seconds from {{ ip_changes(source('raw', 'plays')) }}"
MIRROR = "select account, day, seconds, _change_type from {{ ip_changelog(ref('copied'), ['account', 'day']) }}"
MERGE = {"incremental_strategy": "merge", "unique_key": ["account", "day"]}
OVERWRITE = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
KEY = {"unique_key": ["account", "day"], "incremental_strategy": "apply_changes"}


@pytest.fixture
def plays(shop):
    table = shop.source("plays", "account int, day date, seconds int")
    shop.declare("plays", config={"event_time": "day"})
    shop.insert(table, *(f"({account}, date'2026-01-{day:02}', 1)" for account in (1, 2) for day in range(1, 6)))
    return table


@pytest.mark.core("merge")
@pytest.mark.parametrize("config", [MERGE, OVERWRITE], ids=["merge", "insert_overwrite"])
def test_a_window_is_processed_again_and_the_checkpoint_stays(shop, plays, config):
    shop.model("copied", SQL, event_time="day", **config)
    shop.model("mirror", MIRROR, **KEY)
    shop.run()
    before = shop.checkpoint(shop.built("copied"))["sources"]
    shop.insert(plays, "(3, date'2026-01-03', 1)")  # not read yet, so it is not part of the window either

    found = shop.run("--select", "copied", "--vars", "{factor: 7}", *WINDOW)
    (said,) = [line for line in found.printed.splitlines() if ": captured " in line]
    assert "from 2026-01-02 00:00:00 to 2026-01-04 00:00:00 UTC" in said and "raise_error" not in said
    copied = dict(shop.sql(f"select day, sum(seconds) from {shop.built('copied')} group by day order by day"))
    assert list(copied.values()) == [2, 14, 14, 2, 2]
    (after,) = shop.checkpoint(shop.built("copied"))["sources"].values()
    (known,) = before.values()
    assert after["snapshot_id"] == known["snapshot_id"]

    shop.run()  # an ordinary run continues, and downstream models read the result as ordinary changes
    assert sum(shop.rows(shop.built("copied")).values()) == 11 if config is MERGE else True
    assert shop.rows(shop.built("mirror")) == shop.rows(shop.built("copied"))
    assert shop.operation("ip_ledger", model="copied").success


def test_groups_and_ranges_of_a_window(shop, plays):
    grouped = """
    {% set days = ip_range(source('raw', 'plays'), 'day') %}
    select account, day, sum(seconds) * {{ var('factor', 1) }} as seconds, {{ days.min }} as low, {{ days.max }} as high
    from {{ ip_changed_groups(source('raw', 'plays'), ['account', 'day']) }} group by account, day
    """
    shop.model("grouped", grouped, event_time="day", **MERGE)
    shop.run()
    shop.run("--vars", "{factor: 7}", *WINDOW)
    found = shop.sql(
        f"select day, sum(seconds), min(low), max(high) from {shop.built('grouped')} group by day order by day"
    )
    assert [row[1] for row in found] == [2, 14, 14, 2, 2]
    assert [str(each) for each in found[1][2:]] == ["2026-01-02", "2026-01-03"]


def test_days_that_a_join_chooses(shop, plays):
    """Rows outside the window are detected although the join removes them."""
    days = """
    select day, count(*) * {{ var('factor', 1) }} as n from {{ ip_as_of(source('raw', 'plays')) }}
    where day in (select day from {{ ip_changes(source('raw', 'plays')) }}) group by day
    """
    shop.model("days", days, event_time="day", **OVERWRITE)
    shop.run()
    shop.run("--vars", "{factor: 7}", *WINDOW)
    assert [n for _, n in shop.sql(f"select day, n from {shop.built('days')} order by day")] == [2, 14, 14, 2, 2]


def test_windows_that_cannot_be_processed(shop, plays):
    shop.model("copied", SQL, event_time="day", incremental_strategy="append")
    assert "cannot reprocess an event-time window" in shop.fails(*WINDOW)
    shop.model("copied", SQL, event_time="day", **MERGE)
    assert "--full-refresh" in shop.fails("--full-refresh", *WINDOW)
    shop.run()
    shop.declare("plays", config={})
    assert "has no event_time" in shop.fails(*WINDOW)
    shop.declare("plays", config={"event_time": "day"})
    shop.model("copied", SQL, event_time="day", **{**OVERWRITE, "partition_by": "account"})
    shop.run("--full-refresh")
    assert "whole partitions" in shop.fails(*WINDOW)
    moves = SQL.replace("account, day,", "account, date_add(day, 1) as day,")
    shop.model("copied", moves, event_time="day", **OVERWRITE)
    shop.run("--full-refresh")
    before = shop.rows(shop.built("copied"))
    assert "outside the window" in shop.fails(*WINDOW)
    assert shop.rows(shop.built("copied")) == before


@pytest.mark.parametrize("config", [{}, {"merge_exclude_columns": ["seconds"]}, {"sequence_by": "seconds"}], ids=str)
def test_rows_without_a_key_are_not_added_twice(shop, plays, config):
    shop.model("copied", SQL, event_time="day", **MERGE, **config)
    shop.insert(plays, "(null, date'2026-01-03', 1)", "(null, date'2026-01-05', 1)")
    shop.run()
    before = shop.rows(shop.built("copied"))
    assert "rows of the window have NULL in unique_key (account, day)" in shop.fails(*WINDOW)
    assert shop.rows(shop.built("copied")) == before
    shop.model("copied", f"{SQL} where account is not null", event_time="day", **MERGE, **config)
    shop.run(*WINDOW)
    assert shop.rows(shop.built("copied")) == before


def test_sums_that_are_added_to_are_not_counted_twice(shop, plays):
    added = """
    with new as (select account, day, sum(seconds) seconds from {{ ip_changes(source('raw', 'plays')) }} group by all)
    select account, day, sum(seconds) as seconds
    from (select * from new {% if is_incremental() %} union all select * from {{ this }} {% endif %}) group by 1, 2
    """
    shop.model("sums", added, event_time="day", **MERGE)
    shop.run()
    before = shop.rows(shop.built("sums"))
    assert "its SQL reads its own table" in shop.fails(*WINDOW)
    assert shop.rows(shop.built("sums")) == before


def test_partitions_are_not_overwritten_by_another_time(shop, plays):
    received = "select account, date_add(day, -1) as event_day, seconds from {{ ip_changes(source('raw', 'plays')) }}"
    shop.model("copied", received, event_time="event_day", **{**OVERWRITE, "partition_by": "event_day"})
    shop.run()
    assert "has the same event_time as the model, event_day" in shop.fails(*WINDOW)


def test_text_is_not_a_time(shop):
    table = shop.source("plays", "account int, day string, seconds int")
    shop.declare("plays", config={"event_time": "day"})
    shop.insert(table, "(1, '2026-01-02', 1)")
    shop.model("copied", SQL, event_time="day", **MERGE)
    shop.run()
    assert "a text column" in shop.fails(*WINDOW)


def test_a_model_without_event_time_runs_as_usual(shop, plays):
    shop.model("copied", SQL)
    shop.run(*WINDOW)
    shop.insert(plays, "(3, date'2026-02-03', 1)")
    shop.run(*WINDOW)
    assert shop.rows(shop.built("copied")) == shop.rows(plays)

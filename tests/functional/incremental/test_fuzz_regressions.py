"""Bugs that random histories have found, reduced to short tests."""

from __future__ import annotations

from collections import Counter

import pytest


def test_an_insert_overwrite_of_no_rows_moves_the_checkpoint(shop):
    """The statement makes no commit, so there is no branch to publish."""
    events = shop.source("events", "id int, day int")
    shop.model(
        "daily",
        """
        select day, count(*) as n from {{ ip_as_of(source('raw', 'events')) }} as t
        where day in (select day from {{ ip_changes(source('raw', 'events')) }} as c) and day < 9
        group by day
        """,
        incremental_strategy="insert_overwrite",
        partition_by="day",
    )
    daily = shop.built("daily")
    shop.insert(events, "(1, 1)")
    shop.run()
    head = shop.head(daily)
    shop.insert(events, "(2, 9)")
    assert shop.run().nodes["daily"].adapter_response["rows_affected"] == 0
    assert (shop.head(daily), shop.branches(daily)) == (head, {"main"})
    assert shop.run().message("daily") == "NOTHING NEW"
    shop.insert(events, "(3, 1)")
    found = shop.run().ip("daily")["sources"]
    assert [source["snapshots"] for source in found.values()] == [1]
    assert shop.rows(daily) == Counter([(1, 2)])


@pytest.mark.parametrize("renames", [["day to d"], ["day to d", "k to day", "d to k"]], ids=["renamed", "swapped"])
def test_columns_that_were_renamed_since_the_last_commit_bound_nothing(shop, renames):
    """Iceberg plans a scan of the head with current column names, so swapped columns get each other's bounds."""
    events = shop.source("events", "id int, k int, day int")
    shop.model(
        "mirror",
        "select id, _change_type from {{ ip_changelog(source('raw', 'events')) }} as c",
        incremental_strategy="apply_changes",
        unique_key="id",
    )
    shop.insert(events, "(1, 1, 10)", "(2, 1, 10)")
    shop.insert(events, "(3, 2, 20)")
    shop.run()
    shop.sql(f"update {events} set id = id + 10 where id < 3")
    for rename in renames:
        shop.sql(f"alter table {events} rename column {rename}")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(11,), (12,), (3,)])

"""What random histories have found, as short as it can be said."""

from __future__ import annotations

from collections import Counter


def test_an_insert_overwrite_of_no_rows_moves_the_checkpoint(shop):
    """Such a statement makes no commit, and so no branch that could be published."""
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

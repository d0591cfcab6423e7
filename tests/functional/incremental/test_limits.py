"""Limits per run: a backlog drains over several runs, with the same result."""

from __future__ import annotations

import pytest

from .test_changed_groups import CONFIG, GROUPED, REBUILT, play


@pytest.mark.core
def test_a_backlog_drains_in_order(shop):
    table = shop.source("plays", "account int, day date, seconds int", "partitioned by (day)")
    sql = "select p.*, '{{ invocation_id }}' as run from {{ ip_changes(source('raw', 'plays')) }} p"
    shop.model("plays_in", sql, max_snapshots_per_run=2)
    shop.model("per_day", GROUPED, max_bytes_per_run=1, **CONFIG)
    shop.insert(table, play(1, 1, 10), play(2, 1, 10))
    shop.run()
    for day in range(2, 6):
        shop.insert(table, play(1, day, day), play(2, 1, day))
    shop.sql(f"delete from {table} where account = 2 and day = date'2026-01-01'")
    shop.model("plays_in", sql, max_snapshots_per_run=2, on_source_rewrite="ignore")

    found = shop.run()
    assert "3 snapshots left for later runs" in found.printed
    assert found.ip("plays_in")["sources"][table.replace("`", "")]["waiting_snapshots"] == 3
    assert [found.nodes[name].adapter_response["rows_affected"] for name in ("plays_in", "per_day")] == [4, 2]
    runs = 1
    while found.action("per_day") != "nothing":
        found, runs = shop.run(), runs + 1
    assert runs == 6  # five runs for the commits, and one that finds nothing
    assert shop.rows(shop.built("per_day")) == shop.rows(f"({REBUILT.format(table)})")
    assert sum(shop.rows(shop.built("plays_in")).values()) == 10
    taken = shop.sql(
        f"select count(*), count(distinct day) from {shop.built('plays_in')} group by run order by min(day)"
    )
    assert max(rows for rows, _ in taken) == 4


def test_pinned_reads_end_with_the_changes(shop):
    table = shop.source("events")
    sql = """
    select c.id, c.v, (select count(*) from {{ ip_as_of(source('raw', 'events')) }}) as seen
    from {{ ip_changes(source('raw', 'events')) }} c
    """
    shop.model("counted", sql, max_snapshots_per_run=1)
    shop.insert(table, "(1, 'a')")
    shop.run()
    shop.insert(table, "(2, 'b')")
    shop.insert(table, "(3, 'c')")
    for _ in range(3):
        shop.run()
    assert set(shop.sql(f"select id, seen from {shop.built('counted')}")) == {(1, 1), (2, 2), (3, 3)}


def test_a_limit_does_not_split_a_merge(shop):
    """The merge's INSERT and DELETE are two commits. A limit between them would lose the changed row."""
    events = shop.source("events")
    shop.model(
        "latest",
        "select * from {{ ip_changes(source('raw', 'events')) }}",
        incremental_strategy="merge",
        unique_key="id",
    )
    shop.model(
        "mirror",
        "select id, v, _change_type from {{ ip_changelog(ref('latest'), 'id') }}",
        incremental_strategy="apply_changes",
        unique_key="id",
        max_snapshots_per_run=1,
    )
    shop.insert(events, "(1, 'a')", "(2, 'a')")
    shop.run()
    for v in ("b", "c"):
        shop.insert(events, f"(1, '{v}')")
        shop.run("--select", "latest")
    marked = "summary['ip.part-of-epoch'] is not null"
    parts = shop.sql(f"select snapshot_id from {shop.built('latest')}.snapshots where {marked}")
    assert len(parts) == 2
    refused = shop.operation("ip_set_checkpoint", model="mirror", source="latest", snapshot_id=parts[0][0])
    assert "only a part of one run's commits" in refused.printed
    for v in ("b", "c"):
        shop.run("--select", "mirror")
        assert shop.rows(shop.built("mirror")) == {(1, v): 1, (2, "a"): 1}


def test_an_invalid_limit(shop):
    shop.source("events")
    shop.model("bad", "select * from {{ ip_changes(source('raw', 'events')) }}", max_snapshots_per_run=0)
    assert "max_snapshots_per_run is 0: expected a whole number above 0" in shop.fails()

"""Cascading backfills: a rebuild of a stage rebuilds its downstream stages once each, in DAG order."""

from __future__ import annotations

from collections import Counter

import pytest

STAGED = "select id, v, {{ var('factor', 1) }} as factor from {{ ip_changes(source('raw', 'events')) }}"
GROUPED = "select v, count(*) as n, max(factor) as factor from {{ ip_changed_groups(ref('staged'), 'v') }} group by v"
MIRROR = "select v, n, factor, _change_type from {{ ip_changelog(ref('grouped'), 'v') }}"
LOOKED_UP = """
select e.id, g.n from {{ ip_changes(source('raw', 'events')) }} e join {{ ip_as_of(ref('grouped')) }} g on g.v = e.v
"""


@pytest.mark.thorough
def test_a_backfill_cascades_stage_by_stage(shop):
    events = shop.source("events")
    shop.model("staged", STAGED)
    shop.model("grouped", GROUPED, incremental_strategy="merge", unique_key="v")
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="v")
    shop.model("looked_up", LOOKED_UP)
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    shop.run()
    shop.insert(events, "(3, 'a')")
    found = shop.run()
    assert {found.action(name) for name in ("staged", "grouped", "mirror", "looked_up")} == {"apply"}

    shop.run("--full-refresh", "--select", "staged", "--vars", "{factor: 7}")
    found = shop.run("--vars", "{factor: 7}")
    assert found.action("staged") == "nothing"
    assert found.action("grouped") == found.action("mirror") == "rebuild"
    # a model that only looks up rows in the rebuilt table is not rebuilt
    assert found.action("looked_up") == "apply"
    expected = Counter({("a", 2, 7): 1, ("b", 1, 7): 1})
    assert shop.rows(shop.built("grouped")) == shop.rows(shop.built("mirror")) == expected
    found = shop.run("--vars", "{factor: 7}")
    assert {found.action(name) for name in ("staged", "grouped", "mirror", "looked_up")} == {"nothing"}

    # a stage that must not be rebuilt stops the cascade with an error
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="v", full_refresh=False)
    shop.run("--full-refresh", "--select", "grouped")
    assert "full_refresh: false" in shop.fails()


@pytest.mark.core
def test_a_part_of_the_dag_is_backfilled_at_once(shop):
    events = shop.source("events")
    shop.model("staged", STAGED)
    shop.model("grouped", GROUPED, incremental_strategy="merge", unique_key="v")
    shop.insert(events, "(1, 'a')")
    shop.run()
    found = shop.run("--full-refresh", "--select", "staged+")
    assert {found.action(name) for name in ("staged", "grouped")} == {"rebuild"}
    assert {shop.run().action(name) for name in ("staged", "grouped")} == {"nothing"}


@pytest.mark.core
def test_a_rewound_model_reads_the_range_again(shop):
    events = shop.source("events")
    shop.model("latest", STAGED, incremental_strategy="merge", unique_key="id")
    shop.insert(events, "(1, 'a')")
    shop.run()
    first = shop.head(events)
    shop.insert(events, "(2, 'b')", "(3, 'c')")
    shop.run()
    assert shop.operation("ip_set_checkpoint", model="latest", source="events", snapshot_id=first).success
    shop.run("--vars", "{factor: 7}")
    assert shop.rows(shop.built("latest")) == Counter({(1, "a", 1): 1, (2, "b", 7): 1, (3, "c", 7): 1})


def test_moving_a_checkpoint_forward_reports_the_skipped_commits(shop):
    events = shop.source("events")
    shop.model("latest", STAGED, incremental_strategy="merge", unique_key="id")
    shop.insert(events, "(1, 'a')")
    shop.run()
    first = shop.head(events)
    shop.insert(events, "(2, 'b')", "(3, 'c')")
    shop.insert(events, "(4, 'd')")
    shop.sql(f"delete from {events} where id = 4")
    said = shop.operation("ip_set_checkpoint", model="latest", source="events", timestamp="2099-01-01").printed
    assert f"Skipped in {events.replace('`', '')}: 3 snapshots after snapshot {first} " in said
    assert ", of which 1 changed or deleted rows, with " in said and " added files, 3 rows, " in said
    assert f"snapshot_id: {first}}}'" in said  # to undo it
    assert shop.operation("ip_set_checkpoint", model="latest", source="events", snapshot_id=first).success
    shop.model("latest", STAGED, incremental_strategy="merge", unique_key="id", on_source_rewrite="upserts")
    shop.run()
    assert shop.rows(shop.built("latest"), "id, v") == shop.rows(events)

"""Positions that tags hold in the sources: expiry, with any tool, keeps the snapshots that a model has not read yet."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from .shop import ANNOUNCED, CATALOG

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
MIRROR = "select id, v, _change_type from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}"
GROUPED = "select v, count(*) as n, sum(id) as s from {{ ip_changed_groups(source('raw', 'events'), 'v') }} group by v"
MODES = ", ".join(f"'write.{statement}.mode'='{{mode}}'" for statement in ("delete", "update", "merge"))
FORGETS = ", 'write.metadata.delete-after-commit.enabled'='true', 'write.metadata.previous-versions-max'='1'"
HELD = {"hold_source": "14 days"}
DAY_MS = 24 * 60 * 60 * 1000


def source(shop, version, mode="copy-on-write", more=""):
    properties = f"'format-version'='{version}', {MODES.format(mode=mode)}{more}"
    return shop.source("events", "id int, v string", f"tblproperties ({properties})")


def tags(shop, table):
    """The tags of a table by the epochs that they hold: name, snapshot and age."""
    found = shop.sql(f"select name, snapshot_id, max_reference_age_in_ms from {table}.refs where type = 'TAG'")
    return {name.rpartition(".")[2]: (name, head, age) for name, head, age in found}


def expire(shop, table):
    shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{table}', older_than => now(), retain_last => 1)")


def compact(shop, table):
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")


def commits(shop, table):
    return shop.sql(f"select count(*) from {table}.metadata_log_entries")


@pytest.mark.core
def test_the_tag_moves_with_the_checkpoint(shop):
    events = source(shop, 2)
    shop.model("staged", CHANGES, **HELD)
    shop.insert(events, "(1, 'a')")
    shop.run()
    name, head, age = tags(shop, events).pop("1")
    assert (name, head) == (f"ip_held_by.{CATALOG}.{shop.schema}.staged.1", shop.head(events))
    assert 14 * DAY_MS <= age < 15 * DAY_MS

    before = commits(shop, events)
    assert shop.run().message("staged") == "NOTHING NEW"
    assert commits(shop, events) == before

    for number, arguments in ((2, []), (3, ["--full-refresh"])):
        shop.insert(events, "(2, 'b')")
        shop.run(*arguments)
        assert {epoch: held for epoch, (_, held, _) in tags(shop, events).items()} == {str(number): shop.head(events)}


@pytest.mark.core
def test_a_run_that_fails_holds_where_it_started_and_where_it_was_going(shop):
    events = source(shop, 2)
    shop.model("staged", CHANGES, **HELD)
    shop.insert(events, "(1, 'a')")
    shop.run()
    start = shop.head(events)
    shop.insert(events, "(2, 'b')")
    shop.model("staged", f"select id, assert_true(id <> 2) as v from ({CHANGES})", **HELD)
    shop.fails()
    assert {epoch: held for epoch, (_, held, _) in tags(shop, events).items()} == {"1": start, "2": shop.head(events)}
    expire(shop, events)
    shop.model("staged", CHANGES, **HELD)
    shop.run()
    assert shop.rows(shop.built("staged")) == shop.rows(events)
    assert tags(shop, events).keys() == {"2"}


def test_many_models_hold_one_source_concurrently(shop):
    events = source(shop, 2)
    names = {f"staged_{n}" for n in range(6)}
    for name in names:
        shop.model(name, CHANGES, **HELD)
    for row in ("(1, 'a')", "(2, 'b')"):
        shop.insert(events, row)
        assert "does not hold" not in shop.run("--threads", "6").printed
        held = shop.sql(f"select name, snapshot_id from {events}.refs where type = 'TAG'")
        assert sorted((name.split(".")[-2], head) for name, head in held) == [
            (n, shop.head(events)) for n in sorted(names)
        ]


def test_without_a_tag_the_same_history_breaks(shop):
    for name, config in (("held", HELD), ("hold_failed", {})):
        events = shop.source(f"of_{name}", "id int, v string", "tblproperties ('format-version'='3')")
        mirror = MIRROR.replace("'events'", f"'of_{name}'")
        shop.model(name, mirror, incremental_strategy="apply_changes", unique_key="id", **config)
        shop.insert(events, "(1, 'a')", "(2, 'b')")
    shop.run()
    for name in ("held", "hold_failed"):
        events = shop.raw(f"of_{name}")
        shop.sql(f"update {events} set v = 'c' where id = 1")
        shop.sql(f"delete from {events} where id = 2")
        expire(shop, events)
    next_runs = {name: status["next_run"] for name, status in shop.statuses().items()}
    assert next_runs["held"].startswith(ANNOUNCED["apply"])
    assert next_runs["hold_failed"].startswith(ANNOUNCED["fails"])
    assert "have expired" in shop.fails()
    assert shop.rows(shop.built("held")) == shop.rows(shop.raw("of_held"))


@pytest.mark.parametrize(
    ("version", "mode", "more"),
    [
        (2, "merge-on-read", ""),
        pytest.param(2, "copy-on-write", FORGETS, marks=pytest.mark.thorough),
        (3, "merge-on-read", FORGETS),
        pytest.param(3, "copy-on-write", "", marks=pytest.mark.thorough),
    ],
)
def test_any_writes_between_two_expiries(shop, version, mode, more):
    """Each round has many commits, of which an expiry keeps the last. With FORGETS, no metadata of others are left."""
    events = source(shop, version, mode, more)
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id", **HELD)
    shop.model("grouped", GROUPED, incremental_strategy="merge", unique_key="v", **HELD)
    chance = random.Random(f"{version} {mode}")
    shop.insert(events, *(f"({n}, '{chance.choice('abc')}')" for n in range(20)))
    shop.run()
    for _ in range(4):
        for _ in range(chance.randint(2, 5)):
            some = ", ".join(str(chance.randrange(30)) for _ in range(4))
            kind = chance.choice(["insert", "update", "delete", "compact", "back"])
            if kind == "insert":
                shop.sql(
                    f"insert into {events} select n, '{chance.choice('abcd')}' from explode(array({some})) as t(n) "
                    f"where n not in (select id from {events}) group by n"
                )
            elif kind == "update":
                shop.sql(f"update {events} set v = '{chance.choice('abcd')}' where id in ({some})")
            elif kind == "delete":
                shop.sql(f"delete from {events} where id in ({some})")
            elif kind == "compact":
                compact(shop, events)
            else:
                shop.sql(f"update {events} set v = 'z' where id in ({some})")
                shop.sql(f"update {events} set v = 'a' where v = 'z'")
        expire(shop, events)
        shop.run()
        assert shop.rows(shop.built("mirror")) == shop.rows(events)
        assert shop.rows(shop.built("grouped")) == Counter(
            shop.sql(f"select v, count(*), sum(id) from {events} group by v")
        )
    held = shop.sql(f"select name, snapshot_id from {events}.refs where type = 'TAG'")
    assert {name.split(".")[-2] for name, _ in held} == {"mirror", "grouped"}
    assert [head for _, head in held] == [shop.head(events)] * 2


def test_appends_behind_a_compaction_are_found_in_format_2(shop):
    events = source(shop, 2)
    shop.model("staged", CHANGES, **HELD)
    shop.insert(events, "(1, 'a')", "(1, 'a')", "(2, 'b')")
    shop.run()
    shop.insert(events, "(1, 'a')", "(3, 'c')")
    compact(shop, events)
    shop.insert(events, "(null, null)")
    expire(shop, events)
    shop.run()
    assert shop.rows(shop.built("staged")) == shop.rows(events)


def test_a_tag_that_cannot_be_made_is_a_warning(shop):
    events = source(shop, 2)
    shop.insert(events, "(1, 'a')")
    name = f"ip_held_by.{CATALOG}.{shop.schema}.staged.1"
    shop.sql(f"alter table {events} create branch `{name}`")
    shop.insert(events, "(2, 'b')")
    shop.model("staged", CHANGES, **HELD)
    printed = shop.run().printed
    assert f"model.shop.staged does not hold its position in {CATALOG}.{shop.source_schema}.events." in printed
    assert "remove `hold_source`" in printed
    assert shop.rows(shop.built("staged")) == shop.rows(events)

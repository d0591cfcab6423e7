"""Pattern B: changed groups are recomputed from all of their rows and replaced. Empty groups are deleted."""

from __future__ import annotations

import pytest

GROUPED = """
select account, day, sum(seconds) as seconds, count(*) as plays
from {{ ip_changed_groups(source('raw', 'plays'), ['account', 'day']) }}
group by account, day
"""
REBUILT = "select account, day, sum(seconds), count(*) from {} group by account, day"
CONFIG = {"incremental_strategy": "merge", "unique_key": ["account", "day"], "partition_by": "day"}


def play(account: int | str, day: int, seconds: int) -> str:
    return f"({account}, date'2026-01-{day:02}', {seconds})"


@pytest.fixture
def plays(shop):
    table = shop.source("plays", "account int, day date, seconds int", "partitioned by (day)")
    shop.model("per_day", GROUPED, **CONFIG)
    shop.insert(table, *(play(account, day, 10) for account in range(5) for day in range(1, 9)), play("null", 1, 7))
    shop.run()
    return table


def assert_rebuilt(shop, table, name="per_day", sql=REBUILT):
    assert shop.rows(shop.built(name)) == shop.rows(f"({sql.format(table)})")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "properties",
    [
        pytest.param("'format-version'='2'", id="v2", marks=pytest.mark.thorough),
        pytest.param("'format-version'='3'", id="v3", marks=pytest.mark.thorough),
        pytest.param("'format-version'='3','write.delete.mode'='merge-on-read'", id="merge-on-read"),
    ],
)
def test_groups_that_grow_shrink_empty_and_move(shop, properties):
    table = shop.source("plays", "account int, day date, seconds int", f"tblproperties({properties})")
    shop.model("per_day", GROUPED, **CONFIG)
    shop.insert(table, *(play(account, day, 10) for account in range(4) for day in range(1, 5)), play("null", 1, 7))
    shop.run()
    steps = [
        f"insert into {table} values {play(0, 1, 5)}, {play(9, 9, 1)}, {play('null', 1, 1)}",  # grow, are new
        f"delete from {table} where account = 2 and day = date'2026-01-02'",  # empties a group
        f"update {table} set day = date'2026-01-04' where account = 3 and day = date'2026-01-03'",  # moves a row
        f"delete from {table} where account is null",
        f"update {table} set seconds = 0 where account = 0",
    ]
    for step in steps:
        shop.sql(step)
        shop.run()
        assert_rebuilt(shop, table)


@pytest.mark.core
def test_files_of_untouched_partitions_stay(shop, plays):
    built = shop.built("per_day")
    before = set(shop.sql(f"select distinct day, _file from {built}"))
    shop.insert(plays, play(1, 3, 5))
    shop.run()
    after = set(shop.sql(f"select distinct day, _file from {built}"))
    assert before <= after
    assert len(after) == len(before) + 1
    assert "`day` = date '2026-01-03'" in shop.compiled("per_day")
    assert_rebuilt(shop, plays)


def test_groups_are_part_of_a_longer_key(shop, plays):
    sql = """
    select account, day, sum(seconds) as seconds
    from {{ ip_changed_groups(source('raw', 'plays'), 'account') }} group by account, day having sum(seconds) > 4
    """
    shop.model("long_days", sql, **CONFIG)
    shop.run()
    shop.sql(f"update {plays} set seconds = 1 where account = 1 and day <= date'2026-01-03'")
    shop.insert(plays, play(2, 20, 9))
    shop.run("--select", "long_days")
    expected = "select account, day, sum(seconds) from {} group by account, day having sum(seconds) > 4"
    assert_rebuilt(shop, plays, "long_days", expected)


@pytest.mark.core
def test_changes_of_another_relation_choose_the_groups(shop, plays):
    accounts = shop.source("accounts", "account int, country string")
    shop.insert(accounts, "(0, 'NL')", "(1, 'NL')", "(2, 'DE')")
    sql = """
    select p.account, p.day, a.country, sum(p.seconds) as seconds
    from {{ ip_changed_groups(source('raw', 'plays'), 'account',
                              changes_of=[source('raw', 'plays'), source('raw', 'accounts')]) }} p
    join {{ ip_as_of(source('raw', 'accounts')) }} a on a.account = p.account
    group by p.account, p.day, a.country
    """
    shop.model("by_country", sql, **CONFIG)
    expected = f"""
        select account, p.day, a.country, sum(p.seconds) from {{}} p join {accounts} a using (account) group by all
    """
    shop.run("--select", "by_country")
    shop.sql(f"update {accounts} set country = 'FR' where account = 2")
    shop.insert(plays, play(0, 3, 1))
    shop.run("--select", "by_country")
    assert_rebuilt(shop, plays, "by_country", expected)
    shop.sql(f"delete from {accounts} where account = 1")
    shop.run("--select", "by_country")
    assert_rebuilt(shop, plays, "by_country", expected)


def test_nothing_changed(shop, plays):
    assert shop.run().action("per_day") == "nothing"


@pytest.mark.parametrize(
    "config",
    [
        {"incremental_strategy": "append"},
        {"incremental_strategy": "insert_overwrite", "partition_by": "day"},
        {**CONFIG, "unique_key": "day"},
        {**CONFIG, "merge_update_columns": "seconds"},
        {**CONFIG, "incremental_predicates": "true"},
    ],
    ids=lambda config: "-".join(str(value) for value in config.values())[:30],
)
def test_a_model_that_cannot_replace_groups_is_refused(shop, config):
    shop.source("plays", "account int, day date, seconds int")
    shop.model("per_day", GROUPED, **config)
    assert "whole groups" in shop.fails()


def test_wrong_keys(shop, plays):
    shop.insert(plays, play(1, 1, 1))
    shop.model(
        "per_day", GROUPED.replace("['account', 'day']", "'accont'"), **{**CONFIG, "unique_key": ["accont", "day"]}
    )
    assert "Expected: columns of" in shop.fails()
    shop.model("per_day", GROUPED.replace("['account', 'day']", "3"), **CONFIG)
    assert "instead of columns" in shop.fails()
    two = GROUPED + " union all select account, day, 1, 1 from {{ ip_changed_groups(source('raw', 'plays'), 'day') }}"
    shop.model("per_day", two, **CONFIG)
    assert "the same keys and the same changed relations" in shop.fails()
    accounts = shop.source("accounts", "account int, day date, country string")
    shop.insert(accounts, "(0, date'2026-01-01', 'NL')")
    shop.model("per_day", two.replace("'raw', 'plays'), 'day'", "'raw', 'accounts'), ['account', 'day']"), **CONFIG)
    assert "the same changed relations" in shop.fails("--full-refresh")


def test_keys_of_other_types(shop, plays):
    accounts = shop.source("accounts", "account string, day date")
    shop.insert(accounts, "('1', date'2026-01-01')")
    chosen = "source('raw', 'plays'), ['account', 'day'], [source('raw', 'plays'), source('raw', 'accounts')]"
    shop.model("per_day", GROUPED.replace("source('raw', 'plays'), ['account', 'day']", chosen), **CONFIG)
    shop.run("--full-refresh")
    shop.insert(plays, play(1, 1, 1))
    assert "keys of different types" in shop.fails()
    shop.model("per_day", GROUPED.replace("select account,", "select cast(account as bigint) as account,"), **CONFIG)
    shop.run("--full-refresh")
    shop.insert(plays, play(1, 1, 1))
    assert "keys of different types" in shop.fails()


def test_a_key_that_names_another_column_than_before_is_refused(shop, plays):
    """Otherwise every group would have changed without a commit. Until the next commit, both names are in force."""
    shop.insert(plays, play(1, 3, 5))
    for old, new in (("account", "x"), ("seconds", "account"), ("x", "seconds")):
        shop.sql(f"alter table {plays} rename column {old} to {new}")
    assert "by account, which refers to a different column than" in shop.fails()
    shop.sql(f"insert into {plays} select * from {plays} where false")
    message = shop.fails()
    assert "by account, which refers to a different column than" in message
    assert "dbt run --full-refresh --select per_day" in message
    shop.run("--full-refresh", "--select", "per_day")
    shop.insert(plays, play(1, 3, 5))
    shop.run()
    assert_rebuilt(shop, plays)


def test_keys_of_38_digits(shop):
    table = shop.source("plays", "account decimal(38,0), day date, seconds int")
    shop.model("per_day", GROUPED, **CONFIG)
    account = "12345678901234567890123456789999999999"
    shop.insert(table, play(account, 1, 5), play("-" + account, 1, 5))
    shop.run()
    shop.insert(table, play(account, 1, 6))
    shop.run()
    assert_rebuilt(shop, table)


def test_a_relation_that_was_never_written_to(shop):
    names = [shop.source(name, "account int, day date, seconds int") for name in ("plays", "gifts")]
    relations = "[source('raw', 'plays'), source('raw', 'gifts')]"
    shop.model("per_day", GROUPED.replace("'day'])", f"'day'], changes_of={relations})"), **CONFIG)
    shop.run()
    shop.insert(names[1], play(1, 1, 1))
    shop.run()
    shop.insert(names[0], play(1, 1, 2))
    shop.run()
    assert_rebuilt(shop, names[0])


def test_the_newest_row_of_each_key_with_late_rows(shop):
    """The example in docs/patterns.md. An older version that arrives in a later run does not replace a newer one."""
    flights = shop.source("flights", "flight_id int, gate string, updated_at int")
    shop.model(
        "latest",
        "select flight_id, max_by(gate, updated_at) as gate, max(updated_at) as updated_at "
        "from {{ ip_changed_groups(source('raw', 'flights'), 'flight_id') }} group by flight_id",
        incremental_strategy="merge",
        unique_key="flight_id",
    )
    shop.insert(flights, "(1, 'A', 20)", "(2, 'B', 10)")
    shop.run()
    shop.insert(flights, "(1, 'late', 10)", "(2, 'C', 20)")
    shop.run()
    assert set(shop.sql(f"select * from {shop.built('latest')}")) == {(1, "A", 20), (2, "C", 20)}


def test_a_key_with_other_values_in_the_model_is_an_error(shop):
    """The rows of several groups would form one group in the model, and not all of them are read."""
    events = shop.source("events", "k string, v int")
    for name, key in {"plain": "k", "folded": "coalesce(lower(k), 'none')"}.items():
        groups = "{{ ip_changed_groups(source('raw', 'events'), 'k') }}"
        sql = f"select {key} as k, sum(v) as v from {groups} group by 1"
        shop.model(name, sql, incremental_strategy="merge", unique_key="k")
    shop.insert(events, "('a', 1)", "('A', 2)", "(null, 4)")
    shop.run()
    before = shop.rows(shop.built("folded"))
    shop.insert(events, "('A', 8)")
    message = shop.fails()
    assert '{"k":"a"} (1 row)' in message and "return k unchanged" in message
    assert shop.rows(shop.built("folded")) == before
    assert shop.rows(shop.built("plain")) == shop.rows(f"(select k, sum(v) from {events} group by k)")
    shop.sql(f"update {events} set v = 5 where k is null")
    assert '{"k":"none"}' in shop.fails()
    assert shop.rows(shop.built("plain")) == shop.rows(f"(select k, sum(v) from {events} group by k)")

"""The strategy ``history`` on a log: versions by the sequence of events, whatever the order in which they arrive."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from iceberg_incremental.errors import StatementError
from iceberg_incremental.publish.publisher import Publisher

from .shop import hold_as_a_server

SQL = "select id, v, w, s, _change_type from {{ ip_changes(source('raw', 'events')) }}"
HISTORY = {"incremental_strategy": "history", "unique_key": "id", "sequence_by": "s"}
DROP = ("--vars", "{ip_drop_history: [kept]}")


@pytest.fixture
def events(shop):
    """A log and its history."""
    shop.model("kept", SQL, **HISTORY)
    return shop.source("events", "id int, v string, w string, s int, _change_type string")


def versions(shop: Any, columns: str = "id, v, w, dbt_valid_from, dbt_valid_to") -> Counter[Any]:
    return shop.rows(shop.built("kept"), columns)


def send(shop: Any, table: str, *events: tuple[Any, ...]) -> None:
    """Commit events: id, v, w, s, and the type of change."""
    values = []
    for event in events:
        id_, v, w, s = event[:4]
        values.append(f"({id_}, {v!r}, {w!r}, {s}, '{event[4] if len(event) > 4 else 'INSERT'}')")
    shop.insert(table, *values)


@pytest.mark.core
def test_late_events_split_the_intervals_into_which_they_fall(shop, events):
    send(shop, events, (1, "a", "x", 10), (1, "c", "x", 30), (2, "a", "x", 10))
    shop.run()
    assert versions(shop) == Counter([(1, "a", "x", 10, 30), (1, "c", "x", 30, None), (2, "a", "x", 10, None)])
    send(shop, events, (1, "b", "x", 20), (2, "", "", 15, "DELETE"), (1, "0", "x", 5))
    found = shop.run()
    assert found.ip("kept")["epoch"] == 2
    expected = Counter(
        [
            (1, "0", "x", 5, 10),
            (1, "a", "x", 10, 20),
            (1, "b", "x", 20, 30),
            (1, "c", "x", 30, None),
            (2, "a", "x", 10, 15),
        ]
    )
    assert versions(shop) == expected
    send(shop, events, (2, "b", "x", 12), (1, "b", "x", 20))  # a late event before the deletion, and a repeated event
    shop.run()
    expected = expected - Counter([(2, "a", "x", 10, 15)]) + Counter([(2, "a", "x", 10, 12), (2, "b", "x", 12, 15)])
    assert versions(shop) == expected
    before = versions(shop, "*")
    assert shop.run().action("kept") == "nothing"
    found = shop.run("--full-refresh")
    assert "are dropped" not in found.printed
    assert versions(shop, "*") == before
    types = dict(shop.frame(f"select * from {shop.built('kept')}").dtypes)
    assert (types["dbt_valid_from"], types["dbt_valid_to"], types["dbt_updated_at"]) == ("int", "int", "int")


@pytest.mark.core
def test_events_without_a_change_that_counts_are_remembered(shop, events):
    shop.model("kept", SQL, **HISTORY, check_cols=["v"])
    send(shop, events, (1, "a", "x", 10), (1, "a", "y", 30))
    shop.run()
    columns = "v, w, s, dbt_valid_from, dbt_valid_to, dbt_updated_at"
    assert versions(shop, columns) == Counter([("a", "y", 30, 10, None, 30)])
    send(shop, events, (1, "b", "z", 20))
    shop.run()
    expected = Counter([("a", "x", 10, 10, 20, 10), ("b", "z", 20, 20, 30, 20), ("a", "y", 30, 30, None, 30)])
    assert versions(shop, columns) == expected
    before = versions(shop, "*")
    shop.run("--full-refresh")
    assert versions(shop, "*") == before


def test_a_version_that_begins_earlier_replaces_the_existing_one(shop, events):
    send(shop, events, (1, "a", "x", 10), (1, "b", "x", 30))
    shop.run()
    send(shop, events, (1, "b", "x", 20))
    shop.run()
    assert versions(shop, "v, dbt_valid_from, dbt_valid_to, dbt_updated_at") == Counter(
        [("a", 10, 20, 10), ("b", 20, None, 30)]
    )


def test_deletions_can_make_versions(shop, events):
    end = {"dbt_valid_to_current": "999"}
    shop.model("kept", SQL, **HISTORY, hard_deletes="new_record", **end)
    send(shop, events, (1, "a", "x", 10), (1, "", "", 30, "DELETE"))
    shop.run()
    columns = "v, dbt_valid_from, dbt_valid_to, dbt_is_deleted"
    assert versions(shop, columns) == Counter([("a", 10, 30, "False"), ("a", 30, 999, "True")])
    send(shop, events, (1, "b", "x", 20), (1, "", "", 40, "DELETE"), (1, "c", "x", 50))
    shop.run()
    expected = Counter([("a", 10, 20, "False"), ("b", 20, 30, "False"), ("b", 30, 50, "True"), ("c", 50, 999, "False")])
    assert versions(shop, columns) == expected
    shop.model("at", "select v from {{ ip_history_as_of(ref('kept'), 25) }}", materialized="view")
    shop.run("--select", "at")
    assert shop.rows(shop.built("at")) == Counter([("b",)])


def test_deletions_can_be_ignored(shop, events):
    shop.model("kept", SQL, **HISTORY, hard_deletes="ignore")
    send(shop, events, (1, "a", "x", 10), (1, "", "", 30, "DELETE"))
    shop.run()
    assert versions(shop) == Counter([(1, "a", "x", 10, None)])
    shop.model("kept", SQL, **HISTORY)
    assert "hard_deletes is invalidate, but was ignore" in shop.fails()
    shop.run("--full-refresh")
    assert versions(shop) == Counter([(1, "a", "x", 10, 30)])


def test_a_log_without_deletions_needs_no_change_type(shop):
    events = shop.source("events", "id int, v string, at timestamp")
    sql = "select * from {{ ip_changes(source('raw', 'events')) }}"
    names = {"dbt_valid_from": "began", "dbt_valid_to": "ended"}
    shop.model("kept", sql, **{**HISTORY, "sequence_by": "at"}, snapshot_meta_column_names=names)
    shop.insert(events, "(1, 'a', timestamp '2026-01-01')", "(null, 'n', timestamp '2026-01-01')")
    shop.run()
    shop.insert(events, "(1, 'b', timestamp '2026-01-03')", "(null, 'm', timestamp '2025-01-01')")
    shop.run()
    assert versions(shop, "id, v, string(date(began)), string(date(ended))") == Counter(
        [
            (1, "a", "2026-01-01", "2026-01-03"),
            (1, "b", "2026-01-03", None),
            (None, "m", "2025-01-01", "2026-01-01"),
            (None, "n", "2026-01-01", None),
        ]
    )
    shop.model("at", "select v from {{ ip_history_as_of(ref('kept'), '2026-01-02') }}", materialized="view")
    shop.run("--select", "at")
    assert shop.rows(shop.built("at")) == Counter([("a",), ("n",)])


def test_a_key_that_changes_is_a_deletion_of_the_old_one(shop, events):
    send(shop, events, (1, "a", "x", 10), (2, "a", "x", 10), (2, "a", "x", 20, "UPDATE_BEFORE"))
    shop.run()
    send(shop, events, (1, "a", "x", 20, "UPDATE_BEFORE"), (1, "b", "x", 20, "UPDATE_AFTER"))
    shop.run()
    assert versions(shop) == Counter([(1, "a", "x", 10, 20), (1, "b", "x", 20, None), (2, "a", "x", 10, 20)])


@pytest.mark.thorough
def test_names_that_need_quotes(shop):
    table = shop.source("events", "`order id` int, `from` string, `a``b` int, `at time` int, op string")
    shop.model(
        "kept",
        "select * except (op), op as _change_type from {{ ip_changes(source('raw', 'events')) }}",
        incremental_strategy="history",
        unique_key="order id",
        sequence_by="at time",
        check_cols=["from"],
        snapshot_meta_column_names={"dbt_valid_from": "valid from", "dbt_valid_to": "to", "dbt_scd_id": "i`d"},
    )
    shop.insert(table, "(1, 'a', 1, 10, 'INSERT')", "(1, 'a', 2, 20, 'INSERT')", "(1, null, null, 30, 'DELETE')")
    shop.run()
    shop.insert(table, "(1, 'b', 3, 15, 'INSERT')", "(1, 'a', 4, 12, 'INSERT')")
    shop.run()
    columns = "`order id`, `from`, `a``b`, `at time`, `valid from`, `to`"
    expected = [(1, "a", 4, 12, 10, 15), (1, "b", 3, 15, 15, 20), (1, "a", 2, 20, 20, 30)]
    assert shop.rows(shop.built("kept"), columns) == Counter(expected)
    shop.run("--full-refresh")
    assert shop.rows(shop.built("kept"), columns) == Counter(expected)


@pytest.mark.parametrize(
    ("before", "late", "said"),
    [
        ([(1, "a", "x", 10)], (1, "b", "x", 10), "Different events of "),
        ([(1, "a", "x", 10)], (1, "", "", 10, "DELETE"), "Different events of "),
        ([(1, "a", "x", 10), (1, "a", "x", 20)], (1, "b", "x", 10), "Different events of "),
        ([(1, "a", "x", 10), (1, "", "", 20, "DELETE")], (1, "b", "x", 20), "Different events of "),
        ([(1, "a", "x", 10)], (1, "b", "x", "null"), "have NULL in sequence_by"),
    ],
)
def test_events_without_an_order_are_an_error(shop, events, before, late, said):
    send(shop, events, *before)
    shop.run()
    found = versions(shop, "*")
    send(shop, events, late, (3, "a", "x", 5))
    message = shop.fails()
    assert said in message
    assert '{"id":1}' in message
    assert versions(shop, "*") == found
    assert said in shop.fails("--full-refresh")
    assert versions(shop, "*") == found


def test_new_columns_are_null_in_old_versions(shop, events):
    shop.model("kept", SQL, **HISTORY, on_schema_change="append_new_columns")
    send(shop, events, (1, "a", "x", 10), (1, "a", "x", 20), (2, "a", "x", 10))
    shop.run()
    shop.sql(f"alter table {events} add column n int")
    shop.model("kept", SQL.replace("w, s", "w, s, n"), **HISTORY, on_schema_change="append_new_columns")
    shop.sql(f"insert into {events} values (1, 'b', 'x', 15, 'INSERT', 7), (1, 'a', 'x', 20, 'INSERT', null)")
    shop.run()
    columns = "id, v, n, dbt_valid_from, dbt_valid_to"
    expected = Counter(
        [(1, "a", None, 10, 15), (1, "b", 7, 15, 20), (1, "a", None, 20, None), (2, "a", None, 10, None)]
    )
    assert versions(shop, columns) == expected
    every = f"{columns}, w, s, dbt_scd_id, dbt_updated_at"  # the new column is last until the next full refresh
    before = versions(shop, every)
    shop.run("--full-refresh")
    assert versions(shop, every) == before
    shop.model("kept", SQL, **HISTORY, on_schema_change="append_new_columns")
    shop.sql(f"insert into {events} values (1, 'c', 'x', 50, 'INSERT', 7)")
    assert "does not return all columns" in shop.fails()


def test_other_configs_are_an_error_until_all_versions_are_rebuilt(shop, events):
    send(shop, events, (1, "a", "x", 10), (1, "a", "y", 20))
    shop.run()
    shop.model("kept", SQL, **HISTORY, check_cols=["v"])
    message = shop.fails()
    assert "check_cols is v, but was all" in message
    assert "rebuild all versions with the new config" in message
    shop.model("kept", SQL, **{**HISTORY, "unique_key": ["id", "w"]})
    assert "unique_key is id, w, but was id" in shop.fails()
    shop.model("kept", SQL.replace("s, ", "s, s + 1 as z, "), **{**HISTORY, "sequence_by": "z"})
    assert "sequence_by is z, but was s" in shop.fails()
    shop.model("kept", SQL, **HISTORY, check_cols=["v"])
    shop.run("--full-refresh")
    assert versions(shop) == Counter([(1, "a", "y", 10, None)])
    sql = "select id, v from {{ ip_changelog(source('raw', 'events')) }}"
    shop.model("kept", sql, incremental_strategy="history", unique_key="id", check_cols=["v"])
    assert "sequence_by is NULL, but was s" in shop.fails("--full-refresh")


@pytest.mark.core
def test_versions_whose_events_have_left_the_log_are_not_lost(shop, events):
    send(shop, events, (1, "a", "x", 10), (2, "a", "x", 10))
    shop.run()
    shop.sql(f"delete from {events} where id = 1")
    before = versions(shop, "*")
    message = shop.fails("--full-refresh")
    assert "changed or deleted rows" in message
    assert "ip_set_checkpoint" in message
    shop.sql(f"create or replace table {events} using iceberg as select * from {events}")
    assert "does not come from snapshot" in shop.fails()  # on_history_break
    assert versions(shop, "*") == before
    (head,) = [shop.head(events)]
    found = shop.operation("ip_set_checkpoint", model="kept", source="events", snapshot_id=head)
    assert found.success, found.printed
    send(shop, events, (1, "b", "x", 20))
    shop.run()
    assert versions(shop) == Counter([(1, "a", "x", 10, 20), (1, "b", "x", 20, None), (2, "a", "x", 10, None)])
    # the log has all commits since it was recreated, but the versions are older
    assert "may have skipped commits" in shop.fails("--full-refresh")
    found = shop.run("--full-refresh", *DROP)
    assert "3 versions of" in found.printed
    assert versions(shop) == Counter([(1, "b", "x", 20, None), (2, "a", "x", 10, None)])


def test_a_log_is_complete_although_its_first_snapshots_have_expired(shop, events):
    send(shop, events, (1, "a", "x", 10))
    shop.run()
    send(shop, events, (1, "b", "x", 20))
    shop.run()
    shop.sql(
        f"call {shop.catalog}.system.expire_snapshots(table => '{events}', retain_last => 1,"
        " older_than => timestamp '2100-01-01')"
    )
    send(shop, events, (1, "c", "x", 15))
    shop.run("--full-refresh")
    assert versions(shop) == Counter([(1, "a", "x", 10, 15), (1, "c", "x", 15, 20), (1, "b", "x", 20, None)])


def test_a_table_without_a_checkpoint_is_not_built_again(shop, events):
    shop.sql(f"create schema if not exists {shop.catalog}.`{shop.schema}`")
    shop.sql(f"create table {shop.built('kept')} using iceberg as select 1 as id, 'a' as v")
    send(shop, events, (1, "a", "x", 10))
    shop.model("kept", SQL, **HISTORY, on_missing_checkpoint="full_refresh")
    assert "no checkpoint that records what was read" in shop.fails()
    assert shop.frame(f"select * from {shop.built('kept')}").columns == ["id", "v"]


def test_versions_that_no_log_has_made_are_not_continued(shop, events):
    """The deletion that has ended a version is unknown, so a later event would extend the version."""
    shop.sql(f"create schema if not exists {shop.catalog}.`{shop.schema}`")
    shop.sql(
        f"create table {shop.built('kept')} using iceberg as select 1 as id, 'a' as v, 'x' as w, 10 as s,"
        " 'i' as dbt_scd_id, 10 as dbt_updated_at, 10 as dbt_valid_from, 20 as dbt_valid_to"
    )
    send(shop, events, (1, "a", "x", 10), (1, "", "", 20, "DELETE"))
    assert "ip_set_checkpoint" not in shop.fails("--full-refresh")
    before = versions(shop, "*")
    assert shop.operation("ip_set_checkpoint", model="kept", source="events", snapshot_id=shop.head(events)).success
    send(shop, events, (1, "b", "x", 30))
    assert "were not created from a log" in shop.fails()
    assert versions(shop, "*") == before


@pytest.mark.parametrize(
    "sql",
    [SQL.replace("changes(", "changelog("), SQL.replace("changes(", "signed_changes(") + " where _change_sign = 1"],
)
def test_what_the_sql_must_read(shop, events, sql):
    send(shop, events, (1, "a", "x", 10))
    shop.model("kept", sql.replace(", _change_type", ", 'INSERT' as _change_type"), **HISTORY)
    assert "its SQL does not read exactly one log" in shop.fails()


@pytest.mark.parametrize("server", [False, True])
@pytest.mark.parametrize("place", ["_attempt", "_forward"])
def test_a_run_that_ends_between_its_statements_loses_nothing(shop, events, monkeypatch, place, server):
    if server:
        hold_as_a_server(monkeypatch)
    send(shop, events, (1, "a", "x", 10), (1, "a", "x", 30), (2, "", "", 20, "DELETE"))
    shop.run()
    before = versions(shop, "*")
    send(shop, events, (1, "a", "x", 40), (3, "", "", 20, "DELETE"))

    def crash(*_: Any) -> None:
        raise StatementError("the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(Publisher, place, crash)
        assert "the connection was lost" in shop.fails()
    assert versions(shop, "*") == before
    shop.run()
    send(shop, events, (1, "b", "x", 20), (1, "b", "x", 35), (2, "a", "x", 10), (3, "a", "x", 10))
    shop.run()
    assert versions(shop, "id, v, dbt_valid_from, dbt_valid_to") == Counter(
        [
            (1, "a", 10, 20),
            (1, "b", 20, 30),
            (1, "a", 30, 35),
            (1, "b", 35, 40),
            (1, "a", 40, None),
            (2, "a", 10, 20),
            (3, "a", 10, 20),
        ]
    )


@pytest.mark.core("check_cols")
@pytest.mark.parametrize(
    "config",
    [
        {"check_cols": ["v"]},
        {"hard_deletes": "new_record", "dbt_valid_to_current": "2147483647"},
        {"hard_deletes": "ignore"},
    ],
    ids="-".join,
)
def test_all_versions_are_compared_with_those_that_the_events_make(shop, events, config):
    shop.model("kept", SQL, **HISTORY, **config)
    send(shop, events, (1, "a", "x", 10), (1, "c", "x", 30), (1, "c", "y", 35), (2, "a", "x", 10))
    shop.run()
    send(shop, events, (1, "b", "x", 20), (2, "", "", 15, "DELETE"), (2, "b", "x", 25))
    shop.run()
    send(shop, events, (1, "d", "x", 40))  # pending events do not affect the comparison
    assert shop.verified()["kept"]["result"] == "equal"
    shop.sql(f"update {shop.built('kept')} set v = 'z' where id = 1 and dbt_valid_from = 20")
    found = shop.verified(fails=True)["kept"]
    assert (found["result"], found["found"]["changed"]) == ("differs", 1)


def test_versions_of_a_log_whose_commits_were_skipped_are_not_compared(shop, events):
    shop.model("kept", SQL, **HISTORY, on_source_rewrite="ignore")
    send(shop, events, (1, "a", "x", 10), (2, "a", "x", 10))
    shop.run()
    shop.sql(f"delete from {events} where id = 2")
    send(shop, events, (1, "b", "x", 20))
    shop.run()
    found = shop.verified()["kept"]
    assert found["result"] == "not_compared"
    assert "its log may no longer have all events" in found["reason"]

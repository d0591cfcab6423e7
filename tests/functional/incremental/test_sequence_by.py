"""Order within a key: the table has the newest row of each key, whatever the order in which rows arrive."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg import SparkIcebergAdapter
from iceberg_incremental.publish.fence import Fence
from iceberg_incremental.publish.publisher import Publisher

from .shop import CATALOG, hold_as_a_server

LOG = "seq int, at int, id int, v string, op string"
ROWS = "select id, at, seq, v from {{ ip_changes(source('raw', 'log')) }} where op not in ('d', 'b') and id is not null"
CHANGES = (
    "select id, at, seq, v, case op when 'd' then 'DELETE' when 'b' then 'UPDATE_BEFORE' else 'UPDATE_AFTER' end"
    " as _change_type from {{ ip_changes(source('raw', 'log')) }}"
)
CHANGES_OF_EVENTS = "select * from {{ ip_changes(source('raw', 'events')) }}"
KEYED = {"unique_key": "id", "sequence_by": ["at", "seq"]}
MERGE = {"incremental_strategy": "merge", **KEYED}
APPLY = {"incremental_strategy": "apply_changes", **KEYED}


def history(rng, length, keys):
    """Events as a database logs them, each with one or two rows: (at, seq, id, v, op).

    Some events share a time. Keys are deleted and inserted again. An update is logged with the old row, which may have
    another key.
    """
    events = []
    for seq in range(length):
        at, key, op = seq // 3, rng.choice(keys), rng.choice("uuudk")
        row = (at, seq, key, f"v{seq}", "u")
        deleted, old = (at, seq, key, "", "d"), (at, seq, rng.choice([key, *keys]), "old", "b")
        events.append({"u": [row], "d": [deleted], "k": [old, row]}[op])
    return events


def newest(events, *, deletes):
    """The table after all events."""
    rows = {}
    for at, seq, key, v, op in sorted((row for event in events for row in event), key=lambda row: (row[1], row[4])):
        if op == "u":
            rows[key] = (key, at, seq, v)
        elif deletes:
            rows.pop(key, None)
    return Counter(rows.values())


def insert(shop, log, events):
    rows = [row for event in events for row in event]
    shop.insert(log, *(f"({s}, {at}, {'null' if k is None else k}, '{v}', '{op}')" for at, s, k, v, op in rows))


def test_every_order_of_arrival_gives_the_same_table(shop):
    rng = random.Random(2)
    log = shop.source("log", LOG)
    shop.model("merged", ROWS, **MERGE)
    shop.model("mirror", CHANGES, **APPLY)
    events = history(rng, 60, [1, 2, 3, 4, 5, None])
    arrival = rng.sample(events, len(events))
    gone = [[(100, 100, 1, "", "d")], [(101, 101, None, "", "d")]]  # in a separate run
    batches = [arrival[:12], gone, *(arrival[start : start + 12] for start in range(12, 60, 12))]
    for number, batch in enumerate(batches, 1):
        for half in (batch[::2], batch[1::2]):
            insert(shop, log, half)
        shop.run()
        seen = [event for each in batches[:number] for event in each]
        keyed = [[row for row in event if row[2] is not None] for event in seen]
        assert shop.rows(shop.built("merged")) == newest(keyed, deletes=False)
        assert shop.rows(shop.built("mirror")) == newest(seen, deletes=True)
    for arguments in ((), ("--full-refresh",)):
        insert(shop, log, batches[0])  # a second time
        shop.run(*arguments)
        assert shop.rows(shop.built("merged")) == newest(keyed, deletes=False)
        assert shop.rows(shop.built("mirror")) == newest(seen, deletes=True)


EVENTS = "id int, at int, v string, _change_type string"
PASSED_ON = "select id, at, v, _change_type from {{ ip_changes(source('raw', 'log')) }}"
SIMPLE = {"incremental_strategy": "apply_changes", "unique_key": "id", "sequence_by": "at"}
V2 = {"format-version": "2"}
COPIED = {"format-version": "3", **{f"write.{kind}.mode": "copy-on-write" for kind in ("delete", "update", "merge")}}


def remembered(shop, name):
    """The deletions that the model's next run reads."""
    deletions = shop.checkpoint(shop.built(name))["sequence"].get("deletions")
    if deletions is None:
        return None
    return shop.rows(f"{shop.built(name + '__ip_deleted')} version as of {deletions['snapshot_id']}")


@pytest.fixture
def log(shop):
    """A log of changes, and its model with two rows: key 1 and key 2, both with time 5."""
    table = shop.source("log", EVENTS)
    shop.model("mirror", PASSED_ON, **SIMPLE)
    shop.insert(table, "(1, 5, 'a', 'INSERT')", "(2, 5, 'b', 'INSERT')")
    shop.run()
    return table


def refused(shop, log, *rows):
    """Run these rows, which must fail without any effect, and remove the rows again; returns the message."""
    built = shop.built("mirror")
    before, head = shop.head(built), shop.head(log)
    shop.insert(log, *rows)
    message = shop.fails()
    assert shop.head(built) == before
    assert shop.branches(built) == {"main"}
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{shop.source_schema}.log', {head})")
    return message


@pytest.mark.thorough
def test_rows_of_which_none_is_the_newest_are_an_error_and_the_same_rows_are_one(shop, log):
    shop.insert(log, "(3, 7, 'c', 'INSERT')", "(1, 9, 'x', 'DELETE')", "(1, 8, 'A', 'UPDATE_AFTER')")
    shop.run()
    for rows, said in (
        (["(1, 10, 'p', 'INSERT')", "(1, 10, 'q', 'INSERT')", "(9, 1, 'z', 'INSERT')"], "several new rows"),
        (["(1, 10, 'p', 'INSERT')", "(1, 10, 'p', 'DELETE')"], "several new rows"),
        (["(2, 5, 'other', 'UPDATE_AFTER')"], "as different existing rows"),
        (["(2, 5, 'b', 'DELETE')"], "as existing rows"),
        (["(1, 9, 'x', 'INSERT')"], "deletions that an earlier run applied"),
        (["(2, null, 'b', 'UPDATE_AFTER')", "(2, 10, 'b', 'UPDATE_AFTER')"], "NULL in rows"),
        (["(2, null, 'b', 'DELETE')"], "NULL in rows"),
    ):
        message = refused(shop, log, *rows)
        key = rows[0][1]
        assert said in message and f'{{"id":{key}}}' in message and "mirror" in message, message
    same = ["(2, 5, 'b', 'UPDATE_AFTER')", "(1, 9, 'x', 'DELETE')", "(4, 1, 'd', 'INSERT')", "(4, 1, 'd', 'INSERT')"]
    older = ["(2, 4, 'p', 'INSERT')", "(2, 4, 'q', 'INSERT')", "(1, 8, 'x', 'DELETE')", "(3, 6, 'c', 'DELETE')"]
    shop.insert(log, *same, *older)
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(2, 5, "b"), (3, 7, "c"), (4, 1, "d")])
    assert remembered(shop, "mirror") == Counter([(1, 9)])


@pytest.mark.thorough
def test_ties_are_an_error_in_a_build_and_in_a_merge_too(shop, log):
    shop.model("merged", PASSED_ON.replace(", _change_type", ""), **SIMPLE | {"incremental_strategy": "merge"})
    shop.run("--select", "merged")
    built = [shop.built(name) for name in ("merged", "mirror")]
    for row, said in (
        ("(2, 5, 'other', 'INSERT')", "the same sequence_by (at)"),
        ("(2, null, 'b', 'INSERT')", "NULL in"),
    ):
        heads, start = [shop.head(table) for table in built], shop.head(log)
        shop.insert(log, row)
        for arguments in ((), ("--full-refresh",)):
            found = shop.dbt("run", *arguments)
            for name in ("merged", "mirror"):
                message = found.message(name)
                assert f"model.shop.{name}" in message and said in message and '{"id":2}' in message, message
        assert [shop.head(table) for table in built] == heads
        shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{shop.source_schema}.log', {start})")


def test_a_null_that_the_table_holds_is_an_error_where_its_key_has_a_new_row(shop, log):
    shop.sql(f"update {shop.built('mirror')} set at = null where id = 2")
    shop.insert(log, "(1, 6, 'A', 'UPDATE_AFTER')")
    shop.run()
    message = refused(shop, log, "(2, 6, 'B', 'UPDATE_AFTER')")
    assert "has rows with NULL in sequence_by" in message and '{"id":2}' in message


@pytest.mark.thorough
@pytest.mark.parametrize("server", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_deletions_are_remembered_in_every_layout(shop, monkeypatch, server):
    if server:
        hold_as_a_server(monkeypatch)
    log = shop.source("log", EVENTS)
    layouts = {"v3": {}, "v2": V2, "copied": COPIED}
    for name, properties in layouts.items():
        shop.model(name, PASSED_ON, **SIMPLE, tblproperties=properties)
    shop.insert(log, "(1, 5, 'a', 'INSERT')", "(null, 5, 'n', 'INSERT')", "(2, 1, 'b', 'INSERT')")
    shop.run()
    assert remembered(shop, "v3") is None
    shop.insert(log, "(1, 9, null, 'DELETE')", "(null, 9, null, 'DELETE')", "(7, 9, null, 'DELETE')")
    shop.run()
    shop.insert(log, "(1, 8, 'late', 'INSERT')", "(null, 8, 'late', 'INSERT')", "(7, 8, 'late', 'INSERT')")
    shop.run()
    for name in layouts:
        assert shop.rows(shop.built(name)) == Counter([(2, 1, "b")]), name
        assert remembered(shop, name) == Counter([(1, 9), (None, 9), (7, 9)]), name
    shop.insert(log, "(1, 10, 'back', 'INSERT')", "(2, 2, null, 'DELETE')")
    shop.run()
    for name in layouts:
        assert shop.rows(shop.built(name)) == Counter([(1, 10, "back")]), name
        assert remembered(shop, name) == Counter([(1, 9), (None, 9), (7, 9), (2, 2)]), name


@pytest.mark.thorough
def test_a_run_that_fails_remembers_nothing(shop, log, monkeypatch):
    """A run that reads fewer commits must not have the deletions of later commits."""
    shop.insert(log, "(1, 6, 'A', 'UPDATE_AFTER')")
    shop.insert(log, "(1, 9, null, 'DELETE')", "(2, 9, null, 'DELETE')")
    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "apply", lambda *args: (_ for _ in ()).throw(DbtRuntimeError("killed")))
        assert "killed" in shop.fails()
    shop.model("mirror", PASSED_ON, **SIMPLE, max_snapshots_per_run=1)
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, 6, "A"), (2, 5, "b")])
    assert remembered(shop, "mirror") is None
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter()
    assert remembered(shop, "mirror") == Counter([(1, 9), (2, 9)])
    shop.insert(log, "(3, 9, null, 'DELETE')")
    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "apply", lambda *args: (_ for _ in ()).throw(DbtRuntimeError("killed")))
        shop.fails()
    shop.insert(log, "(4, 9, null, 'DELETE')")
    shop.run()
    assert remembered(shop, "mirror") == Counter([(1, 9), (2, 9), (3, 9)])
    shop.run()
    assert remembered(shop, "mirror") == Counter([(1, 9), (2, 9), (3, 9), (4, 9)])


def test_a_full_refresh_remembers_the_deletions_of_the_whole_source_and_no_others(shop, log, monkeypatch):
    shop.insert(log, "(1, 9, null, 'DELETE')", "(2, 9, null, 'DELETE')")
    shop.run()
    shop.sql(f"delete from {log} where id = 2")
    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "rebuild", lambda *args: (_ for _ in ()).throw(DbtRuntimeError("killed")))
        assert "killed" in shop.fails("--full-refresh")
    assert remembered(shop, "mirror") == Counter([(1, 9), (2, 9)])
    shop.run("--full-refresh")
    assert remembered(shop, "mirror") == Counter([(1, 9)])
    shop.insert(log, "(1, 8, 'late', 'INSERT')", "(2, 8, 'now', 'INSERT')")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(2, 8, "now")])


@pytest.mark.thorough
def test_an_old_table_that_a_full_refresh_failed_to_replace_keeps_its_deletions(shop, log, monkeypatch):
    shop.insert(log, "(1, 9, null, 'DELETE')")
    shop.run()
    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "rebuild", lambda *args: (_ for _ in ()).throw(DbtRuntimeError("killed")))
        shop.fails("--full-refresh")
    shop.insert(log, "(1, 8, 'late', 'INSERT')", "(2, 9, null, 'DELETE')")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter()
    assert remembered(shop, "mirror") == Counter([(1, 9), (2, 9)])


@pytest.mark.thorough
def test_a_target_that_is_rolled_back_forgets_the_deletions_since(shop, log):
    before = shop.head(shop.built("mirror"))
    shop.insert(log, "(1, 9, null, 'DELETE')")
    shop.run()
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{shop.schema}.mirror', {before})")
    shop.model("mirror", f"{PASSED_ON} where _change_type <> 'DELETE'", **SIMPLE)
    shop.insert(log, "(1, 8, 'A', 'UPDATE_AFTER')")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, 8, "A"), (2, 5, "b")])


@pytest.mark.core
def test_deletions_that_were_lost_are_an_error_and_a_full_refresh_goes_on(shop, log):
    shop.insert(log, "(1, 9, null, 'DELETE')")
    shop.run()
    shop.sql(f"drop table {shop.built('mirror__ip_deleted')}")
    shop.insert(log, "(1, 8, 'late', 'INSERT')")
    message = shop.fails()
    assert "are no longer known" in message and "mirror__ip_deleted" in message and "no such table" in message
    shop.run("--full-refresh")
    assert shop.rows(shop.built("mirror")) == Counter([(2, 5, "b")])
    assert remembered(shop, "mirror") == Counter([(1, 9)])


@pytest.mark.thorough
def test_a_table_of_deletions_may_be_compacted_and_its_snapshots_expire(shop, log):
    for key in (1, 2):
        shop.insert(log, f"({key}, 9, null, 'DELETE')")
        shop.run()
    beside = f"{shop.schema}.mirror__ip_deleted"
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{beside}', options => map('rewrite-all', 'true'))")
    shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{beside}', older_than => now())")
    shop.insert(log, "(1, 8, 'late', 'INSERT')", "(3, 9, null, 'DELETE')")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter()
    assert remembered(shop, "mirror") == Counter([(1, 9), (2, 9), (3, 9)])
    assert len(shop.snapshots(shop.built("mirror__ip_deleted"))) == 2


def test_a_table_of_another_kind_is_not_used_for_deletions(shop, log):
    shop.sql(f"create table {shop.built('mirror__ip_deleted')} (id int, at int) using iceberg")
    assert "is used for something else" in refused(shop, log, "(1, 9, null, 'DELETE')")


def test_a_column_of_the_sequence_that_the_sql_leaves_out_is_not_dropped(shop, log):
    shop.model("mirror", PASSED_ON.replace("at, ", ""), **SIMPLE, on_schema_change="sync_all_columns")
    assert "sequence_by names at" in refused(shop, log, "(1, 9, null, 'DELETE')")
    assert shop.rows(shop.built("mirror")) == Counter([(1, 5, "a"), (2, 5, "b")])


@pytest.mark.thorough
def test_keys_that_are_widened_find_the_deletions_that_were_remembered_before(shop, log):
    shop.insert(log, "(1, 9, null, 'DELETE')")
    shop.run()
    shop.model(
        "mirror", PASSED_ON.replace("id, at", "bigint(id) as id, bigint(at) as at"),
        **SIMPLE, on_schema_change="sync_all_columns",
    )  # fmt: skip
    shop.insert(log, "(1, 8, 'late', 'INSERT')", "(2, 9, null, 'DELETE')", "(3, 1, 'c', 'INSERT')")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(3, 1, "c")])
    assert remembered(shop, "mirror") == Counter([(1, 9), (2, 9)])
    assert dict(shop.sql(f"select typeof(id), typeof(at) from {shop.built('mirror__ip_deleted')} limit 1")) == {
        "bigint": "bigint"
    }


@pytest.mark.thorough
def test_a_mirror_of_a_table_whose_rows_share_keys(shop):
    """A deletion has the sequence of the deleted row."""
    events = shop.source("events", "n int, id int, at int, v string")
    shop.model(
        "mirror",
        "select id, at, v, _change_type from {{ ip_changelog(source('raw', 'events'), unique_key='n') }}",
        **SIMPLE,
    )
    shop.insert(events, "(1, 1, 5, 'old')", "(2, 1, 6, 'new')", "(3, 3, 1, 'c')", "(4, 4, 1, 'd')")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, 6, "new"), (3, 1, "c"), (4, 1, "d")])
    shop.sql(f"delete from {events} where n in (1, 3)")
    shop.sql(f"update {events} set at = 2, v = 'D' where n = 4")
    shop.insert(events, "(5, 5, 1, 'e')")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, 6, "new"), (4, 2, "D"), (5, 1, "e")])
    shop.sql(f"update {events} set id = 6 where n = 4")
    shop.sql(f"delete from {events} where n = 2")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(6, 2, "D"), (5, 1, "e")])
    shop.sql(f"update {events} set at = 1, v = 'back' where n = 4")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(6, 2, "D"), (5, 1, "e")])
    shop.sql(f"update {events} set v = 'E' where n = 5")
    assert "as different existing rows" in shop.fails()


SEQUENCES = {
    "double": ("-1.5D", "0.0D", "double('NaN')"),
    "string": ["'Z'", "'a'", "'b'"],
    "timestamp": ("timestamp '2026-01-01 00:00:00.000001Z'", "timestamp '2026-01-01 00:00:00.000002Z'", "now()"),
    "struct<a:int,b:string>": (
        "named_struct('a', 1, 'b', 'x')",
        "named_struct('a', 1, 'b', 'y')",
        "named_struct('a', 2, 'b', 'a')",
    ),
}


@pytest.mark.thorough
def test_sequences_of_many_types_are_in_spark_s_order(shop):
    for number, (kind, values) in enumerate(SEQUENCES.items()):
        log = shop.source(f"log_{number}", f"id int, at {kind}, v string, m map<string, int>")
        shop.model(
            f"merged_{number}",
            f"select * from {{{{ ip_changes(source('raw', 'log_{number}')) }}}}",
            incremental_strategy="merge", unique_key="id", sequence_by="at",
        )  # fmt: skip
        old, middle, new = values
        m = "map('a', cast(null as int), 'b', 1)"
        shop.insert(log, f"(1, {old}, 'old', {m})", f"(1, {middle}, 'middle', {m})", f"(1, {middle}, 'middle', {m})")
        shop.insert(log, f"(2, {new}, 'new', {m})", f"(2, {middle}, 'middle', {m})", f"(null, null, 'n', {m})")
    shop.run()
    for number in range(len(SEQUENCES)):
        row = shop.sql(f"select id, v from {shop.built(f'merged_{number}')} where id is not null order by id")
        assert row == [(1, "middle"), (2, "new")]
        log = shop.raw(f"log_{number}")
        shop.sql(f"insert into {log} select * from {log} version as of {shop.head(log)}")
        shop.sql(f"insert into {log} select 1, max(at), 'newest', map() from {log} where id = 2")
    shop.run()
    for number in range(len(SEQUENCES)):
        rows = shop.rows(shop.built(f"merged_{number}"), "id, v")
        assert rows == Counter({(1, "newest"): 1, (2, "new"): 1, (None, "n"): 2}), number


@pytest.mark.thorough
def test_a_table_that_was_not_kept_in_this_order_is_rebuilt_or_taken_as_it_is(shop):
    log = shop.source("log", EVENTS)
    config = {"incremental_strategy": "merge", "unique_key": "id"}
    rows = "select id, at, v from {{ ip_changes(source('raw', 'log')) }}"
    shop.model("merged", rows, **config)
    shop.insert(log, "(1, 5, 'a', '')")
    shop.run()
    shop.model("merged", rows, **config, sequence_by="at")
    shop.insert(log, "(1, 4, 'late', '')")
    message = shop.fails()
    assert "was not built with sequence_by at" in message and "ip_set_checkpoint" in message
    assert shop.operation("ip_set_checkpoint", model="merged").success
    shop.run()
    assert shop.rows(shop.built("merged")) == Counter([(1, 5, "a")])
    shop.model("merged", rows, **config, sequence_by=["at", "v"])
    assert "no sequence_by" not in shop.fails()
    shop.run("--full-refresh")
    shop.insert(log, "(1, 5, 'b', '')")
    shop.run()
    assert shop.rows(shop.built("merged")) == Counter([(1, 5, "b")])


def test_invalid_sequences_are_refused_before_anything_is_written(shop):
    shop.source("log", "id int, at int, v string, m map<string, int>")
    rows = "select * from {{ ip_changes(source('raw', 'log')) }}"
    config = {"incremental_strategy": "merge", "unique_key": "id"}
    shop.model("unknown", rows, **config, sequence_by="updated_at")
    shop.model("maps", rows, **config, sequence_by="m")
    shop.model("appended", rows, sequence_by="at")
    shop.model("narrowed", rows, **config, sequence_by="at", merge_exclude_columns=["v"])
    shop.model(
        "grouped", "select * from {{ ip_changed_groups(source('raw', 'log'), 'id') }}", **config, sequence_by="at"
    )
    by_commit = "{{ ip_changelog(source('raw', 'log'), per='commit') }}"
    shop.model(
        "counted",
        f"select id, v, _commit_order, _change_type from {by_commit}",
        **{**APPLY, "sequence_by": "_commit_order"},
    )
    found = shop.dbt("run")
    for name, said in {
        "unknown": "sequence_by names updated_at",
        "maps": "m of type map<string,int>",
        "appended": "which only 'merge', 'apply_changes' and 'history' support",
        "narrowed": "sequence_by and merge_exclude_columns are both set",
        "grouped": "; sequence_by",
        "counted": "_commit_order, which starts at 0 in each run",
    }.items():
        assert said in found.message(name), found.message(name)


def test_a_tie_beside_a_column_that_was_added(shop):
    events = shop.source("events", "id int, at int, v string")
    merge = {"incremental_strategy": "merge", "unique_key": "id", "sequence_by": "at"}
    shop.model("latest", CHANGES_OF_EVENTS, **merge, on_schema_change="append_new_columns")
    shop.insert(events, "(1, 1, 'a')", "(2, 1, 'a')")
    shop.run()
    shop.sql(f"alter table {events} add column extra int")
    shop.insert(events, "(1, 1, 'a', 5)", "(2, 1, 'a', null)")
    for _ in range(2):
        message = shop.fails()
        assert "have the same unique_key (id) and the same sequence_by (at)" in message
        assert 'Found: {"id":1} (2 rows).' in message
    shop.sql(f"delete from {events} where extra = 5")  # no run has read this row
    shop.insert(events, "(1, 2, 'b', 6)")
    shop.run()
    assert shop.rows(shop.built("latest")) == Counter([(1, 2, "b", 6), (2, 1, "a", None)])


def test_new_rows_are_compared_with_what_a_pre_hook_has_left(shop):
    events = shop.source("events", "id int, at int, v string")
    merge = {"incremental_strategy": "merge", "unique_key": "id", "sequence_by": "at"}
    shop.model("latest", CHANGES_OF_EVENTS, **merge)
    shop.insert(events, "(1, 5, 'a')", "(2, 5, 'a')")
    shop.run()
    shop.model("latest", CHANGES_OF_EVENTS, **merge, pre_hook="delete from {{ this }} where id = 1")
    shop.insert(events, "(1, 4, 'b')", "(2, 4, 'b')")
    shop.run()
    assert shop.rows(shop.built("latest")) == Counter([(1, 4, "b"), (2, 5, "a")])


def test_a_window_of_event_time_replaces_rows_of_the_same_sequence(shop):
    events = shop.source("events", "id int, at timestamp, v int")
    shop.declare("events", config={"event_time": "at"})
    merge = {"incremental_strategy": "merge", "unique_key": "id", "sequence_by": "at", "event_time": "at"}
    shop.model("latest", CHANGES_OF_EVENTS.replace("*", "id, at, v * {{ var('factor', 1) }} as v"), **merge)
    days = [(1, 2, 10), (2, 2, 20), (3, 3, 30), (4, 4, 40)]
    shop.insert(events, *(f"({id}, timestamp'2026-01-{day:02}', {v})" for id, day, v in days))
    shop.insert(events, "(2, timestamp'2026-01-05', 21)")
    shop.run()
    shop.run("--vars", "{factor: 7}", "--event-time-start", "2026-01-02", "--event-time-end", "2026-01-04")
    assert shop.rows(shop.built("latest"), "id, v") == Counter([(1, 70), (2, 21), (3, 210), (4, 40)])


def test_another_writer_s_rows_are_not_compared_with_and_a_compaction_is_no_matter(shop, log, monkeypatch):
    statements = {
        "compacted": f"call {CATALOG}.system.rewrite_data_files(table => '{shop.schema}.mirror', "
        "options => map('rewrite-all', 'true'))",
        "written": f"update {shop.built('mirror')} set at = 9, v = 'z' where id = 3",
    }
    staged_commits = Fence.staged_commits
    for number, (name, statement) in enumerate(statements.items()):
        shop.insert(log, f"(3, {number + 6}, 'c', 'UPDATE_AFTER')")
        moved = []

        def move(self, *args, moved=moved, statement=statement, **more):
            if not moved:
                moved.append(shop.sql(statement))
            return staged_commits(self, *args, **more)

        with monkeypatch.context() as patched:
            patched.setattr(Fence, "staged_commits", move)
            if name == "compacted":
                shop.run()
            else:
                assert "Another writer has changed rows" in shop.fails()
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, 5, "a"), (2, 5, "b"), (3, 9, "z")])


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", ["merge", "apply_changes"])
def test_rows_that_a_server_may_compute_again_and_rows_of_some_columns_are_refused(shop, log, monkeypatch, strategy):
    sql = PASSED_ON if strategy == "apply_changes" else PASSED_ON.replace(", _change_type", "")
    config = {**SIMPLE, "incremental_strategy": strategy, "on_schema_change": "append_new_columns"}
    for name, changed in {"random": sql.replace(" v", " uuid() as v"), "narrow": sql.replace(", v", "")}.items():
        shop.model(name, sql, **config)
        shop.run("--select", name)
        shop.model(name, changed, **config)
    shop.insert(log, "(9, 9, 'new', 'INSERT')")
    shop.run("--select", "random")
    assert len(shop.rows(shop.built("random"))) == 3
    shop.insert(log, "(10, 9, 'new', 'INSERT')")
    hold_as_a_server(monkeypatch)
    assert "has sequence_by, but its SQL is not deterministic" in shop.fails("--select", "random")
    assert "its SQL does not return all columns of its table" in shop.fails("--select", "narrow")


@pytest.mark.thorough
def test_concurrent_deletions_of_another_run_are_an_error_and_do_not_count(shop, log, monkeypatch):
    beside, execute = shop.built("mirror__ip_deleted"), SparkIcebergAdapter.execute
    property_ = "tblproperties ('ip.deletions-of' = 'mirror')"
    for key, rival in (
        (1, f"create or replace table {beside} using iceberg {property_} as select 77 as id, 1 as at"),
        (2, f"insert into {beside} values (78, 1)"),
    ):
        shop.insert(log, f"({key}, 9, null, 'DELETE')")

        def overtake(self, sql, *args, rival=rival, **more):
            found = execute(self, sql, *args, **more)
            if "__ip_deleted" in sql and sql.startswith(("insert", "create")):
                shop.sql(rival)
            return found

        before = shop.head(shop.built("mirror"))
        with monkeypatch.context() as patched:
            patched.setattr(SparkIcebergAdapter, "execute", overtake)
            assert "the table of recorded deletions" in shop.fails()
        assert shop.head(shop.built("mirror")) == before
        shop.run()
    assert remembered(shop, "mirror") == Counter([(1, 9), (2, 9)])


@pytest.mark.thorough
def test_deletions_keep_their_keys_where_the_config_lists_these_in_another_order(shop):
    log = shop.source("log", "a int, b int, at int, op string")
    kind = "if(op = 'd', 'DELETE', 'UPDATE_AFTER') as _change_type"
    sql = f"select a, b, at, {kind} from {{{{ ip_changes(source('raw', 'log')) }}}}"
    for key, rows in (
        (["a", "b"], ["(1, 2, 10, 'u')", "(3, 4, 10, 'd')"]),
        (["b", "a"], ["(1, 2, 20, 'd')"]),
        (["b", "a"], ["(1, 2, 15, 'u')", "(2, 1, 15, 'u')", "(3, 4, 5, 'u')"]),
    ):
        shop.model("kept", sql, incremental_strategy="apply_changes", unique_key=key, sequence_by="at")
        shop.insert(log, *rows)
        shop.run()
    assert shop.rows(shop.built("kept")) == Counter([(2, 1, 15)])


def test_a_build_reads_sql_that_is_not_deterministic_once(shop):
    """The build also selects the rows with NULL in the key, and the deletions."""
    log = shop.source("log", "id int, at int")
    shop.sql(f"insert into {log} select int(id), int(id) from range(100)")
    rows = "select {}, at {} from {{{{ ip_changes(source('raw', 'log')) }}}}"
    shop.model("merged", rows.format("if(rand() < 0.5, null, id) as id", ""), **{**MERGE, "sequence_by": "at"})
    kind = ", if(rand() < 0.5, 'DELETE', 'INSERT') as _change_type"
    shop.model("mirror", rows.format("id", kind), **{**APPLY, "sequence_by": "at"})
    shop.run()
    assert shop.rows(shop.built("merged"), "at") == shop.rows(log, "at")
    kept, gone = (shop.rows(shop.built(name), "at") for name in ("mirror", "mirror__ip_deleted"))
    assert kept and gone and kept + gone == shop.rows(log, "at")

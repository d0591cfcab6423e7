"""One rule for all ways of merging: two new rows with the same key are an error, and NULL is not a key."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from iceberg_incremental.expose import groups

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
WITHOUT_W = "select id, v from {{ ip_changes(source('raw', 'events')) }}"
GROUPS = "select id, v, w from {{ ip_changed_groups(source('raw', 'events'), 'id') }}"
V2 = {"format-version": "2"}
COPY_ON_WRITE = {**V2, "write.delete.mode": "copy-on-write", "write.merge.mode": "copy-on-write"}

# how a model merges: (its SQL after the first build, configs)
WAYS = {
    "replaced": (CHANGES, {}),
    "replaced_in_v2": (CHANGES, {"tblproperties": V2}),
    "replaced_copy_on_write": (CHANGES, {"tblproperties": COPY_ON_WRITE}),
    "groups": (GROUPS, {}),
    "excluded": (CHANGES, {"merge_exclude_columns": ["w"]}),
    "updated": (CHANGES, {"merge_update_columns": ["v"], "tblproperties": COPY_ON_WRITE}),
    "predicates": (CHANGES, {"incremental_predicates": ["DBT_INTERNAL_DEST.id > 0"]}),
    "left_out": (WITHOUT_W, {"on_schema_change": "append_new_columns"}),
}


@pytest.fixture
def events(shop):
    return shop.source("events", "id int, v string, w string")


def define(shop, first_build=False):
    for name, (sql, config) in WAYS.items():
        first = CHANGES if name == "left_out" else sql
        shop.model(name, first if first_build else sql, incremental_strategy="merge", unique_key="ID", **config)


def failures(shop, *arguments):
    """The messages of all models. Each of them must fail."""
    found = shop.dbt("run", *arguments)
    assert {result.status for result in found.nodes.values()} == {"error"}, found.printed[-3000:]
    return {name: result.message for name, result in found.nodes.items()}


@pytest.mark.thorough
def test_a_key_that_comes_twice_is_an_error_however_its_rows_are_merged(shop, events):
    define(shop, first_build=True)
    shop.insert(events, "(1, 'a', 'a')")
    shop.run()
    define(shop)
    heads = {name: shop.head(shop.built(name)) for name in WAYS}
    shop.insert(events, "(7, 'x', 'x')", "(7, 'y', 'y')", "(8, 'z', 'z')")
    for name, message in failures(shop).items():
        assert name in message and '{"id":7} (2 times)' in message and "row_number()" in message, message
        assert shop.head(shop.built(name)) == heads[name]
        assert shop.branches(shop.built(name)) == {"main"}
    shop.sql(f"delete from {events} where v = 'x'")
    shop.run("--full-refresh")
    for name in WAYS:
        assert shop.rows(shop.built(name), "id, v") == shop.rows(events, "id, v"), name


def test_a_key_that_comes_twice_is_an_error_in_a_first_build_and_a_full_refresh(shop, events):
    define(shop)
    shop.insert(events, "(1, 'a', 'a')", "(2, 'b', 'b')")
    shop.insert(events, "(2, 'c', 'c')", "(2, 'd', 'd')")
    for name, message in failures(shop).items():
        assert name in message and '{"id":2} (3 times)' in message and "row_number()" in message, message
    assert not shop.sql(f"show tables in {shop.built('x').rsplit('.', 1)[0]}")
    shop.sql(f"delete from {events} where v in ('c', 'd')")
    shop.run()
    heads = {name: shop.head(shop.built(name)) for name in WAYS}
    shop.insert(events, "(1, 'e', 'e')")
    for name, message in failures(shop, "--full-refresh").items():
        assert '{"id":1} (2 times)' in message, message
        assert shop.head(shop.built(name)) == heads[name]


@pytest.mark.core
def test_a_merge_takes_rows_without_a_key_as_often_as_they_come(shop, events):
    define(shop, first_build=True)
    rows = ["(null, 'a', 'a')", "(null, 'a', 'a')", "(1, 'b', 'b')"]
    shop.insert(events, *rows)
    shop.run()
    define(shop)
    shop.insert(events, *rows)
    shop.run("--exclude", "groups")
    for name in WAYS:
        if name != "groups":
            found = shop.rows(shop.built(name), "id, v")
            assert found == Counter([(None, "a")] * 4 + [(1, "b")]), name


def test_more_new_keys_than_are_broadcast_into_a_table_without_old_rows(shop, events, monkeypatch):
    """Then the join has no left row, and Spark reads no right row."""
    monkeypatch.setattr(groups, "MOST_BROADCAST_KEYS", 0)
    monkeypatch.setattr(groups, "MOST_BROADCAST_NUMBERS", 0)
    many = "select id, v, w from {{ ip_changes(source('raw', 'events')) }}"
    hooks = {
        "pre_hook": "set spark.sql.autoBroadcastJoinThreshold = -1",
        "post_hook": "reset spark.sql.autoBroadcastJoinThreshold",
    }
    for name, properties in (("v2", V2), ("copied", COPY_ON_WRITE), ("v3", {})):
        shop.model(name, many, incremental_strategy="merge", unique_key="id", tblproperties=properties, **hooks)
    shop.insert(events, "(1, 'a', 'a')")
    shop.run()
    shop.sql(f"insert into {events} select 10 + id % 1000, 'v', 'w' from range(2000)")
    for name, message in failures(shop).items():
        assert "1,000 keys" in message and message.count("(2 times)") == 5, message
        assert shop.rows(shop.built(name), "id") == Counter([(1,)])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "same", "other"),
    [
        ("double", ("double('NaN')", "double('NaN')"), "1.5D"),
        ("double", ("0.0D", "-0.0D"), "double('Infinity')"),
        ("binary", ("X'00ff'", "X'00ff'"), "X'00'"),
        ("struct<a:int,b:string>", ("named_struct('a', 1, 'b', null)",) * 2, "named_struct('a', 1, 'b', 'x')"),
    ],
    ids=["NaN", "zero", "binary", "struct"],
)
def test_keys_that_are_the_same_in_a_join_are_the_same_key(shop, kind, same, other):
    events = shop.source("events", f"id {kind}, v string")
    narrow = {"merge_update_columns": ["v"]}
    for name, config in (("whole", {}), ("whole_v2", {"tblproperties": V2}), ("narrow", narrow)):
        shop.model(name, CHANGES, incremental_strategy="merge", unique_key="Id", **config)
    shop.insert(events, f"({same[0]}, 'old')", f"({other}, 'other')")
    shop.run()
    shop.insert(events, f"({same[1]}, 'new')")
    shop.run()
    for name in ("whole", "whole_v2", "narrow"):
        assert shop.rows(shop.built(name), "v") == Counter([("new",), ("other",)]), name
    shop.insert(events, f"({same[0]}, 'once')", f"({same[1]}, 'twice')")
    assert all("(2 times)" in message for message in failures(shop).values())


RANDOM = {
    "value": "select id, rand() as v, w from {{ ip_changes(source('raw', 'events')) }}",
    "row": "select id, 1.0D as v, w from {{ ip_changes(source('raw', 'events')) }} where rand() < 2",
}


@pytest.mark.parametrize("sql", RANDOM.values(), ids=RANDOM)
def test_sql_that_is_not_deterministic_is_merged_exactly_or_refused(shop, sql):
    """A copy-on-write MERGE would compute the rows twice. All other ways compute them once."""
    events = shop.source("events", "id int, w string")
    narrow = {"merge_exclude_columns": ["w"]}
    ways = {
        "copied": {**narrow, "tblproperties": COPY_ON_WRITE},
        "merged_on_read": {**narrow, "tblproperties": V2},
        "replaced": {"tblproperties": COPY_ON_WRITE},
    }
    for name, config in ways.items():
        shop.model(name, sql, incremental_strategy="merge", unique_key="id", **config)
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    shop.run()
    before = shop.head(shop.built("copied"))
    shop.insert(events, "(1, 'A')", "(3, 'c')")
    message = shop.fails()
    for part in ("model.shop.copied", "not deterministic", "copy-on-write", "write.merge.mode", "sha2("):
        assert part in message, message
    assert shop.head(shop.built("copied")) == before
    assert shop.branches(shop.built("copied")) == {"main"}
    assert shop.rows(shop.built("replaced"), "id, w") == Counter([(1, "A"), (2, "b"), (3, "c")])
    assert shop.rows(shop.built("merged_on_read"), "id, w") == Counter([(1, "a"), (2, "b"), (3, "c")])
    assert shop.snapshots(shop.built("replaced"))
    shop.sql(f"alter table {shop.built('copied')} set tblproperties ('write.merge.mode'='merge-on-read')")
    shop.run()
    assert shop.rows(shop.built("copied"), "id, w") == Counter([(1, "a"), (2, "b"), (3, "c")])


def test_current_times_count_as_deterministic(shop):
    events = shop.source("events", "id int, w string")
    sql = "select id, w, current_timestamp() as at from {{ ip_changes(source('raw', 'events')) }}"
    narrow = {"merge_exclude_columns": ["w"], "tblproperties": COPY_ON_WRITE}
    shop.model("copied", sql, incremental_strategy="merge", unique_key="id", **narrow)
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    shop.run()
    shop.insert(events, "(1, 'A')", "(3, 'c')")
    shop.run()
    assert shop.rows(shop.built("copied"), "id, w") == Counter([(1, "a"), (2, "b"), (3, "c")])


@pytest.mark.parametrize(
    ("strategy", "config"),
    [("merge", {}), ("apply_changes", {}), ("merge", {"sequence_by": "w"})],
    ids=["merge", "apply_changes", "sequence_by"],
)
def test_a_build_puts_neighbouring_keys_into_the_same_files(shop, events, strategy, config):
    """A merge reads the files that may contain the new keys. In any other order, these would be all files."""
    # otherwise, the few rows of a test go into one file
    shop.configure({"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "4"})
    shop.sql(f"insert into {events} select id, 'a', string(id) from range(1000)")
    macro = "ip_changes(source('raw', 'events'))"
    if strategy == "apply_changes":
        macro = "ip_changelog(source('raw', 'events'), unique_key='id')"
    shop.model("kept", f"select * from {{{{ {macro} }}}}", incremental_strategy=strategy, unique_key="id", **config)
    shop.run()
    bounds = "readable_metrics.id.lower_bound, readable_metrics.id.upper_bound"
    files = sorted(shop.sql(f"select {bounds} from {shop.built('kept')}.data_files"))
    assert len(files) == 4
    assert all(before[1] < after[0] for before, after in pairwise(files)), files
    assert shop.rows(shop.built("kept")) == shop.rows(events)

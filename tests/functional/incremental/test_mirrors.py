"""Models over a changelog: after every run, they equal a rebuild."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.errors.exceptions import captured

from .shop import CATALOG

COLUMNS = "id int, code string, place string, status string, n int"
BASE = [
    "(1, 'a', 'x', 'active', 2)",
    "(2, 'b', 'x', 'active', 4)",
    "(3, 'c', 'x', 'active', 6)",
    "(4, 'd', 'y', 'active', 8)",
    "(5, 'e', 'y', 'closed', 9)",
    "(6, null, 'y', 'active', 10)",
    "(null, 'g', 'x', 'active', 12)",
]
STEPS = [
    [  # rows that a filter now removes or keeps; a row that moves to another key, and to NULL as its key
        "update {t} set status = 'closed' where id = 1",
        "update {t} set status = 'active' where id = 5",
        "update {t} set n = 5 where id = 2",
        "update {t} set code = 'z' where id = 2",
        "update {t} set place = 'nowhere' where id = 3",
        "update {t} set status = 'closed' where id is null",
    ],
    [  # two rows swap keys; a deleted row is inserted again; one row leaves the key NULL, and another takes it
        "update {t} set code = if(id = 3, 'd', 'c') where id in (3, 4)",
        "update {t} set status = 'active', n = 20 where id = 1",
        "update {t} set code = if(id = 6, 'f', null) where id in (1, 6)",
        "update {t} set place = 'y' where id = 3",
    ],
    [  # the deleted row has changed before
        "update {t} set n = n + 1",
        "delete from {t} where id in (2, 5)",
        "delete from {t} where code is null",
        "insert into {t} values (7, 'b', 'x', 'active', 2)",
    ],
]
KEYED = "{{ ip_changelog(source('raw', 'events'), unique_key='id') }}"
UNKEYED = "{{ ip_changelog(source('raw', 'events')) }}"
PLACES = "{{ ip_as_of(source('raw', 'places')) }}"
# name: (SQL, unique_key); {rows} stands for the changelog and {kind} for its column of change types
MIRRORS = {
    "filtered": ("select id, code, n {kind} from {rows} as c where status = 'active'", "id"),
    "filtered_by_expression": ("select id, n {kind} from {rows} as c where n % 4 + id % 2 < 2", "id"),
    "by_another_key": ("select code, id, n {kind} from {rows} as c where status = 'active'", "code"),
    "by_a_mapped_key": ("select concat(place, '-', coalesce(code, '?')) as k, id, n {kind} from {rows} as c", "k"),
    "by_two_keys": ("select place, code, n {kind} from {rows} as c", ["place", "code"]),
    "joined": ("select c.id, p.label, c.n {kind} from {rows} as c join {places} as p using (place)", "id"),
    "left_joined": ("select c.id, p.label {kind} from {rows} as c left join {places} as p using (place)", "id"),
}
UNKEYED_TOO = ("filtered", "by_another_key")
COPY_ON_WRITE = {"format-version": "2", "write.merge.mode": "copy-on-write"}


def define(shop, name, sql, rows, **config):
    sql = sql.format(rows=rows, places=PLACES, kind=", _change_type")
    shop.model(name, sql, incremental_strategy="apply_changes", **config)


def check(shop, events, places):
    for name, (sql, _) in MIRRORS.items():
        rebuilt = sql.format(rows=events, places=places, kind="")
        for mirror in (name, f"{name}_unkeyed") if name in UNKEYED_TOO else (name,):
            assert shop.rows(shop.built(mirror)) == shop.rows(f"({rebuilt})"), mirror


@pytest.mark.thorough
def test_a_mirror_with_filters_joins_and_other_keys_equals_a_rebuild(shop):
    events = shop.source("events", COLUMNS)
    places = shop.source("places", "place string, label string")
    shop.insert(places, "('x', 'X')", "('y', 'Y')")
    for name, (sql, key) in MIRRORS.items():
        define(shop, name, sql, KEYED, unique_key=key)
        if name in UNKEYED_TOO:
            define(shop, f"{name}_unkeyed", sql, UNKEYED, unique_key=key, tblproperties=COPY_ON_WRITE)
    shop.insert(events, *BASE)
    shop.run()
    check(shop, events, places)
    for step in STEPS:
        for statement in step:
            shop.sql(statement.format(t=events))
        found = shop.run()
        assert {node.adapter_response["code"] for node in found.nodes.values()} == {"apply"}
        check(shop, events, places)


@pytest.mark.core
def test_a_row_that_only_leaves_the_filter_is_deleted_across_a_compaction(shop):
    events = shop.source("events", COLUMNS)
    sql = "select id, n, _change_type from {{ ip_changelog(source('raw', 'events'), 'id') }} where status = 'active'"
    shop.model("mirror", sql, incremental_strategy="apply_changes", unique_key="id")
    shop.insert(events, *BASE)
    shop.run()
    shop.sql(f"update {events} set status = 'closed' where id = 4")
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{events}', options => map('rewrite-all', 'true'))")
    shop.run()
    assert shop.rows(shop.built("mirror")) == shop.rows(events, "id, n") - shop.rows(
        f"(select * from {events} where status = 'closed')", "id, n"
    )


@pytest.mark.parametrize("key", ["7", "null"])
def test_two_rows_that_are_kept_under_one_key_are_an_error(shop, key):
    """NULL is also a key. If two rows had it, their changes could not be matched to the right row."""
    events = shop.source("events", "id int, k int, v string")
    sql = "select k, v, _change_type from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}"
    shop.model("mirror", sql, incremental_strategy="apply_changes", unique_key="k")
    shop.insert(events, f"(1, {key}, 'a')", "(2, 8, 'b')")
    shop.run()
    before = shop.head(shop.built("mirror"))
    shop.sql(f"update {events} set v = 'A' where id = 1")
    shop.insert(events, f"(3, {key}, 'c')")
    message = shop.fails()
    assert f'{{"k":{key}}}' in message and "2 times" in message and "mirror" in message
    assert shop.head(shop.built("mirror")) == before
    assert f'{{"k":{key}}}' in shop.fails("--full-refresh")
    assert shop.head(shop.built("mirror")) == before
    shop.sql(f"delete from {events} where id = 1")
    shop.run()
    assert shop.rows(shop.built("mirror")) == shop.rows(events, "k, v")


UNION = """
    select id, v, _change_type from {{ ip_changelog(source('raw', 'a'), 'id') }}
    union all
    select id, v, _change_type from {{ ip_changelog(source('raw', 'b'), 'id') }}
"""


@pytest.mark.core("None")
@pytest.mark.parametrize("limit", [None, 1])
def test_a_row_that_moves_from_one_source_to_another(shop, limit):
    """With a limit, a run may read the row's INSERT before its DELETE. Then the run fails, and no row is lost."""
    a, b = shop.source("a"), shop.source("b")
    shop.insert(a, "(1, 'x')", "(2, 'y')")
    shop.insert(b, "(3, 'z')")
    mirror = {"incremental_strategy": "apply_changes", "unique_key": "id"}
    shop.model("mirror", UNION, **mirror, **({} if limit is None else {"max_snapshots_per_run": limit}))
    shop.run()
    shop.insert(a, "(5, 'q')")
    shop.sql(f"delete from {a} where id = 1")
    shop.insert(b, "(1, 'x')")
    if limit is not None:
        message = shop.fails()
        assert '{"id":1}' in message and "max_snapshots_per_run" in message
        shop.model("mirror", UNION, **mirror)
    shop.run()
    assert shop.rows(shop.built("mirror")) == shop.rows(f"(select * from {a} union all select * from {b})")


def test_a_key_that_another_row_has_already_is_an_error(shop):
    """Otherwise, the deletion of one row would delete the other."""
    a = shop.source("a", "id int, k string")
    shop.insert(a, "(1, 'x')", "(2, 'y')")
    sql = "select k, id, _change_type from {{ ip_changelog(source('raw', 'a'), 'id') }}"
    shop.model("mirror", sql, incremental_strategy="apply_changes", unique_key="k")
    shop.run()
    before = shop.head(shop.built("mirror"))
    shop.insert(a, "(3, 'x')")
    message = shop.fails()
    assert '{"k":"x"}' in message and "--full-refresh" in message
    assert shop.head(shop.built("mirror")) == before
    shop.sql(f"delete from {a} where id = 1")
    shop.run()
    assert shop.rows(shop.built("mirror")) == shop.rows(a, "k, id")


def test_rows_that_are_looked_up_by_the_range_of_the_changes_replace_those_of_their_keys(shop):
    """The rows come without their old versions, since ip_range returns only the bounds of the changes."""
    codes = shop.source("codes", "id int, code string")
    shop.insert(codes, "(1, 'x')", "(2, 'y')")
    sql = """
        {% set changed = ip_range(source('raw', 'codes'), 'id') %}
        select id, code, 'UPDATE_AFTER' as _change_type from {{ ip_as_of(source('raw', 'codes')) }} as c
        {% if is_incremental() %}where id between {{ changed.min }} and {{ changed.max }}{% endif %}
    """
    shop.model("mirror", sql, incremental_strategy="apply_changes", unique_key="id")
    shop.run()
    shop.sql(f"update {codes} set code = 'z' where id = 2")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, "x"), (2, "z")])


def test_a_row_that_comes_back_to_a_key_that_another_row_has_is_an_error(shop):
    """The filter removes its old version, so its UPDATE_AFTER replaces no row, and the table's row is another one."""
    codes = shop.source("codes", "id int, code string, status string")
    shop.insert(codes, "(1, 'x', 'active')", "(2, 'x', 'closed')", "(3, 'y', 'active')")
    sql = """
        select code, id, _change_type from {{ ip_changelog(source('raw', 'codes'), 'id') }} as c
        where status = 'active'
    """
    shop.model("mirror", sql, incremental_strategy="apply_changes", unique_key="code")
    shop.run()
    shop.sql(f"update {codes} set status = 'active' where id = 2")
    assert '{"code":"x"}' in shop.fails()
    assert shop.rows(shop.built("mirror")) == Counter([("x", 1), ("y", 3)])
    shop.sql(f"update {codes} set status = 'closed' where id = 1")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([("x", 2), ("y", 3)])


@pytest.mark.core
def test_rows_that_are_only_marked_as_deleted(shop):
    """The row's old version is read too, which shows that the new version replaces its own row."""
    a = shop.source("a", "id int, v string")
    shop.insert(a, "(1, 'x')", "(2, 'y')")
    sql = """
        select id, v, _change_type = 'DELETE' as gone, kind as _change_type
        from {{ ip_changelog(source('raw', 'a'), 'id') }} as c
        lateral view explode(
            if(_change_type in ('INSERT', 'DELETE'), array('DELETE', 'UPDATE_AFTER'), array(_change_type))
        ) as kind
    """
    shop.model("marked", sql, incremental_strategy="apply_changes", unique_key="id")
    shop.run()
    shop.sql(f"delete from {a} where id = 1")
    shop.sql(f"update {a} set v = 'z' where id = 2")
    shop.run()
    assert shop.rows(shop.built("marked")) == Counter([(1, "x", True), (2, "z", False)])
    shop.insert(a, "(1, 'again')")
    shop.run()
    assert shop.rows(shop.built("marked")) == Counter([(1, "again", False), (2, "z", False)])


@pytest.mark.core
def test_a_run_causes_no_exceptions_in_the_jvm(shop, monkeypatch):
    """The end of an iteration over a Java collection is one, and costs more than reading a small source."""
    events = shop.source("events", COLUMNS, "tblproperties ('format-version'='3', 'write.update.mode'='merge-on-read')")
    shop.insert(events, *BASE)
    define(shop, "filtered", MIRRORS["filtered"][0], KEYED, unique_key="id")
    shop.run()
    shop.sql(f"update {events} set n = n + 1 where id < 3")
    seen, convert = [], captured.convert_exception
    monkeypatch.setattr(captured, "convert_exception", lambda error: seen.append(error.getClass()) or convert(error))
    assert shop.run().success
    assert seen == []


@pytest.mark.core
@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("mirror", {"incremental_strategy": "apply_changes"}),
        ("upserts", {"incremental_strategy": "merge", "on_source_rewrite": "upserts"}),
    ],
)
def test_a_long_lived_spark_compiles_no_code_for_later_runs(shop, name, config):
    """Generated code contains integers of the SQL, such as sequence numbers and bounds that differ in each run."""
    macro = KEYED if name == "mirror" else "{{ ip_changes(source('raw', 'events')) }}"
    columns = "id, n, _change_type" if name == "mirror" else "id, n"
    events = shop.source("events", COLUMNS, "tblproperties ('format-version'='3', 'write.update.mode'='merge-on-read')")
    shop.insert(events, *BASE[:-1], "(1000, 'h', 'x', 'active', 1)")
    shop.model(name, f"select {columns} from {macro}", unique_key="id", **config)
    shop.run()
    compiled = shop.session._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    counts = []
    for number in range(8, 13):
        shop.sql(f"update {events} set n = n + 1 where id in (1, 1000)")
        shop.insert(events, f"({number}, 'x', 'x', 'active', 1)")
        before = compiled.getCount()
        assert shop.run().success
        counts.append(compiled.getCount() - before)
    assert counts[-2:] == [0, 0], counts

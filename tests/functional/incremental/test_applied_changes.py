"""apply_changes with an INSERT and a DELETE. The rows are those of one MERGE, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest
import yaml

from dbt.adapters.spark_iceberg import SparkIcebergAdapter
from iceberg_incremental.publish.fence import Fence

from .shop import hold_as_a_server

MIRROR = "select * from {{ ip_changelog(source('raw', 'events'), unique_key='n') }}"
LOG = "select * except (n) from {{ ip_changes(source('raw', 'log')) }}"
KEYED = {"incremental_strategy": "apply_changes", "unique_key": "id"}
MERGED = {**KEYED, "incremental_predicates": ["true"]}


def modes(mode, version):
    return {"format-version": version, **{f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")}}


LAYOUTS = {"copied": modes("copy-on-write", "2"), "v3": modes("merge-on-read", "3")}
OTHERS = {"v3_copied": modes("copy-on-write", "3"), "v2": modes("merge-on-read", "2")}
ODD_KEYS = {
    "double": ("double('NaN')", "0.0D", "null", "double('Infinity')", "1.5D", "2.5D"),
    "string": ("'a'", "'a '", "'A'", "''", "null", "'\\u00fc'"),
    "decimal(20,4)": ("1.0001", "-1.0001", "9999999999999999.9999", "null", "0", "2"),
    "timestamp": (
        *(f"timestamp '{day} 00:00:00Z'" for day in ("0001-01-01", "1969-12-31", "2026-01-01", "9999-12-31")),
        "timestamp '1969-12-31 23:59:59.999999Z'",
        "null",
    ),
    "struct<a:int,b:string>": (
        *(f"named_struct('a', {a}, 'b', {b})" for a in ("1", "2", "cast(null as int)") for b in ("null", "'x'")),
        "null",
    )[1:],
}


def last_commits(shop, name):
    """The operations of the two newest commits, including commits that were never the head of main."""
    found = shop.sql(f"select operation from {shop.built(name)}.snapshots order by committed_at desc limit 2")
    return tuple(operation for (operation,) in found)[::-1]


def cached(shop):
    """The number of results that Spark holds."""
    session = shop.frame("select 1").sparkSession
    entries = session._jsparkSession.sharedState().cacheManager().numCachedEntries()
    return entries + session.sparkContext._jsc.sc().getPersistentRDDs().size()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ODD_KEYS)
def test_the_rows_are_those_of_a_merge_for_all_keys_and_layouts(shop, kind):
    """Of six rows, two swap their keys, one is deleted, one is updated, one gets a new key, and one stays."""
    keys = ODD_KEYS[kind]
    events = shop.source("events", f"n int, id {kind}, v string")
    for layout, properties in LAYOUTS.items():
        shop.model(layout, MIRROR, **KEYED, tblproperties=properties)
    shop.model("merged", MIRROR, **MERGED)
    shop.insert(events, *(f"({n}, {key}, 'old')" for n, key in enumerate(keys)))
    shop.run()
    shop.sql(
        f"update {events} set id = case n when 0 then {keys[2]} else {keys[0]} end, v = 'swapped' where n in (0, 2)"
    )
    shop.sql(f"delete from {events} where n = 1")
    shop.sql(f"update {events} set v = 'new' where n = 3")
    shop.sql(f"update {events} set id = {keys[1]} where n = 4")
    shop.run()
    for model in (*LAYOUTS, "merged"):
        assert shop.rows(shop.built(model), "n, string(id), v") == shop.rows(events, "n, string(id), v"), model
    assert [last_commits(shop, layout) for layout in LAYOUTS] == [("append", "overwrite"), ("append", "delete")]
    assert last_commits(shop, "merged")[1] == "overwrite"
    assert cached(shop) == 0


def test_zeros_of_both_signs_are_one_key(shop):
    events = shop.source("events", "n int, id double, v string")
    shop.model("mirror", MIRROR, **KEYED)
    shop.insert(events, "(1, 0.0D, 'a')", "(2, 1.0D, 'b')")
    shop.run()
    shop.sql(f"update {events} set id = -0.0D, v = 'A' where n = 1")
    shop.run()
    assert shop.rows(shop.built("mirror"), "n, v") == Counter([(1, "A"), (2, "b")])


def test_only_deletions_only_new_rows_and_no_rows(shop):
    events = shop.source("events", "n int, id int, v string")
    for layout, properties in LAYOUTS.items():
        shop.model(layout, f"{MIRROR} where v <> 'hidden'", **KEYED, tblproperties=properties)
    shop.insert(events, "(1, 1, 'a')", "(2, 2, 'b')", "(3, null, 'c')")
    shop.run()
    for statement in (
        f"delete from {events} where n in (1, 3)",
        f"insert into {events} values (4, 4, 'd'), (5, null, 'e')",
        f"insert into {events} values (6, 6, 'hidden')",
        f"delete from {events}",
    ):
        shop.sql(statement)
        found = shop.run()
        for layout in LAYOUTS:
            assert found.action(layout) == "apply"
            visible = f"(select * from {events} where v <> 'hidden')"
            assert shop.rows(shop.built(layout)) == shop.rows(visible), (layout, statement)
    assert cached(shop) == 0


def test_new_keys_that_are_never_null(shop):
    """Spark 4.1.4 failed to plan a copy-on-write DELETE whose subquery shows more than such keys."""
    log = shop.source("log", "n int, id int, v string, _change_type string")
    for layout, properties in (LAYOUTS | OTHERS).items():
        shop.model(layout, LOG, **KEYED, tblproperties=properties)
    shop.insert(log, *(f"({n}, {n}, 'a', 'INSERT')" for n in range(1, 11)))
    shop.run()
    shop.insert(log, "(11, 11, 'new', 'INSERT')", "(12, 2, 'b', 'UPDATE_AFTER')", "(13, 3, 'a', 'DELETE')")
    shop.run()
    expected = Counter((n, "b" if n == 2 else "a") for n in range(1, 11) if n != 3) + Counter([(11, "new")])
    for layout in LAYOUTS | OTHERS:
        assert shop.rows(shop.built(layout), "id, v") == expected, layout
    shop.insert(log, "(14, 12, 'new', 'INSERT')")
    shop.run()
    shop.insert(log, "(15, 12, 'taken', 'INSERT')")
    found = shop.dbt("run")
    for layout in LAYOUTS | OTHERS:
        assert '{"id":12}' in found.message(layout) and "as an existing row" in found.message(layout)


@pytest.mark.thorough
@pytest.mark.parametrize(("reader", "layouts"), [("auto", LAYOUTS), ("spark", OTHERS)])
def test_a_key_that_the_table_has_is_an_error_in_every_layout(shop, reader, layouts):
    shop.read_metadata_by(reader)
    log = shop.source("log", "n int, id int, v string, _change_type string")
    for layout, properties in layouts.items():
        shop.model(layout, LOG, **KEYED, tblproperties=properties)
    shop.insert(log, "(1, 1, 'a', 'INSERT')", "(2, 2, 'b', 'INSERT')", "(3, null, 'c', 'INSERT')")
    shop.run()
    heads = {layout: shop.head(shop.built(layout)) for layout in layouts}
    shop.insert(log, "(4, 2, 'B', 'INSERT')", "(5, 5, 'new', 'INSERT')", "(6, 1, 'A', 'UPDATE_AFTER')")
    found = shop.dbt("run")
    for layout in layouts:
        message = found.message(layout)
        assert '{"id":2}' in message and "as an existing row" in message, message
        assert shop.head(shop.built(layout)) == heads[layout]
        assert shop.branches(shop.built(layout)) == {"main"}
    assert cached(shop) == 0


@pytest.mark.thorough
@pytest.mark.parametrize(("reader", "layouts"), [("auto", LAYOUTS), ("spark", {**LAYOUTS, **OTHERS})])
def test_new_keys_are_inserted_next_to_updates_with_each_metadata_reader(shop, reader, layouts):
    shop.read_metadata_by(reader)
    log = shop.source("log", "n int, id int, v string, _change_type string")
    for layout, properties in layouts.items():
        shop.model(layout, LOG, **KEYED, tblproperties=properties)
    shop.insert(log, "(1, 1, 'a', 'INSERT')", "(2, 2, 'b', 'INSERT')", "(3, null, 'c', 'INSERT')")
    shop.run()
    shop.insert(log, "(4, 4, 'd', 'INSERT')", "(5, 1, 'A', 'UPDATE_AFTER')", "(6, null, null, 'DELETE')")
    found = shop.run()
    for layout in layouts:
        assert shop.rows(shop.built(layout)) == Counter([(1, "A"), (2, "b"), (4, "d")]), layout
        assert found.nodes[layout].adapter_response["rows_affected"] == 3


@pytest.mark.core
def test_an_unknown_change_type_is_an_error(shop):
    log = shop.source("log", "n int, id int, v string, _change_type string")
    shop.model("mirror", LOG, **KEYED)
    shop.insert(log, "(1, 1, 'a', 'INSERT')")
    shop.run()
    shop.insert(log, "(2, 2, 'b', 'UPSERT')")
    assert "_change_type is UPSERT, expected INSERT" in shop.fails()
    assert cached(shop) == 0
    assert shop.rows(shop.built("mirror")) == Counter([(1, "a")])


def test_duplicate_rows_of_another_writer_are_replaced_by_one(shop):
    events = shop.source("events", "n int, id int, v string")
    shop.model("mirror", MIRROR, **KEYED)
    shop.insert(events, "(1, 1, 'a')", "(2, 2, 'b')")
    shop.run()
    shop.insert(shop.built("mirror"), "(1, 1, 'twin')", "(2, 2, 'twin')")
    shop.sql(f"update {events} set v = 'A' where n = 1")
    shop.sql(f"delete from {events} where n = 2")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, 1, "A")])


def test_a_row_with_null_in_a_required_column_is_refused_unless_it_is_deleted(shop):
    """Removed rows have no columns other than their keys."""
    log = shop.source("log", "n int, id int, v string, _change_type string")
    required = {"contract": {"enforced": True}}
    shop.model("mirror", LOG, **KEYED, **required)
    columns = [{"name": "id", "data_type": "int"}, {"name": "v", "data_type": "string"}]
    columns[1]["constraints"] = [{"type": "not_null"}]
    shop.write("models/schema.yml", yaml.safe_dump({"models": [{"name": "mirror", "columns": columns}]}))
    shop.insert(log, "(1, 1, 'a', 'INSERT')", "(2, 2, 'b', 'INSERT')")
    shop.run()
    shop.insert(log, "(3, 1, null, 'DELETE')", "(4, 2, 'B', 'UPDATE_AFTER')")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(2, "B")])


@pytest.mark.core
def test_the_changes_are_computed_once_and_the_delete_reads_only_keys(shop, monkeypatch):
    events = shop.source("events", "n int, id int, v string")
    shop.model("mirror", MIRROR, **KEYED)
    shop.insert(events, "(1, 1, 'a')", "(2, 2, 'b')", "(3, 3, 'c')")
    shop.run()
    shop.sql(f"update {events} set v = 'A' where n = 1")
    shop.sql(f"delete from {events} where n = 2")
    shop.insert(events, "(4, 4, 'd')")
    plans = []
    execute = SparkIcebergAdapter.execute

    def explain(self, sql, *args, **more):
        if sql.lower().startswith(("insert into", "delete from", "select count(*)")):
            plans.append(str(execute(self, f"explain {sql}", fetch=True)[1].rows[0][0]))
        return execute(self, sql, *args, **more)

    monkeypatch.setattr(SparkIcebergAdapter, "execute", explain)
    shop.run()
    assert len(plans) == 3  # summary, INSERT, DELETE
    assert [plan for plan in plans if "Scan ExistingRDD" not in plan or "Changelog" in plan] == []
    (scan,) = [line for line in plans[2].splitlines() if "IcebergScan(" in line and "branch=" in line]
    read = {column.partition("#")[0].strip() for column in scan[scan.index("[") + 1 : scan.index("]")].split(",")}
    assert "id" in read and not {"n", "v"} & read
    assert shop.rows(shop.built("mirror")) == shop.rows(events)


def test_a_table_that_changes_while_a_server_applies_its_rows_is_an_error_and_the_next_run_is_right(shop, monkeypatch):
    """The joined table is not pinned. A commit to it invalidates the rows of it that Spark has cached."""
    hold_as_a_server(monkeypatch)
    events = shop.source("events", "n int, id int, v string")
    names = shop.source("names", "v string, id int")
    shop.model(
        "mirror",
        f"select c.n, m.id, c.v, _change_type from ({MIRROR}) c join {names} m on m.v = c.v",
        **KEYED,
    )
    shop.insert(names, "('a', 1)", "('b', 2)", "('c', 3)")
    shop.insert(events, "(1, 0, 'a')", "(2, 0, 'b')")
    shop.run()
    shop.insert(events, "(3, 0, 'c')")
    before = shop.head(shop.built("mirror"))
    staged_commits, moved = Fence.staged_commits, []

    def move(self, *args, **more):
        if not moved:
            moved.append(shop.sql(f"update {names} set id = 30 where v = 'c'"))
        return staged_commits(self, *args, **more)

    monkeypatch.setattr(Fence, "staged_commits", move)
    message = shop.fails()
    assert "differed when they were recomputed" in message and "ip_as_of()" in message
    assert shop.head(shop.built("mirror")) == before
    assert shop.branches(shop.built("mirror")) == {"main"}
    assert cached(shop) == 0
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, 1, "a"), (2, 2, "b"), (3, 30, "c")])


@pytest.mark.parametrize("config", [KEYED, MERGED], ids=["two statements", "one statement"])
@pytest.mark.parametrize("deletion", ["DELETE", "UPDATE_BEFORE"])
def test_a_log_does_not_show_whether_a_deletion_is_newer_than_an_inserted_row(shop, config, deletion):
    """If the deletion were read in a later run, it would delete the row."""
    log = shop.source("log", "n int, id int, v string, _change_type string")
    shop.model("mirror", LOG, **config)
    shop.insert(log, "(1, 1, 'a', 'INSERT')")
    shop.run()
    before = shop.head(shop.built("mirror"))
    shop.insert(log, "(2, 2, 'b', 'INSERT')", "(3, 1, 'a', 'UPDATE_BEFORE')", "(4, 1, 'A', 'UPDATE_AFTER')")
    shop.insert(log, f"(5, 2, 'b', '{deletion}')")
    for options in ([], ["--full-refresh"]):
        message = shop.fails(*options)
        assert "it is unknown which is newer" in message and '{"id":2} (2 times)' in message
        assert shop.head(shop.built("mirror")) == before
    shop.sql(f"delete from {log} where id = 2")
    shop.model("mirror", LOG, **config, on_source_rewrite="upserts")
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, "A")])


def test_changes_by_commit_do_not_show_it_either(shop):
    events = shop.source("events", "id int, v string")
    changes = "ip_changelog(source('raw', 'events'), 'id', per='commit')"
    shop.model("mirror", f"select id, v, _change_type from {{{{ {changes} }}}}", **KEYED)
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    shop.sql(f"update {events} set v = 'A' where id = 1")
    shop.sql(f"delete from {events} where id = 2")
    assert "it is unknown which is newer" in shop.fails()
    shop.model("mirror", f"select id, v, _change_type from {{{{ {changes.replace('commit', 'range')} }}}}", **KEYED)
    shop.run()
    assert shop.rows(shop.built("mirror")) == shop.rows(events)


@pytest.mark.parametrize("server", [False, True])
def test_sql_that_is_not_deterministic_is_computed_once(shop, monkeypatch, server):
    """A server would compute the SQL again for each statement, so there the package uses one MERGE."""
    if server:
        hold_as_a_server(monkeypatch)
    events = shop.source("events", "n int, id int, v string")
    random = f"select n, id, uuid() as v, _change_type from ({MIRROR}) where rand() < 2"
    shop.model("mirror", random, **KEYED)
    shop.insert(events, "(1, 1, 'a')", "(2, 2, 'b')")
    shop.run()
    shop.sql(f"update {events} set v = 'A' where n = 1")
    shop.run()
    assert last_commits(shop, "mirror")[1] == ("overwrite" if server else "delete")
    assert shop.rows(shop.built("mirror"), "n, id") == Counter([(1, 1), (2, 2)])


@pytest.mark.thorough
@pytest.mark.parametrize("server", [False, True])
def test_an_interrupt_leaves_nothing_in_the_cache(shop, monkeypatch, server):
    """dbt waits in the main thread, which receives the signal, and cancels all later statements of this thread."""
    if server:
        hold_as_a_server(monkeypatch)
    events = shop.source("events", "n int, id int, v string")
    shop.model("mirror", MIRROR, **KEYED)
    shop.insert(events, "(1, 1, 'a')")
    shop.run()
    shop.sql(f"update {events} set v = 'A'")
    staged_commits, seen = Fence.staged_commits, []

    def interrupt(self, *args, **more):
        seen.append(cached(shop))
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(3)
        return staged_commits(self, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Fence, "staged_commits", interrupt)
        assert not shop.dbt("run").success
    assert set(seen) == {1}
    assert cached(shop) == 0
    shop.run()
    assert shop.rows(shop.built("mirror")) == shop.rows(events)


def test_rows_that_spark_has_lost_are_an_error_and_the_next_run_is_right(shop, monkeypatch):
    """As if the executor that held them had been lost."""
    events = shop.source("events", "n int, id int, v string")
    shop.model("mirror", MIRROR, **KEYED)
    shop.insert(events, "(1, 1, 'a')")
    shop.run()
    shop.sql(f"update {events} set v = 'A'")
    staged_commits = Fence.staged_commits

    def lose(self, *args, **more):
        for held in shop.session.sparkContext._jsc.getPersistentRDDs().values():
            held.unpersist(True)
        return staged_commits(self, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Fence, "staged_commits", lose)
        message = shop.fails()
    assert "executor" in message and "Run the model again" in message
    assert shop.rows(shop.built("mirror")) == Counter([(1, 1, "a")])
    assert cached(shop) == 0
    shop.run()
    assert shop.rows(shop.built("mirror")) == shop.rows(events)


def test_two_mirrors_of_one_table_do_not_share_cached_rows(shop):
    events = shop.source("events", "n int, id int, v string")
    names = [f"mirror_{number}" for number in range(4)]
    for name in names:
        shop.model(name, MIRROR, **KEYED)
    shop.insert(events, "(1, 1, 'a')", "(2, 2, 'b')")
    shop.run("--threads", "4")
    shop.sql(f"update {events} set v = 'A' where n = 1")
    shop.sql(f"delete from {events} where n = 2")
    shop.run("--threads", "4")
    for name in names:
        assert shop.rows(shop.built(name)) == shop.rows(events)
    assert cached(shop) == 0


@pytest.mark.thorough
def test_columns_that_are_fixed_for_a_key_bound_the_search_for_old_rows(shop, monkeypatch):
    events = shop.source("events", "n int, id int, v string, day date")
    shop.model("mirror", MIRROR, **KEYED, partition_by="day", merge_fixed_columns="day")
    shop.insert(events, *(f"({n}, {n}, 'a', date '2026-01-0{n}')" for n in range(1, 10)))
    shop.run()
    shop.sql(f"update {events} set v = 'A' where n = 3")
    shop.sql(f"delete from {events} where n = 5")
    sent = []
    execute = SparkIcebergAdapter.execute
    monkeypatch.setattr(
        SparkIcebergAdapter, "execute", lambda self, sql, *a, **m: (sent.append(sql), execute(self, sql, *a, **m))[1]
    )
    shop.run()
    (delete,) = [sql for sql in sent if sql.startswith("delete from")]
    assert "`id` between cast('3' as int) and cast('5' as int)" in delete
    assert "`day` between date '2026-01-03' and date '2026-01-05'" in delete
    assert shop.rows(shop.built("mirror")) == shop.rows(events)


@pytest.mark.parametrize("sequence", [{}, {"sequence_by": "n"}], ids=["", "sequence_by"])
def test_a_deletion_of_a_log_may_have_its_key_alone(shop, sequence):
    """The package finds its row although the deletion lacks the columns that are fixed for the key."""
    log = shop.source("log", "n int, id int, day date, _change_type string")
    fixed = {"partition_by": "day", "merge_fixed_columns": "day"}
    shop.model("mirror", "select * from {{ ip_changes(source('raw', 'log')) }}", **KEYED, **fixed, **sequence)
    shop.insert(log, *(f"(1, {n}, date '2026-01-0{n}', 'INSERT')" for n in range(1, 10)))
    shop.run()
    shop.insert(log, "(2, 3, null, 'DELETE')")
    shop.run()
    shop.insert(log, "(2, 5, null, 'DELETE')", "(2, 7, date '2026-01-07', 'UPDATE_AFTER')")
    shop.run()
    assert shop.rows(shop.built("mirror"), "id, n") == Counter(
        {(id_, 1): 1 for id_ in (1, 2, 4, 6, 8, 9)} | {(7, 2): 1}
    )

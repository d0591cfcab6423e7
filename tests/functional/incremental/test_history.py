"""The strategy ``history``: the versions of a source's rows, from the changes of each commit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from iceberg_incremental.errors import StatementError
from iceberg_incremental.publish.fence import Fence
from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.write.versions import from_changes

from .shop import hold_as_a_server

SOURCE = "select * from {{ ip_changelog(source('raw', 'customers')) }}"
HISTORY = {"incremental_strategy": "history", "unique_key": "id"}
DROP = ("--vars", "{ip_drop_history: [kept]}")


def commits(shop: Any, table: str) -> dict[int, int]:
    """The positions of the commits in their order, counted from 1, by their times."""
    found = shop.sql(f"select unix_millis(committed_at) from {table}.snapshots order by committed_at")
    return {time: place for place, (time,) in enumerate(found, 1)}


def versions(shop: Any, table: str, columns: str = "id, v", deleted: str = "false") -> Counter[Any]:
    """The versions. Times are given as positions of commits."""
    places = commits(shop, table)
    rows = shop.sql(
        f"select {columns}, unix_millis(dbt_valid_from), unix_millis(dbt_valid_to), {deleted} from {shop.built('kept')}"
    )
    found = Counter((*row[:-3], places[row[-3]], places.get(row[-2]), row[-1]) for row in rows)
    return Counter({tuple(each[: -1 if deleted == "false" else None]): n for each, n in found.items()})


@pytest.fixture
def customers(shop):
    """A table of two rows, and its history."""
    table = shop.source("customers")
    shop.model("kept", SOURCE, **HISTORY)
    shop.insert(table, "(1, 'a')", "(2, 'a')")
    shop.run()
    return table


@pytest.mark.core
def test_all_versions_between_two_runs(shop, customers):
    shop.sql(f"update {customers} set v = 'b' where id = 1")  # 2
    shop.sql(f"update {customers} set v = 'a' where id = 1")  # 3
    shop.sql(f"delete from {customers} where id = 2")  # 4
    shop.insert(customers, "(2, 'a')", "(3, 'x')")  # 5
    shop.sql(f"delete from {customers} where id = 3")  # 6
    found = shop.run()
    assert found.ip("kept")["epoch"] == 2
    expected = Counter(
        [
            (1, "a", 1, 2),
            (1, "b", 2, 3),
            (1, "a", 3, None),
            (2, "a", 1, 4),
            (2, "a", 5, None),
            (3, "x", 5, 6),
        ]
    )
    assert versions(shop, customers) == expected
    assert shop.run().action("kept") == "nothing"
    (ids,) = shop.sql(f"select count(distinct dbt_scd_id), count(*) from {shop.built('kept')}")
    assert ids == (6, 6)
    assert shop.mixed_files(shop.built("kept")) == []
    updated = shop.sql(f"select count(*) from {shop.built('kept')} where dbt_updated_at = dbt_valid_from")
    assert updated == [(6,)]
    shop.run("--full-refresh")  # the comparison finds no difference
    assert versions(shop, customers) == expected


def test_versions_with_one_id_are_told_apart_by_their_key_or_are_an_error(shop, customers):
    """Another writer has copied a version together with its id."""
    table = shop.built("kept")
    shop.sql(f"insert into {table} select 3 as id, * except (id) from {table} where id = 2")
    shop.sql(f"update {customers} set v = 'b' where id = 2")
    shop.run()
    valid = f"select id, v from {table} where dbt_valid_to is null"
    assert shop.rows(f"({valid})") == {(1, "a"): 1, (2, "b"): 1, (3, "a"): 1}
    shop.sql(f"insert into {table} select * from {table} where id = 1")
    before = shop.rows(table)
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    assert "more than one valid version" in shop.fails()
    assert shop.rows(table) == before


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_a_run_that_is_repeated_after_it_added_a_column_makes_no_versions_for_it(shop, monkeypatch, mode):
    modes = {f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")}
    shop.model("kept", SOURCE, **HISTORY, on_schema_change="append_new_columns", tblproperties=modes)
    table = shop.source("customers")
    shop.insert(table, "(1, 'a')", "(2, 'a')")
    shop.run()
    shop.sql(f"alter table {table} add column n int")
    shop.sql(f"update {table} set n = 5 where id = 1")

    def crash(*_: Any) -> None:
        raise StatementError("the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "_attempt", crash)
        assert "the connection was lost" in shop.fails()
    assert "n" in shop.frame(f"select * from {shop.built('kept')}").columns
    shop.run()
    assert versions(shop, table, "id, v, n") == Counter([(1, "a", 5, 1, None), (2, "a", None, 1, None)])
    shop.sql(f"update {table} set n = 6 where id = 1")
    shop.run()
    assert versions(shop, table, "id, v, n") == Counter(
        [(1, "a", 5, 1, 3), (1, "a", 6, 3, None), (2, "a", None, 1, None)]
    )


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("within", [True, False], ids=["within a run", "between runs"])
def test_two_rows_of_a_key_that_separate_commits_insert_are_an_error(shop, mode, within):
    """The deletion of one of them would otherwise end the version of the other."""
    modes = {f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")}
    shop.model("kept", SOURCE, **HISTORY, tblproperties=modes)
    table = shop.source("customers")
    shop.insert(table, "(0, 'a')")
    shop.run()
    shop.insert(table, "(1, 'a')")
    if not within:
        shop.run()
    before = shop.rows(shop.built("kept"))
    shop.insert(table, "(1, 'b')")
    shop.sql(f"delete from {table} where v = 'b'")
    message = shop.fails()
    assert "has the same unique_key (id) as an existing row" in message and '{"id":1}' in message
    assert shop.rows(shop.built("kept")) == before
    shop.run("--full-refresh")
    assert shop.rows(shop.built("kept"), "id, v, dbt_valid_to is null") == {(0, "a", True): 1, (1, "a", True): 1}


MOVES = {
    "by a filter": "update {} set v = 'b' where n = 2",
    "from another key": "update {} set id = 1 where n = 3",
}


@pytest.mark.parametrize("move", MOVES)
def test_a_row_that_an_update_moves_to_the_key_of_another_row_is_an_error(shop, move):
    """The changelog has no old version of the row under this key, so the row cannot replace the valid version."""
    table = shop.source("customers", "n int, id int, v string")
    changes = "select id, v, _change_type, _commit_order from {{ ip_changelog(source('raw', 'customers'), 'n') }}"
    shop.model("kept", f"{changes} where v <> 'hidden'", **HISTORY)
    shop.insert(table, "(1, 1, 'a')", "(2, 1, 'hidden')", "(3, 3, 'c')")
    shop.run()
    before = shop.rows(shop.built("kept"))
    shop.sql(MOVES[move].format(table))
    message = shop.fails()
    assert "has the same unique_key (id) as an existing row" in message and '{"id":1}' in message
    assert shop.rows(shop.built("kept")) == before
    shop.sql(f"delete from {table} where n = 1")
    assert "has the same unique_key (id) as an existing row" in shop.fails()
    shop.run("--full-refresh")
    valid = shop.rows(f"(select * from {shop.built('kept')} where dbt_valid_to is null)", "v")
    assert valid == shop.rows(f"(select * from {table} where v <> 'hidden')", "v")


def test_ignored_deletions_allow_a_row_to_be_inserted_again(shop):
    shop.model("kept", SOURCE, **HISTORY, hard_deletes="ignore")
    table = shop.source("customers")
    shop.insert(table, "(1, 'a')")
    shop.run()
    shop.sql(f"delete from {table}")
    shop.run()
    shop.insert(table, "(1, 'b')")
    shop.run()
    assert shop.rows(shop.built("kept"), "id, v, dbt_valid_to is null") == {(1, "a", False): 1, (1, "b", True): 1}


def test_another_writer_of_the_table_during_a_run_is_an_error(shop, customers, monkeypatch):
    table, counts_sql = shop.built("kept"), from_changes.counts_sql
    shop.sql(f"update {customers} set v = 'b' where id = 1")

    def meanwhile(versions: str) -> str:
        shop.sql(f"delete from {table} where id = 2")
        return counts_sql(versions)

    with monkeypatch.context() as patched:
        patched.setattr(from_changes, "counts_sql", meanwhile)
        assert "which another writer has changed during the run" in shop.fails()
    assert shop.rows(table, "id, v, dbt_valid_to is null") == {(1, "a", True): 1}
    shop.run()
    assert shop.rows(table, "id, v, dbt_valid_to is null") == {(1, "a", False): 1, (1, "b", True): 1}


def test_a_joined_table_that_changes_while_a_server_writes_versions_is_an_error(shop, monkeypatch):
    """The keys and kinds of the changes remain the same, but a row then has another version."""
    hold_as_a_server(monkeypatch)
    table, names = shop.source("customers", "id int, c string"), shop.source("names", "c string, name string")
    changes = "{{ ip_changelog(source('raw', 'customers'), 'id') }}"
    sql = f"select d.id, n.name, _change_type, _commit_order from {changes} d left join {names} n on n.c = d.c"
    shop.model("kept", sql, **HISTORY)
    shop.insert(names, "('a', 'x')", "('b', 'x')", "('c', 'y')")
    shop.insert(table, "(1, 'a')", "(2, 'a')")
    shop.run()
    shop.sql(f"update {table} set c = if(id = 1, 'b', 'c')")
    before, staged_commits = shop.rows(shop.built("kept")), Fence.staged_commits

    def move(self: Any, *args: Any, **more: Any) -> Any:
        shop.sql(f"update {names} set name = 'z' where c = 'b'")
        return staged_commits(self, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Fence, "staged_commits", move)
        assert "differed when they were recomputed" in shop.fails()
    assert shop.rows(shop.built("kept")) == before
    shop.run()
    expected = {(1, "x", False): 1, (1, "z", True): 1, (2, "x", False): 1, (2, "y", True): 1}
    assert shop.rows(shop.built("kept"), "id, name, dbt_valid_to is null") == expected


def test_a_repeated_run_writes_the_same_versions(shop, customers):
    shop.model("again", SOURCE, **HISTORY)
    shop.run("--select", "again")
    for value in "bc":
        shop.sql(f"update {customers} set v = '{value}' where id = 1")
        shop.run("--select", "kept")
    shop.run("--select", "again")
    assert shop.rows(shop.built("kept")) == shop.rows(shop.built("again"))


@pytest.mark.core
def test_rows_are_read_as_of_a_time(shop, customers):
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.sql(f"delete from {customers} where id = 2")
    shop.model("kept", SOURCE, **HISTORY, hard_deletes="invalidate")
    shop.run()
    times = [
        time for (time,) in shop.sql(f"select string(committed_at) from {customers}.snapshots order by committed_at")
    ]
    for number, time in enumerate(times):
        shop.model(
            f"at_{number}",
            f"select id, v from {{{{ ip_history_as_of(ref('kept'), \"{time}\") }}}}",
            materialized="view",
        )
    shop.model("long_ago", "select * from {{ ip_history_as_of(ref('kept'), '2001-01-01') }} x", materialized="view")
    shop.model("now", "select * from {{ ip_history_as_of(ref('kept'), 'current_timestamp()') }} x", materialized="view")
    shop.run("--select", "at_0", "at_1", "at_2", "long_ago", "now")
    found = [shop.rows(shop.built(f"at_{number}")) for number in range(3)]
    assert found == [Counter([(1, "a"), (2, "a")]), Counter([(1, "b"), (2, "a")]), Counter([(1, "b")])]
    assert shop.rows(shop.built("long_ago")) == Counter()
    assert shop.rows(shop.built("now"), "id, v") == Counter([(1, "b")])


@pytest.mark.core
def test_a_deletion_can_make_a_version(shop, customers):
    shop.run("--full-refresh", *DROP)
    shop.model("kept", SOURCE, **HISTORY, hard_deletes="new_record", dbt_valid_to_current="to_date('9999-12-31')")
    shop.run("--full-refresh", *DROP)
    shop.sql(f"delete from {customers} where id = 1")  # 2
    shop.insert(customers, "(1, 'b')")  # 3
    shop.sql(f"delete from {customers} where id = 2")  # 4
    shop.run()
    found = versions(shop, customers, deleted="dbt_is_deleted")
    assert found == Counter(
        [
            (1, "a", 1, 2, "False"),
            (1, "a", 2, 3, "True"),
            (1, "b", 3, None, "False"),
            (2, "a", 1, 4, "False"),
            (2, "a", 4, None, "True"),
        ]
    )
    assert shop.sql(f"select count(*) from {shop.built('kept')} where year(dbt_valid_to) = 9999") == [(2,)]
    shop.model("now", "select id from {{ ip_history_as_of(ref('kept'), 'current_timestamp()') }}", materialized="view")
    shop.run("--select", "now")
    assert shop.rows(shop.built("now")) == Counter([(1,)])


def test_names_of_the_columns(shop, customers):
    names = {"dbt_valid_from": "began", "dbt_valid_to": "ended"}
    shop.model("kept", SOURCE, **HISTORY, snapshot_meta_column_names=names)
    assert "dbt_valid_from is began, but was dbt_valid_from" in shop.fails()
    shop.run("--full-refresh", *DROP)
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.run()
    shop.model("now", "select id, v from {{ ip_history_as_of(ref('kept'), 'current_date()') }}", materialized="view")
    shop.run("--select", "now")
    found = shop.rows(shop.built("kept"), "id, v, ended is null")
    assert found == Counter([(1, "a", False), (1, "b", True), (2, "a", True)])


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_names_that_need_quotes(shop, mode):
    table = shop.source("customers", "`order id` int, `from` string, `a``b` int")
    names = {"dbt_valid_from": "valid from", "dbt_valid_to": "to", "dbt_scd_id": "i`d", "dbt_is_deleted": "is-deleted"}
    shop.model(
        "kept",
        SOURCE,
        incremental_strategy="history",
        unique_key="order id",
        check_cols=["from"],
        hard_deletes="new_record",
        on_schema_change="append_new_columns",
        snapshot_meta_column_names=names,
        tblproperties={"write.delete.mode": mode, "write.merge.mode": mode},
    )
    shop.insert(table, "(1, 'a', 1)", "(2, 'a', 1)", "(3, 'a', 1)")
    shop.run()
    shop.sql(f"alter table {table} add column `new one` int")
    shop.sql(f"update {table} set `from` = 'b' where `order id` = 1")
    shop.sql(f"update {table} set `a``b` = 2, `new one` = 3 where `order id` = 2")
    shop.sql(f"delete from {table} where `order id` = 3")
    shop.run()
    shop.run("--full-refresh")
    columns = "`order id`, `from`, `a``b`, `new one`, `to` is null, `is-deleted`"
    expected = [
        (1, "a", 1, None, False, "False"),
        (1, "b", 1, None, True, "False"),
        (2, "a", 2, 3, True, "False"),
        (3, "a", 1, None, False, "False"),
        (3, "a", 1, None, True, "True"),
    ]
    assert shop.rows(shop.built("kept"), columns) == Counter(expected)
    now = "select `order id` as id, `from` as v from {{ ip_history_as_of(ref('kept'), 'current_timestamp()') }}"
    shop.model("now", now, materialized="view")
    shop.run("--select", "now")
    assert shop.rows(shop.built("now")) == Counter([(1, "b"), (2, "a")])


@pytest.mark.core
def test_versions_stay_when_the_source_is_built_again(shop, customers):
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.run()
    shop.sql(f"create or replace table {customers} using iceberg as select 1 as id, 'c' as v")
    found = shop.run()
    assert found.action("kept") == "rebuild"
    rows = shop.rows(shop.built("kept"), "id, v, dbt_valid_to is null")
    assert rows == Counter([(1, "a", False), (1, "b", False), (1, "c", True), (2, "a", False)])


@pytest.mark.core("merge-on-read")
@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_the_status_has_the_versions_of_each_run(shop, customers, mode):
    shop.sql(f"alter table {shop.built('kept')} set tblproperties ('write.merge.mode' = '{mode}')")
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.sql(f"delete from {customers} where id = 2")
    shop.insert(customers, "(3, 'a')", "(4, 'a')")
    shop.run()
    status = shop.statuses()["kept"]
    first, second = (run["versions"] for run in status["runs"])
    assert first == {"added": 2, "updated": 0}
    assert second["added"] == 3
    assert second["updated"] in ((2,) if mode == "merge-on-read" else (2, None))
    assert status["versions"] == second


def test_dropped_versions_are_logged(shop, customers):
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.run()
    found = shop.run("--full-refresh", *DROP)
    assert "3 versions of" in found.printed
    assert shop.rows(shop.built("kept"), "id, v") == Counter([(1, "b"), (2, "a")])


def test_other_configs_are_an_error(shop, customers):
    shop.model("kept", SOURCE, **HISTORY, check_cols=["v"])
    assert "check_cols is v, but was all" in shop.fails()
    before = shop.rows(shop.built("kept"))
    shop.run("--full-refresh")
    assert shop.rows(shop.built("kept")) == before
    shop.model("kept", SOURCE, incremental_strategy="history", unique_key=["id", "v"], check_cols=["v"])
    assert "unique_key is id, v, but was id" in shop.fails("--full-refresh")


@pytest.mark.core
def test_other_columns_follow_and_new_ones_are_no_reason(shop):
    customers = shop.source("customers", "id int, v string, w string")
    shop.model("kept", SOURCE, **HISTORY, check_cols=["v"], on_schema_change="append_new_columns")
    shop.insert(customers, "(1, 'a', 'x')", "(2, 'a', 'x')")
    shop.run()
    shop.sql(f"update {customers} set v = 'b' where id = 1")  # 2
    shop.sql(f"update {customers} set w = 'y'")  # 3
    shop.run()
    expected = [(1, "a", "x", 1, 2), (1, "b", "y", 2, None), (2, "a", "y", 1, None)]
    assert versions(shop, customers, "id, v, w") == Counter(expected)
    updated = shop.sql(f"select count(*) from {shop.built('kept')} where dbt_updated_at > dbt_valid_from")
    assert updated == [(2,)]
    shop.sql(f"alter table {customers} add column n int")
    shop.sql(f"update {customers} set n = 5")  # 4
    shop.run()
    expected = [(1, "a", "x", None, 1, 2), (1, "b", "y", 5, 2, None), (2, "a", "y", 5, 1, None)]
    assert versions(shop, customers, "id, v, w, n") == Counter(expected)
    shop.model(
        "kept", SOURCE.replace("*", "* except (n)"), **HISTORY, check_cols=["v"], on_schema_change="sync_all_columns"
    )
    shop.sql(f"update {customers} set v = 'c' where id = 1")
    assert "no longer returns n" in shop.fails()


def test_a_commit_must_leave_a_key_once(shop, customers):
    before = shop.rows(shop.built("kept"))
    shop.insert(customers, "(1, 'again')", "(3, 'x')", "(3, 'y')")
    message = shop.fails()
    assert "unique_key" in message
    assert '{"id":3}' in message
    assert shop.rows(shop.built("kept")) == before


def test_a_range_counts_as_one_commit(shop, customers):
    shop.model("kept", SOURCE.replace("))", "), per='range')"), **HISTORY)
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.sql(f"update {customers} set v = 'c' where id = 1")
    shop.run()
    assert versions(shop, customers) == Counter([(1, "a", 1, 3), (1, "c", 3, None), (2, "a", 1, None)])


def test_versions_of_rows_that_the_sql_leaves_out_end(shop, customers):
    shop.model("kept", SOURCE + " where v <> 'gone'", **HISTORY)
    shop.sql(f"update {customers} set v = 'gone' where id = 1")
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.run()
    assert versions(shop, customers) == Counter([(1, "a", 1, 2), (1, "b", 3, None), (2, "a", 1, None)])


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "select id, v, _change_type from {{ ip_changelog(source('raw', 'customers')) }}",
            "does not return _commit_order",
        ),
        ("select id, v from {{ ip_changelog(source('raw', 'customers')) }}", "_change_type"),
        (SOURCE.replace("*", "*, 1 as dbt_valid_to"), "returns dbt_valid_to, which the strategy 'history' adds"),
        (
            "select *, 'INSERT' as _change_type, 0 as _commit_order from {{ ip_changes(source('raw', 'customers')) }}",
            "does not read exactly one changelog",
        ),
    ],
)
def test_what_the_sql_must_return(shop, customers, sql, said):
    shop.model("kept", sql, **HISTORY)
    shop.insert(customers, "(3, 'c')")
    assert said in shop.fails()


@pytest.mark.core
def test_a_snapshot_of_dbt_is_continued(shop):
    customers = shop.source("customers")
    shop.insert(customers, "(1, 'a')", "(2, 'a')")
    shop.write(
        "snapshots/kept.yml",
        """
        version: 2
        snapshots:
          - name: kept
            relation: source('raw', 'customers')
            config: {unique_key: id, strategy: check, check_cols: all, hard_deletes: invalidate}
        """,
    )
    assert shop.dbt("snapshot").success
    before = shop.rows(shop.built("kept"))
    shop.write("snapshots/kept.yml", "")
    shop.sql(f"delete from {customers} where id = 2")
    shop.model("kept", SOURCE, **HISTORY)
    assert "no checkpoint" in shop.fails()
    shop.run("--full-refresh")
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.run()
    rows = shop.rows(shop.built("kept"), "id, v, dbt_valid_to is null")
    assert rows == Counter([(1, "a", False), (1, "b", True), (2, "a", False)])
    assert len(set(shop.sql(f"select dbt_scd_id from {shop.built('kept')}")) & {(row[2],) for row in before}) == 2
    assert not shop.sql(f"select * from {shop.built('kept')} where dbt_valid_to < dbt_valid_from")


def test_the_end_of_valid_versions_is_a_time(shop, customers):
    shop.model("kept", SOURCE, **HISTORY, dbt_valid_to_current="9999-12-31")
    assert "dbt_valid_to_current is 9999-12-31, which is not a time" in shop.fails("--full-refresh", *DROP)


def test_valid_versions_are_known_in_another_time_zone(shop, customers):
    """Their end would be another time there. No valid version would match, and a change would add a second one."""
    end = "to_date('9999-12-31')"
    shop.model("kept", SOURCE, **HISTORY, dbt_valid_to_current=end)
    shop.run("--full-refresh", *DROP)
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.configure({"spark.sql.session.timeZone": "America/New_York"})
    assert "the value of dbt_valid_to_current is " in shop.fails()
    shop.configure({"spark.sql.session.timeZone": "UTC"})
    shop.run()
    found = shop.rows(shop.built("kept"), f"id, v, dbt_valid_to = {end}")
    assert found == Counter([(1, "a", False), (1, "b", True), (2, "a", True)])


def test_a_snapshot_of_dbt_is_continued_by_the_end_that_its_versions_have(shop, customers):
    shop.sql(f"update {shop.built('kept')} set dbt_valid_to = to_date('9999-12-31')")
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.sql(f"create or replace table {shop.raw('kept')} using iceberg as select * from {shop.built('kept')}")
    shop.sql(f"drop table {shop.built('kept')}")
    shop.sql(f"create table {shop.built('kept')} using iceberg as select * from {shop.raw('kept')}")
    shop.model("kept", SOURCE, **HISTORY, on_missing_checkpoint="full_refresh")
    assert "was a time in the future" in shop.fails()
    rebuilt = {**HISTORY, "on_missing_checkpoint": "full_refresh"}
    shop.model("kept", SOURCE, **rebuilt, dbt_valid_to_current="to_date('9999-12-31')")
    shop.run()
    rows = shop.rows(shop.built("kept"), "id, v, year(dbt_valid_to)")
    assert {(id_, v, year == 9999) for id_, v, year in rows} == {(1, "a", False), (1, "b", True), (2, "a", True)}


def test_a_table_that_is_not_a_history_is_refused(shop):
    customers = shop.source("customers")
    shop.insert(customers, "(1, 'a')")
    shop.sql(f"create schema if not exists {shop.catalog}.`{shop.schema}`")
    shop.sql(f"create table {shop.built('kept')} using iceberg as select 1 as id, 'a' as v")
    shop.model("kept", SOURCE, **HISTORY, on_missing_checkpoint="full_refresh", on_schema_change="append_new_columns")
    assert "is not a history table that" in shop.fails()
    assert shop.frame(f"select * from {shop.built('kept')}").columns == ["id", "v"]


@pytest.mark.parametrize("server", [False, True])
def test_a_failed_run_does_not_change_versions(shop, customers, monkeypatch, server):
    if server:
        hold_as_a_server(monkeypatch)
    shop.sql(f"update {customers} set v = 'b' where id = 1")
    shop.model("kept", SOURCE + " where case when id = 1 then raise_error('broken') else true end", **HISTORY)
    before = shop.rows(shop.built("kept"))
    assert "broken" in shop.fails()
    assert shop.rows(shop.built("kept")) == before
    assert shop.branches(shop.built("kept")) == {"main"}
    shop.model("kept", SOURCE, **HISTORY)
    shop.run()
    assert versions(shop, customers) == Counter([(1, "a", 1, 2), (1, "b", 2, None), (2, "a", 1, None)])

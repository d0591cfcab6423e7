"""dbt's snapshots: a run compares the changed keys, and finds the same versions as dbt's comparison of whole tables."""

from __future__ import annotations

import pytest
import yaml
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.spark_iceberg.spark.connections import SparkIcebergConnectionManager
from iceberg_incremental.write.versions.snapshot_writer import SnapshotWriter
from tests.functional.incremental.shop import hold_as_a_server

COLUMNS = "id int, name string, amount decimal(10, 2), updated_at timestamp"
SOURCE = "{{ source('raw', 'orders') }}"
WHOLE = "_whole"


class Snapshots:
    """A source and its snapshots. Each snapshot has a twin for which dbt compares whole tables."""

    def __init__(self, shop):
        self.shop = shop
        self.source = shop.source("orders", COLUMNS)

    def declare(self, name, sql=f"select * from {SOURCE}", **config):
        """Write a snapshot, and its twin that compares whole tables."""
        self.write(name, sql, **config)
        self.write(name + WHOLE, sql, **config, ip_incremental=False)

    def write(self, name, sql=f"select * from {SOURCE}", **config):
        listed = ", ".join(f"{key}={value!r}" for key, value in config.items())
        text = f"{{% snapshot {name} %}}\n{{{{ config({listed}) }}}}\n{sql}\n{{% endsnapshot %}}\n"
        self.shop.write(f"snapshots/{name}.sql", text)

    def run(self, *arguments):
        found = self.shop.dbt("snapshot", *arguments)
        assert found.success, found.printed[-3000:]
        return found

    def change(self, *statements):
        for each in statements:
            self.shop.sql(each.format(self.source))

    def versions(self, name):
        listed = (
            "id, name, amount, updated_at, dbt_valid_from = dbt_updated_at as same, dbt_valid_to is null as is_open"
        )
        return self.shop.rows(self.shop.built(name), listed)

    def require_same(self, *names):
        for name in names:
            assert self.versions(name) == self.versions(name + WHOLE), name


@pytest.fixture
def orders(shop):
    found = Snapshots(shop)
    found.change(
        "insert into {} values (1, 'a', 1.00, timestamp '2026-01-01'), (2, 'b', 2.00, timestamp '2026-01-01'),"
        " (3, 'c', 3.00, timestamp '2026-01-01'), (4, null, null, timestamp '2026-01-01')"
    )
    return found


CHECK = {"strategy": "check", "check_cols": "all", "unique_key": "id", "hard_deletes": "invalidate"}
TIMED = {"strategy": "timestamp", "updated_at": "updated_at", "unique_key": "id", "hard_deletes": "invalidate"}
KINDS = {
    "check_some": {**CHECK, "check_cols": ["name"], "unique_key": ["id"], "hard_deletes": "ignore"},
    "timed": {**TIMED, "updated_at": "day", "dbt_valid_to_current": "to_timestamp('9999-12-31')"},
    "recorded": {**CHECK, "hard_deletes": "new_record"},
}
CHANGES = [
    ["update {} set name = 'z', updated_at = timestamp '2026-02-01' where id = 1"],
    ["delete from {} where id = 2", "insert into {} values (5, 'e', 5.00, timestamp '2026-02-01')"],
    [],
    ["insert into {} values (2, 'b', 2.00, timestamp '2026-01-01')", "update {} set amount = 9.00 where id = 3"],
    ["update {} set name = null, updated_at = timestamp '2025-01-01' where id = 5", "delete from {} where id = 1"],
]


@pytest.mark.core
def test_the_versions_are_those_of_dbts_own_comparison(orders):
    for name, config in KINDS.items():
        orders.declare(name, f"select *, date(updated_at) as day from {SOURCE}", **config)
    orders.run()
    for statements in CHANGES:
        orders.change(*statements)
        found = orders.run()
        orders.require_same(*KINDS)
        for name in KINDS:
            assert found.action(name) in (("apply", "advance") if statements else ("nothing",)), found.printed[-3000:]
            assert f".{name}: compares whole tables" not in found.printed


@pytest.mark.thorough
def test_rows_that_a_server_holds(orders, monkeypatch):
    """Held rows may be computed again. They have the time of the first computation, and read tables at one snapshot."""
    hold_as_a_server(monkeypatch)
    orders.declare("recorded", **KINDS["recorded"])
    orders.run()
    for statements in CHANGES[:2]:
        orders.change(*statements)
        orders.run()
        orders.require_same("recorded")
    ended = "select dbt_valid_to from {table} where dbt_valid_to is not null"
    table = orders.shop.built("recorded")
    assert orders.shop.sql(f"{ended.format(table=table)} except select dbt_valid_from from {table}") == []


def test_without_new_commits_no_statement_is_sent(orders, asked_of_spark):
    orders.write("checked", **CHECK)
    orders.run()
    asked_of_spark.clear()
    assert orders.run().message("checked") == "NOTHING NEW"
    assert [each for each in asked_of_spark if not each.lstrip().lower().startswith("show ")] == []


def test_a_relation_a_view_and_an_ephemeral_model(orders):
    shop = orders.shop
    shop.write("models/v.sql", f"{{{{ config(materialized='view') }}}}\nselect * from {SOURCE} where id <> 3\n")
    shop.write("models/e.sql", f"{{{{ config(materialized='ephemeral') }}}}\nselect * from {SOURCE} where id <> 4\n")
    listed = {"related": "source('raw', 'orders')", "viewed": "ref('v')", "shared": "ref('e')"}
    snapshots = [{"name": name, "relation": relation, "config": CHECK} for name, relation in listed.items()]
    twins = [{**each, "name": each["name"] + WHOLE, "config": {**CHECK, "ip_incremental": False}} for each in snapshots]
    shop.write("snapshots/all.yml", yaml.safe_dump({"version": 2, "snapshots": [*snapshots, *twins]}))
    shop.run()
    orders.run()
    orders.change("update {} set name = 'z' where id in (1, 3, 4)", "delete from {} where id = 2")
    found = orders.run()
    orders.require_same(*listed)
    assert all(found.action(name) == "apply" for name in listed)


REASONS = {
    "joined": (f"select a.* from {SOURCE} a join {SOURCE} b on a.id = b.id", {}, "its SQL has a join"),
    "counted": (f"select id, max(name) as name from {SOURCE} group by id", {}, "its SQL has GROUP BY"),
    "volatile": (f"select * from {SOURCE} where updated_at < current_timestamp()", {}, "current_timestamp()"),
    "composed": (f"select * from {SOURCE}", {"unique_key": "concat(id, name)"}, "not the name of a column"),
    "capital": (f"select * from {SOURCE}", {"unique_key": "ID"}, "unique_key is 'ID'"),
    "repeated": (f"select 1 as id, name from {SOURCE}", {}, "several rows of a unique_key"),
    "without": (f"select nullif(id, 1) as id, name from {SOURCE}", {}, "NULL in unique_key"),
    "moment": (
        f"select * from {SOURCE} where updated_at < timestamp 'now'",
        {},
        "has 'now', which Spark may interpret as the time of the run",
    ),
    "divided": (
        f"select id, if(id = 1, '|', 'x') as name from {SOURCE}",
        {"unique_key": ["id", "name"]},
        "a column of unique_key contains '|'",
    ),
    "floating": (f"select double(id) as id, name from {SOURCE}", {}, "is of type double"),
}


@pytest.mark.core
def test_comparisons_of_whole_tables_log_their_reason(orders):
    for name, (sql, config, _) in REASONS.items():
        orders.write(name, sql, **{**CHECK, **config})
    found = orders.run()
    for name, (_, _, reason) in REASONS.items():
        assert any(f".{name}: " in line and reason in line for line in found.printed.splitlines()), name
        summaries = [summary for _, _, summary in orders.shop.snapshots(orders.shop.built(name))]
        assert not any("ip.checkpoint" in summary for summary in summaries), name


def test_parts_of_the_rows_end_no_versions(orders):
    """Without its rows, dbt would record all of them as deleted."""
    for name, config in {"ended": CHECK, "recorded": KINDS["recorded"], "kept": KINDS["check_some"]}.items():
        orders.write(name, **config)
    orders.shop.dbt("build", "--empty")  # new tables
    assert orders.shop.dbt("build", "--empty").success
    orders.run()
    rows = {name: orders.versions(name) for name in ("ended", "recorded", "kept")}
    found = orders.shop.dbt("build", "--empty")
    for name in ("ended", "recorded"):
        assert "would record all others as deleted" in found.nodes[name].message
        assert f"--exclude {name}" in found.nodes[name].message
    assert found.nodes["kept"].status == "success"
    assert rows == {name: orders.versions(name) for name in rows}


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("9999-12-31", "Found: a value of type int."),
        ("9999-12-31 00:00:00", "PARSE_SYNTAX_ERROR"),
        ("'9999-12-31'", ""),
    ],
)
def test_the_end_of_valid_versions(orders, end, said):
    orders.write("ended", **{**TIMED, "dbt_valid_to_current": end})
    found = orders.shop.dbt("snapshot")
    assert found.success is (not said)
    assert said in str(found.nodes["ended"].message)
    assert said == "" or "dbt_valid_to_current is 9999-12-31" in found.nodes["ended"].message


def test_keys_that_have_one_id(orders):
    """dbt joins the columns of a key with ``|``. It ends both versions of an id, and the next run opens one again."""
    orders.declare("divided", f"select *, split_part(name, '-', 1) as a, split_part(name, '-', 2) as b from {SOURCE}",
                   **{**CHECK, "unique_key": ["a", "b"]})  # fmt: skip
    orders.change("update {} set name = if(id = 1, 'x|y-z', 'x-y|z') where id < 3", "delete from {} where id > 2")
    orders.run()
    orders.change("update {} set amount = 5.00 where id = 1")
    orders.run()
    orders.run()
    orders.require_same("divided")


def test_a_column_with_the_name_of_one_of_dbts_own(orders):
    orders.declare("named", f"select *, name as dbt_unique_key_hash from {SOURCE}", **CHECK)
    orders.run()
    orders.change("update {} set name = 'z' where id = 1")
    orders.run()
    orders.require_same("named")
    found = orders.shop.rows(orders.shop.built("named"), "id, name <=> dbt_unique_key_hash")
    assert all(same for _, same in found)


def test_macros_of_the_project_are_used(orders):
    """The package does not know their comparison, so it compares whole tables."""
    orders.shop.write("macros/own.sql", "{% macro default__snapshot_hash_arguments(args) %}md5('x'){% endmacro %}\n")
    orders.write("checked", **CHECK)
    assert "overridden by shop.default__snapshot_hash_arguments" in orders.run().printed


def test_snapshots_of_earlier_versions_continue(orders):
    orders.declare("checked", **CHECK)
    orders.write("checked", **CHECK, ip_incremental=False)
    orders.run()
    orders.change("update {} set name = 'y' where id = 1")
    orders.write("checked", **CHECK)
    assert "its table has no checkpoint yet" in orders.run().printed
    table = orders.shop.built("checked")
    (_, _, summary) = orders.shop.snapshots(table)[-1]
    assert "ip.checkpoint" in summary and "spark.merge-into.num-target-rows-updated" in summary
    orders.change("update {} set name = 'z' where id = 2")
    assert "compares the rows of 1 changed key" in orders.run().printed
    orders.require_same("checked")
    assert orders.shop.branches(table) == {"main"}


def test_a_copy_on_write_table(orders):
    """A MERGE ends the versions of this table."""
    modes = {f"write.{kind}.mode": "copy-on-write" for kind in ("delete", "update", "merge")}
    orders.declare("checked", **CHECK, tblproperties={"format-version": "2", **modes})
    orders.run()
    for statements in CHANGES:
        orders.change(*statements)
        assert "compares whole tables" not in orders.run("--select", "checked").printed
        orders.run("--select", "checked" + WHOLE)
        orders.require_same("checked")


@pytest.mark.parametrize("strategy", [CHECK, TIMED], ids=["check", "timestamp"])
def test_a_second_row_of_a_key_is_noticed(orders, strategy):
    orders.declare("checked", **strategy)
    orders.run()
    orders.change("insert into {} values (3, 'second', 3.00, timestamp '2026-03-01'), (9, 'x', 9.00, null)")
    assert "returns several rows of a unique_key" in orders.shop.dbt("snapshot", "--select", "checked").printed


@pytest.mark.core
def test_a_writer_during_a_run(orders, monkeypatch):
    """The run publishes nothing. The next run repairs the writer's changes, as dbt does."""
    orders.declare("checked", **CHECK)
    orders.run()
    orders.change("update {} set name = 'z' where id = 1")
    table, compared = orders.shop.built("checked"), SnapshotWriter.compared

    def meanwhile(self):
        found = compared(self)
        orders.shop.sql(f"delete from {table} where id = 3")
        return found

    monkeypatch.setattr(SnapshotWriter, "compared", meanwhile)
    before = orders.versions("checked")
    found = orders.shop.dbt("snapshot", "--select", "checked")
    assert not found.success and "another writer has changed during the run" in found.message("checked")
    assert {row[0] for row in before - orders.versions("checked")} == {3} and not orders.versions("checked") - before
    monkeypatch.undo()
    orders.shop.sql(f"delete from {orders.shop.built('checked' + WHOLE)} where id = 3")
    orders.run()
    orders.require_same("checked")


@pytest.mark.thorough
@pytest.mark.parametrize("is_sent", [False, True], ids=["before", "after"])
def test_a_run_that_fails_at_any_statement(orders, monkeypatch, is_sent):
    """Before it is sent, or after it was executed and its answer is lost. The next run repairs the table."""
    orders.declare("checked", **KINDS["recorded"])
    orders.run()
    add_query, statements = SparkIcebergConnectionManager.add_query, []

    def fails(self, sql, *args, **kwargs):
        if "checked" in str(self.get_thread_connection().name) and not sql.lstrip().lower().startswith("show "):
            statements.append(sql)
            if len(statements) == number:
                if is_sent:
                    add_query(self, sql, *args, **kwargs)
                raise DbtDatabaseError("the connection is lost")
        return add_query(self, sql, *args, **kwargs)

    for number in range(1, 40):
        orders.change(f"update {{}} set name = 'n{number}' where id = {number % 4 + 1}")
        orders.change("delete from {} where id > 4", f"insert into {{}} values ({number + 5}, 'x', 1.00, null)")
        statements.clear()
        monkeypatch.setattr(SparkIcebergConnectionManager, "add_query", fails)
        found = orders.shop.dbt("snapshot", "--select", "checked")
        monkeypatch.setattr(SparkIcebergConnectionManager, "add_query", add_query)
        if len(statements) < number:
            assert number > 6
            break
        orders.run()
        orders.require_same("checked")
    assert found.success


@pytest.mark.core
def test_what_is_pending_is_shown(orders):
    """A snapshot that compares whole tables in each run has no checkpoint, and is not shown."""
    orders.declare("checked", **CHECK)
    assert orders.shop.statuses() == {}
    orders.run()
    shown = orders.shop.statuses()
    assert set(shown) == {"checked"}
    assert (shown["checked"]["state"], shown["checked"]["versions"]) == ("current", {"added": 4, "updated": 0})
    orders.change("update {} set name = 'z' where id in (1, 3)", "delete from {} where id = 2")
    pending = orders.shop.statuses()["checked"]
    assert (pending["state"], pending["next_run"]) == ("pending", "compares the changed keys")
    assert pending["sources"][0]["snapshots"] == 2
    assert orders.run().action("checked") == "apply"
    (_, run) = orders.shop.statuses()["checked"]["runs"]
    assert run["versions"] == {"added": 2, "updated": 3}
    orders.shop.sql(f"update {orders.shop.built('checked')} set name = 'y' where id = 1")
    pending = orders.shop.statuses()["checked"]
    assert "compares whole tables (" in pending["next_run"]
    found = orders.run()
    assert "compares whole tables" in found.printed


def test_what_is_pending_after_the_columns_of_the_source_were_swapped(orders):
    """No commit shows it. The run compares whole tables and leaves no checkpoint, and later runs say why they do."""
    orders.change("alter table {} add column note string")
    orders.change("insert into {} values (8, 'h', 8.00, timestamp '2026-03-01', 'n')")
    orders.declare("checked", **CHECK)
    orders.run()
    for old, new in (("name", "other"), ("note", "name"), ("other", "note")):
        orders.change(f"alter table {{}} rename column {old} to {new}")
    reason = "the columns of the table that it reads have changed since its newest commit, or are unknown"
    assert orders.shop.statuses()["checked"]["next_run"] == f"compares whole tables ({reason})"
    assert reason in orders.run().printed
    assert "by a run that left no checkpoint" in orders.shop.statuses()["checked"]["next_run"]
    orders.change("insert into {} values (9, 'i', 9.00, timestamp '2026-03-01', 'o')")
    assert "by a run that left no checkpoint" in orders.run().printed
    orders.require_same("checked")
    assert orders.run().message("checked") == "NOTHING NEW"


def test_a_changed_view_is_named(orders):
    shop = orders.shop
    shop.sql(f"create view {shop.raw('recent')} as select * from {orders.source}")
    shop.declare("recent")
    orders.declare("checked", "select * from {{ source('raw', 'recent') }}", **CHECK)
    orders.run()
    shop.sql(f"create or replace view {shop.raw('recent')} as select * from {orders.source} where id > 1")
    reason = f"the definition of the view {shop.raw('recent').replace('`', '')} has changed"
    assert orders.shop.statuses()["checked"]["next_run"] == f"compares whole tables ({reason})"
    assert reason in orders.run().printed
    orders.require_same("checked")

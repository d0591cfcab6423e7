"""Clones that are made while others write, or that fail before they are complete. No row is lost; no clone is wrong."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from iceberg_incremental.errors import ConfigError, StatementError
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.open import open_reader
from iceberg_incremental.publish.clones import CloneMaker
from iceberg_incremental.spark.session import SessionSpark
from iceberg_incremental.table import clone as clones
from iceberg_incremental.table.history import TableName

from .shop import CATALOG
from .test_clones import CHANGES, Dev, dev, events, files  # noqa: F401 (two are fixtures)

WEEK = timedelta(days=7)
OLD = "older_than => timestamp '2999-01-01 00:00:00', retain_last => 1"


class Statements(SessionSpark):
    """A connection that calls a function before each statement. ``sent``: the statements so far."""

    def __init__(self, shop, before=lambda number: None):
        super().__init__(shop.session)
        self.sent = []
        self._before = before

    def send(self, sql):
        self.sent.append(sql)
        self._before(len(self.sent))
        super().send(sql)

    def rows(self, sql):
        self.sent.append(sql)
        self._before(len(self.sent))
        return super().rows(sql)

    def refresh(self, table):
        """As on dbt's connections, whose catalogs do not cache tables."""


class Lake:
    """A table with two rows, one of whose first rows was deleted, and clones of it."""

    def __init__(self, shop, schema="far", name="dolly", copy="copy"):
        self.shop = shop
        self.origin = TableName(CATALOG, f"{shop.schema}_{schema}", name)
        self.clone = TableName(CATALOG, f"{shop.schema}_{schema} of us", copy)
        for table in (self.origin, self.clone):
            shop.sql(f"create namespace {CATALOG}.`{table.namespace.replace('`', '``')}`")
        shop.sql(f"create table {self.origin.sql} (id int) using iceberg")
        shop.insert(self.origin.sql, "(1)", "(2)")
        shop.sql(f"delete from {self.origin.sql} where id = 1")
        shop.insert(self.origin.sql, "(3)")
        shop.sql(f"alter table {self.origin.sql} create tag kept")
        self.reader: MetadataReader = open_reader("spark", dict, {}, shop.sql)

    def make(self, before=lambda number: None, origin=None, to=None):
        """Make a clone; returns the statements that were sent."""
        spark = Statements(self.shop, before)
        CloneMaker(spark, self.reader).make(origin or self.origin, to or self.clone, WEEK)
        return spark.sent

    def rows(self, table):
        self.shop.sql(f"refresh table {table.sql}")
        return sorted(self.shop.sql(f"select * from {table.sql}"))

    def listed(self):
        """The tables in the clone's schema."""
        namespace = self.clone.namespace.replace("`", "``")
        return {row[1] for row in self.shop.sql(f"show tables in {CATALOG}.`{namespace}`")}

    def changes_and_expires(self, table=None):
        """Replace all rows of a table, and expire all snapshots that may expire."""
        table = table or self.origin
        before = self.rows(table)
        name = table.sql.partition(".")[2].replace("'", "\\'")
        self.shop.sql(f"insert overwrite {table.sql} select id + 100 from {table.sql}")
        self.shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{name}', {OLD})")
        assert self.rows(table) == [(id + 100,) for (id,) in before]

    def assert_whole(self, clone, expected=((2,), (3,))):
        """Check that a clone keeps its rows after everything has expired at its origin, and accepts new rows."""
        self.changes_and_expires()
        assert self.rows(clone) == list(expected)
        assert self.shop.properties(clone.sql)["gc.enabled"] == "false"
        self.shop.insert(clone.sql, "(9)")
        assert self.rows(clone) == sorted([*expected, (9,)])


@pytest.fixture
def lake(shop):
    return Lake(shop)


@pytest.mark.core("new-fails")
@pytest.mark.parametrize("dies", [False, True], ids=["fails", "dies"])
@pytest.mark.parametrize("replaces", [False, True], ids=["new", "replaced"])
def test_each_statement_in_turn_fails(lake, shop, monkeypatch, caplog, replaces, dies):
    """``dies``: no later statement reaches Spark, as after a crash."""
    all_statements = lake.make()
    shop.sql(f"drop table {lake.clone.sql}")
    if replaces:
        shop.sql(f"create table {lake.clone.sql} using iceberg as select 7 as id")
    head, branches = shop.head(lake.origin.sql), shop.branches(lake.origin.sql)
    for fails_at in range(1, len(all_statements) + 1):

        def fail(number, at=fails_at):
            if number == at or (dies and number > at):
                raise StatementError("no connection")

        with pytest.raises(StatementError, match="no connection"):
            lake.make(fail)
        expected = {lake.clone.name} if replaces else set()
        left = lake.listed() - expected
        assert lake.listed() >= expected
        assert all("__ip_clone_" in name for name in left)
        if not dies:
            assert not left
            assert shop.branches(lake.origin.sql) == branches
        if replaces:
            assert lake.rows(lake.clone) == [(7,)]
        assert lake.rows(lake.origin) == [(2,), (3,)]
        assert shop.head(lake.origin.sql) == head
    assert ("ALTER TABLE" in caplog.text and "DROP BRANCH IF EXISTS `ip_cloned_by." in caplog.text) is dies
    lake.make(to=TableName(CATALOG, lake.clone.namespace, "other"))
    monkeypatch.setattr(clones, "_LONGEST_CLONE_MS", -1)
    if replaces:
        shop.sql(f"drop table {lake.clone.sql}")
    lake.make()
    assert lake.listed() == {lake.clone.name, "other"}
    lake.assert_whole(lake.clone)


def test_a_clone_whose_rename_succeeded_without_a_response_keeps_its_branch(lake, shop):
    class Lost(Statements):
        def send(self, sql):
            super().send(sql)
            if " RENAME TO " in sql:
                raise StatementError("no response")

    with pytest.raises(StatementError, match="no response"):
        CloneMaker(Lost(shop), lake.reader).make(lake.origin, lake.clone, WEEK)
    assert lake.listed() == {lake.clone.name}
    lake.assert_whole(lake.clone)


def test_another_attempt_between_any_two_statements(lake, shop):
    statements = len(lake.make())
    for place in range(1, statements + 1):
        shop.sql(f"drop table {lake.clone.sql}")

        def meanwhile(number, at=place):
            if number == at:
                lake.make()

        branches = shop.branches(lake.origin.sql)
        with pytest.raises(StatementError, match=r"already exists|ALREADY_EXISTS|AlreadyExists"):
            lake.make(meanwhile)
        assert len(shop.branches(lake.origin.sql) - branches) == 1
        assert lake.rows(lake.clone) == [(2,), (3,)]
        assert files(shop, lake.clone.sql) == files(shop, lake.origin.sql)
        assert shop.branches(lake.clone.sql) == {"main"}
    lake.assert_whole(lake.clone)


def test_commits_and_expiries_of_the_origin_between_any_two_statements(lake, shop):
    """The clone has the rows of one snapshot, and keeps them."""
    for place in range(1, len(lake.make()) + 1):
        shop.sql(f"drop table {lake.clone.sql}")
        before = lake.rows(lake.origin)

        def meanwhile(number, at=place):
            if number == at:
                lake.changes_and_expires()

        lake.make(meanwhile)
        assert lake.rows(lake.clone) in (before, lake.rows(lake.origin))
        lake.assert_whole(lake.clone, lake.rows(lake.clone))


@pytest.mark.parametrize(
    ("schema", "name"),
    [("Far", "Dolly"), ("far away", "dolly the sheep"), ("far", "do.ll.y"), ("far", "do`lly``"), ("far", "dö'l\"ly$")],
)
def test_names_of_every_kind(shop, schema, name):
    lake = Lake(shop, schema, name, f"{name} of us")
    lake.make()
    assert lake.listed() == {lake.clone.name}
    found = clones.clone_of(lake.reader.load(lake.clone))
    assert found is not None and found.origin == lake.origin
    again = TableName(CATALOG, lake.clone.namespace, f"{name} again")
    lake.make(origin=lake.clone, to=again)
    lake.assert_whole(lake.clone)
    assert lake.rows(again) == [(2,), (3,)]


def test_a_clone_whose_replacement_fails_stays_complete(lake, shop):
    """The origin has been rebuilt, so the new branch has none of the snapshots of the old clone."""
    lake.make()
    shop.sql(f"create or replace table {lake.origin.sql} using iceberg as select 5 as id")

    def fail(number):
        if number == len_of_made:
            raise StatementError("no connection")

    len_of_made = len(lake.make(to=TableName(CATALOG, lake.clone.namespace, "other")))
    with pytest.raises(StatementError, match="no connection"):
        lake.make(fail)
    lake.assert_whole(lake.clone)


@pytest.mark.core
def test_a_clone_of_a_clone_outlives_that_one(lake, shop):
    second = TableName(CATALOG, lake.clone.namespace, "second")
    lake.make()
    lake.make(origin=lake.clone, to=second)
    shop.sql(f"drop table {lake.clone.sql}")
    shop.sql(f"create or replace table {lake.origin.sql} using iceberg as select 5 as id")
    lake.make()
    lake.assert_whole(second)
    assert lake.rows(lake.clone) == [(5,)]


def test_a_clone_of_a_clone_in_the_folder_of_the_first_origin_is_refused(lake, shop):
    lake.make()
    (folder,) = [row[1] for row in shop.sql(f"describe extended {lake.origin.sql}") if row[0] == "Location"]
    spark = SessionSpark(shop.session)
    second = TableName(CATALOG, lake.clone.namespace, "second")
    with pytest.raises(ConfigError, match="cannot be cloned from"):
        CloneMaker(spark, lake.reader).make(lake.clone, second, WEEK, location=folder)
    assert lake.listed() == {lake.clone.name}
    assert lake.rows(lake.origin) == [(2,), (3,)]


def test_a_rollback_of_the_origin(lake, shop):
    first = shop.snapshots(lake.origin.sql)[0][0]
    lake.make()
    name = f"{lake.origin.namespace}.{lake.origin.name}"
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{name}', {first})")
    shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{name}', {OLD})")
    assert lake.rows(lake.origin) == [(1,), (2,)]
    lake.assert_whole(lake.clone)


def test_a_clone_after_its_retention(lake, shop):
    """Its origin expires snapshots without restriction. Reads of the clone then fail, and a new clone is complete."""
    lake.make()
    (branch,) = [each for each in shop.branches(lake.origin.sql) if each.startswith("ip_cloned_by.")]
    shop.sql(f"alter table {lake.clone.sql} set tblproperties ('ip.files-kept-until' = '1')")
    with pytest.raises(ConfigError, match="no longer keeps the clone's files"):
        lake.make(origin=lake.clone, to=TableName(CATALOG, lake.clone.namespace, "second"))
    shop.sql(f"alter table {lake.origin.sql} drop branch `{branch}`")
    shop.sql(f"alter table {lake.origin.sql} drop tag kept")
    lake.changes_and_expires()
    with pytest.raises(Exception, match=r"FileNotFound|does not exist|No such file"):
        lake.rows(lake.clone)
    shop.sql(f"drop table {lake.clone.sql}")
    lake.make()
    assert lake.rows(lake.clone) == lake.rows(lake.origin) == [(102,), (103,)]


def test_clones_by_many_threads(shop, events, tmp_path):  # noqa: F811
    names = [f"model_{number}" for number in range(6)]
    for name in names:
        shop.model(name, CHANGES)
    shop.run()
    other = Dev(shop, tmp_path / "other")
    other.clone("--threads", "6", "--select", *names)
    other.clone("--threads", "6", "--full-refresh", "--select", *names)
    shop.insert(events, "(3, 'c')")
    other.run("--threads", "6", "--select", *names)
    for name in names:
        assert shop.rows(other.table(name)) == Counter([(1, "a"), (2, "b"), (3, "c")])
        assert shop.rows(shop.built(name)) == Counter([(1, "a"), (2, "b")])


@pytest.mark.core
def test_deletions_that_a_clone_remembers_outlive_those_of_its_origin(shop, tmp_path):
    """The table of deletions is next to the origin. The clone reads it until its own next run."""
    log = shop.source("log", "id int, at int, v string, _change_type string")
    shop.model(
        "mirror",
        "select * from {{ ip_changes(source('raw', 'log')) }}",
        incremental_strategy="apply_changes",
        unique_key="id",
        sequence_by="at",
    )
    shop.insert(log, "(1, 1, 'a', 'INSERT')", "(2, 1, 'b', 'INSERT')")
    shop.run()
    shop.insert(log, "(1, 9, null, 'DELETE')")
    shop.run()
    dev = Dev(shop, tmp_path / "other")  # noqa: F811
    beside = f"{shop.schema}.mirror__ip_deleted"
    for number in range(2):
        dev.clone("--select", "mirror", "--full-refresh")
        shop.insert(log, f"({number + 5}, 9, null, 'DELETE')")
        shop.run()
        shop.sql(
            f"call {CATALOG}.system.rewrite_data_files(table => '{beside}', options => map('rewrite-all', 'true'))"
        )
        shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{beside}', {OLD})")
        shop.insert(log, f"(1, {number + 3}, 'late', 'INSERT')", f"(2, {number + 3}, 'new', 'INSERT')")
        dev.run("--select", "mirror")
        assert shop.rows(dev.table("mirror"), "id, at, v") == Counter([(2, number + 3, "new")])
        assert shop.rows(shop.built("mirror"), "id, v")[(1, "late")] == 0
    shop.run()
    assert shop.rows(shop.built("mirror")) == shop.rows(dev.table("mirror"))


def test_a_clone_of_deletions_that_were_just_compacted(shop, tmp_path):
    """The checkpoint names a snapshot that has expired. A later snapshot has the same rows."""
    log = shop.source("log", "id int, at int, v string, _change_type string")
    sql = "select * from {{ ip_changes(source('raw', 'log')) }}"
    shop.model("mirror", sql, incremental_strategy="apply_changes", unique_key="id", sequence_by="at")
    for key in (1, 2):
        shop.insert(log, f"({key}, 9, null, 'DELETE')")
        shop.run()
    beside = f"{shop.schema}.mirror__ip_deleted"

    def compact():
        options = "options => map('rewrite-all', 'true')"
        shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{beside}', {options})")
        shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{beside}', {OLD})")

    compact()
    dev = Dev(shop, tmp_path / "other")  # noqa: F811
    dev.clone("--select", "mirror")
    shop.insert(log, "(3, 9, null, 'DELETE')")
    shop.run()
    compact()
    shop.insert(log, "(1, 8, 'late', 'INSERT')", "(4, 8, 'new', 'INSERT')")
    dev.run("--select", "mirror")
    assert shop.rows(dev.table("mirror"), "id, v") == Counter([(4, "new")])


@pytest.mark.parametrize("from_log", [False, True], ids=["changes", "log"])
def test_histories_are_continued(shop, tmp_path, from_log):
    source = shop.source("customers", "id int, v string, s int")
    macro, order = ("ip_changes", {"sequence_by": "s"}) if from_log else ("ip_changelog", {})
    sql = f"select * from {{{{ {macro}(source('raw', 'customers')) }}}}"
    shop.model("kept", sql, incremental_strategy="history", unique_key="id", **order)
    shop.insert(source, "(1, 'a', 10)", "(2, 'a', 10)")
    shop.run()
    shop.insert(source, "(1, 'b', 30)") if from_log else shop.sql(f"update {source} set v = 'b' where id = 1")
    shop.run()
    dev = Dev(shop, tmp_path / "other")  # noqa: F811
    dev.clone("--select", "kept")
    shop.insert(source, "(1, 'late', 20)") if from_log else shop.sql(f"update {source} set v = 'c' where id = 1")
    assert dev.run("--select", "kept").action("kept") == "apply"
    assert shop.rows(shop.built("kept"), "count(*)") == Counter([(3,)])
    shop.run()
    for table in (dev.table("kept"), shop.built("kept")):
        assert shop.rows(table, "count(*)") == Counter([(4,)])
    columns = "id, v, dbt_valid_from, dbt_valid_to"
    assert shop.rows(dev.table("kept"), columns) == shop.rows(shop.built("kept"), columns)
    dev.run("--select", "kept", "--full-refresh")
    assert shop.rows(dev.table("kept"), columns) == shop.rows(shop.built("kept"), columns)


@pytest.mark.core("by_hand")
@pytest.mark.parametrize("by_hook", [False, True], ids=["by_hand", "by_a_hook"])
def test_a_clone_that_may_remove_files_does_not_run(shop, events, dev, by_hook):  # noqa: F811
    properties = "set tblproperties ('gc.enabled' = 'true')"
    if by_hook:
        shop.model("staged", CHANGES, post_hook=f"alter table {{{{ this }}}} {properties}")
    dev.clone("--select", "staged")
    if by_hook:
        dev.run("--select", "staged")
    else:
        shop.sql(f"alter table {dev.table('staged')} {properties}")
    shop.insert(events, "(3, 'c')")
    for command in (["run"], ["run", "--full-refresh"]):
        found = dev.dbt(*command, "--select", "staged", "--defer", "--state", dev.state)
        assert not found.success and "may remove files of" in found.message("staged")
    rows = shop.rows(shop.built("staged"))
    old = "{select: staged, max_snapshot_age: 1 ms, orphan_files: true}"
    found = dev.dbt("run-operation", "ip_maintain", "--args", old)
    assert found.success and "other tables may use the same files" in found.printed
    assert shop.rows(shop.built("staged")) == rows
    shop.model("staged", CHANGES)
    off = "'gc.enabled' = 'false', 'write.metadata.delete-after-commit.enabled' = 'false'"
    shop.sql(f"alter table {dev.table('staged')} set tblproperties ({off})")
    dev.run("--select", "staged")
    assert shop.rows(dev.table("staged")) == Counter([(1, "a"), (2, "b"), (3, "c")])

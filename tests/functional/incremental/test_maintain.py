"""``ip_maintain``: compaction, expiry and removal of the remains of crashed runs, while models continue to read."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from iceberg_incremental.maintenance import branches

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
AT_ONCE = {"history.expire.max-snapshot-age-ms": "1"}
MODES = ", ".join(f"'write.{statement}.mode'='{{mode}}'" for statement in ("delete", "update", "merge"))


def maintain(shop, **arguments):
    """The report of ``ip_maintain``, by table."""
    found = shop.operation("ip_maintain", format="json", **arguments)
    assert found.success, found.printed[-3000:]
    return report_in(found.printed)


def report_in(printed):
    report, _ = json.JSONDecoder().raw_decode(printed, printed.index('{\n  "version"'))
    return {each["table"].rpartition(".")[2]: each for each in report["tables"]}


def actions(report):
    return [each["action"] for each in report["actions"]]


def snapshots(shop, table):
    return [row[0] for row in shop.sql(f"select snapshot_id from {table}.snapshots order by committed_at")]


def files(shop, table, content=0):
    return shop.sql(f"select count(*) from {table}.files where content = {content}")[0][0]


def fill(shop, events, runs=6):
    """Commit one row and run, several times."""
    for number in range(runs):
        shop.insert(events, f"({number}, 'a')")
        shop.run()


@pytest.mark.core
def test_a_dry_run_says_what_the_run_then_does(shop, asked_of_spark):
    events = shop.source("events")
    shop.model("staged", CHANGES, tblproperties=AT_ONCE)
    fill(shop, events)
    staged = shop.built("staged")
    before = snapshots(shop, staged)
    del asked_of_spark[:]
    would = maintain(shop, dry_run=True)["staged"]
    assert asked_of_spark == []
    assert actions(would) == ["expire_snapshots", "rewrite_data_files"]
    expire, rewrite = would["actions"]
    assert (expire["planned"]["snapshots"], expire["planned"]["of"]) == (5, 6)
    assert (rewrite["planned"]["files"], rewrite["planned"]["files_after"]) == (6, 1)
    assert [each["returned"] for each in would["actions"]] == [None, None]
    assert snapshots(shop, staged) == before and files(shop, staged) == 6

    printed = shop.operation("ip_maintain", format="json").printed
    did, announced = report_in(printed)["staged"], printed.partition('{\n  "version"')[0]
    for step in actions(would):
        assert f"{shop.schema}.staged (1 of 1): {step}: " in announced
    assert [each["planned"].keys() for each in did["actions"]] == [each["planned"].keys() for each in would["actions"]]
    returned = did["actions"][1]["returned"]
    assert (returned["rewritten_data_files_count"], returned["added_data_files_count"]) == (6, 1)
    assert files(shop, staged) == 1
    assert snapshots(shop, staged)[0] == before[-1] and len(snapshots(shop, staged)) == 2

    assert actions(maintain(shop)["staged"]) == []
    assert shop.run().message("staged") == "NOTHING NEW"
    shop.insert(events, "(9, 'z')")
    shop.run()
    assert shop.rows(staged) == shop.rows(events)


def test_a_model_that_is_behind_keeps_what_it_has_to_read(shop):
    """This also applies to models that are not selected. An unknown position keeps all snapshots."""
    events = shop.source("events")
    shop.model("staged", CHANGES, tblproperties=AT_ONCE)
    shop.model("last", "select * from {{ ip_changes(ref('staged')) }}", tblproperties=AT_ONCE)
    shop.insert(events, "(0, 'a')")
    shop.run()
    staged = shop.built("staged")
    read = shop.head(staged)
    for number in range(1, 6):
        shop.insert(events, f"({number}, 'b')")
        shop.run("--select", "staged")
    report = maintain(shop, select="staged")["staged"]
    assert actions(report) == ["rewrite_data_files"]
    assert report["left_alone"][0].startswith("5 snapshots beyond the table's retention stay for model.shop.last")
    assert read in snapshots(shop, staged)

    last = shop.built("last")
    kept = shop.properties(last)["ip.checkpoint"]
    shop.sql(f"alter table {last} set tblproperties ('ip.checkpoint' = 'broken')")
    report = maintain(shop, select="staged")["staged"]
    assert actions(report) == []
    assert report["left_alone"][0].startswith("no snapshot expires: the checkpoint of model.shop.last cannot be read.")
    escaped = kept.replace("\\", "\\\\").replace("'", "\\'")
    shop.sql(f"alter table {last} set tblproperties ('ip.checkpoint' = '{escaped}')")

    shop.run()
    assert shop.rows(last) == shop.rows(events)
    report = maintain(shop)["staged"]
    assert report["actions"][0]["planned"]["snapshots"] == 5 and report["left_alone"] == []
    assert read not in snapshots(shop, staged)


@pytest.mark.core
def test_what_crashed_runs_left_goes_and_what_may_be_under_way_stays(shop, monkeypatch):
    events = shop.source("events")
    shop.model("staged", CHANGES, audit=True, tblproperties=AT_ONCE)
    fill(shop, events)
    staged, beside = shop.built("staged"), shop.built("staged__ip_audit")
    shop.sql(f"create table {beside} using iceberg as select 1 as id")
    shop.sql(f"alter table {staged} create branch ip_6_0123456789ab")
    shop.sql(f"alter table {staged} create branch mine")
    shop.sql(f"alter table {staged} create branch ip_7_0123456789ab")
    report = maintain(shop)
    assert actions(report["staged"]) == [] and "staged__ip_audit" not in report
    assert report["staged"]["left_alone"] == ["left alone: ip_7_0123456789ab may belong to a run that is in progress"]

    monkeypatch.setattr(branches, "LONGEST_RUN", timedelta(0))
    assert "staged__ip_audit" not in maintain(shop, dry_run=True)  # any writer may have created it
    shop.sql(f"alter table {beside} set tblproperties ('ip.audit-of' = '{shop.catalog}.{shop.schema}.staged')")
    report = maintain(shop, orphan_files=True)
    assert actions(report["staged__ip_audit"]) == ["drop_table"]
    assert [each["planned"].get("branch") for each in report["staged"]["actions"]] == [
        "ip_6_0123456789ab", "ip_7_0123456789ab", None, None, None,
    ]  # fmt: skip
    assert actions(report["staged"])[2:] == ["expire_snapshots", "rewrite_data_files", "remove_orphan_files"]
    assert report["staged"]["actions"][-1]["returned"] == {"orphan_files": 0}
    assert shop.branches(staged) == {"main", "mine"}
    assert shop.sql(f"show tables in {shop.catalog}.{shop.schema} like '*ip_audit'") == []


def test_the_failure_of_one_table_does_not_stop_the_others(shop):
    events = shop.source("events")
    for name in ("first", "second"):
        shop.model(name, CHANGES, tblproperties=AT_ONCE)
    fill(shop, events)
    lost = shop.sql(f"select file_path from {shop.built('first')}.files limit 1")[0][0]
    Path(lost.removeprefix("file:")).unlink()
    found = shop.operation("ip_maintain", format="json")
    assert not found.success
    assert "ip_maintain failed for 1 table:" in found.printed
    assert "first (1 of 2): rewrite_data_files" in found.printed
    report = report_in(found.printed)
    assert report["first"]["error"].startswith("rewrite_data_files: ")
    assert report["second"]["error"] is None and files(shop, shop.built("second")) == 1


def test_files_of_a_table_in_the_same_folder_are_no_orphans(shop):
    """A renamed table keeps its folder, and a new table with the old name uses the same folder."""
    events = shop.source("events")
    shop.model("first", CHANGES)
    shop.insert(events, "(1, 'a')")
    shop.run()
    first, renamed = shop.built("first"), shop.built("renamed")
    shop.sql(f"alter table {first} rename to `{shop.schema}`.renamed")
    shop.model("renamed", CHANGES)
    assert shop.operation("ip_set_checkpoint", model="renamed").success
    shop.insert(events, "(2, 'b')")
    shop.run()
    (folder,) = {path.rpartition("/data/")[0] for (path,) in shop.sql(f"select file_path from {first}.files")}
    for file in Path(folder.removeprefix("file:")).rglob("*"):
        os.utime(file, (0, 0))
    report = maintain(shop, orphan_files=True)
    for name, other in (("first", renamed), ("renamed", first)):
        assert actions(report[name]) == []
        assert report[name]["left_alone"] == [
            f"orphan files stay: {other.replace('`', '')} has files in the same folder, which would be "
            "removed as orphans"
        ]
        assert shop.rows(shop.built(name)) == shop.rows(events)


@pytest.mark.parametrize(("version", "mode"), [(2, "merge-on-read"), (3, "merge-on-read")])
def test_the_procedures_choose_what_was_planned(shop, version, mode):
    """Small files by partition, files with many deleted rows, position deletes of format v2, and manifests."""
    properties = f"'format-version'='{version}', {MODES.format(mode=mode)}"
    events = shop.source("events", "id int, v string", f"partitioned by (v) tblproperties ({properties})")
    shop.model("staged", CHANGES, on_source_rewrite="upserts", incremental_strategy="merge", unique_key="id")
    for number in range(6):  # small files in one partition, with deletes for each
        shop.insert(events, *(f"({10 * number + row}, 'small')" for row in range(4)))
    shop.sql(f"delete from {events} where id % 10 = 0")
    for number in range(22):  # too few files in each other partition, but many manifests
        shop.insert(events, f"({100 + number}, 'p{number}')")
    # one file of the right size in each of two partitions; one of them has many deleted rows
    for name, first in (("gone", 10_000), ("good", 20_000)):
        shop.sql(f"insert into {events} select int(id), '{name}' from range({first}, {first + 9000}, 1, 1)")
    sizes = [size for (size,) in shop.sql(f"select file_size_in_bytes from {events}.files where record_count = 9000")]
    assert len(sizes) == 2
    shop.sql(f"alter table {events} set tblproperties ('write.target-file-size-bytes'='{3 * max(sizes)}')")
    shop.sql(f"delete from {events} where id between 10000 and 14999")
    shop.sql(f"delete from {events} where id between 20000 and 20005")
    shop.run()
    before = shop.rows(events)
    planned, did = (maintain(shop, sources=True, dry_run=dry)["events"] for dry in (True, False))
    assert actions(planned) == actions(did)
    by_action = {each["action"]: (each["planned"], each["returned"]) for each in did["actions"]}
    data, returned = by_action["rewrite_data_files"]
    assert (data["files"], data["small"], data["deleted"], data["partitions"]) == (7, 6, 1, 2)
    assert returned["rewritten_data_files_count"] == data["files"]
    assert returned["added_data_files_count"] == data["files_after"]
    assert "rewrite_position_delete_files" not in by_action  # the deletes of a data file are removed with it
    manifests, returned = by_action["rewrite_manifests"]
    assert returned["added_manifests_count"] <= manifests["manifests_after"]
    assert actions(maintain(shop, sources=True)["events"]) == []
    assert shop.rows(events) == before
    shop.insert(events, "(7, 'few')")
    shop.run()
    assert shop.rows(shop.built("staged")) == shop.rows(events)


GROUPED = "select v, count(*) as n, sum(id) as s from {{ ip_changed_groups(ref('mirror'), 'v') }} group by v"
MIRROR = "select id, v, at, _change_type from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}"


@pytest.mark.parametrize(
    ("version", "mode"),
    [
        (3, "merge-on-read"),
        pytest.param(2, "merge-on-read", marks=pytest.mark.thorough),
        pytest.param(2, "copy-on-write", marks=pytest.mark.thorough),
    ],
)
def test_every_pattern_continues_exactly_beside_a_maintenance_of_everything(shop, version, mode):
    """A random history with maintenance after each round, of the source too, and with the shortest retention."""
    properties = f"'format-version'='{version}', {MODES.format(mode=mode)}"
    properties += ", 'history.expire.max-snapshot-age-ms'='1'"
    events = shop.source("events", "id int, v string, at int", f"tblproperties ({properties})")
    log = shop.source("log", "id int, v string, at int", "tblproperties ('history.expire.max-snapshot-age-ms'='1')")
    own = {"tblproperties": {**AT_ONCE, "format-version": str(version)}}
    shop.model("copied", "select * from {{ ip_changes(source('raw', 'log')) }}", **own)
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id", **own)
    shop.model("grouped", GROUPED, incremental_strategy="merge", unique_key="v", **own)
    shop.model(
        "upserted",
        "select * from {{ ip_changes(ref('mirror')) }}",
        incremental_strategy="merge", unique_key="id", on_source_rewrite="upserts", **own,
    )  # fmt: skip
    shop.model(
        "newest",
        "select * from {{ ip_changes(source('raw', 'log')) }}",
        incremental_strategy="merge", unique_key="id", sequence_by="at", **own,
    )  # fmt: skip
    chance = random.Random(f"{version} {mode}")
    shop.insert(events, *(f"({n}, '{chance.choice('abc')}', 0)" for n in range(20)))
    shop.insert(log, "(0, 'a', 0)")
    shop.run()
    at, ever = 0, set(range(20))
    for turn in range(3):
        behind = ["--exclude", chance.choice(["grouped", "upserted", "mirror+"])] if turn < 2 else []
        for _ in range(chance.randint(5, 7)):
            at += 1
            shop.insert(log, f"({chance.randrange(5)}, '{chance.choice('abc')}', {at})")
        for _ in range(chance.randint(3, 5)):
            some = ", ".join(str(chance.randrange(30)) for _ in range(4))
            kind = chance.choice(["insert", "update", "delete"])
            if kind == "insert":
                first = max(ever) + 1
                ever |= {first, first + 1}
                shop.insert(events, f"({first}, 'd', {turn})", f"({first + 1}, 'a', {turn})")
            elif kind == "update":
                shop.sql(f"update {events} set v = '{chance.choice('abcd')}' where id in ({some})")
            else:
                shop.sql(f"delete from {events} where id in ({some})")
        shop.run(*behind)
        maintain(shop, sources=True)
        again = maintain(shop, sources=True)
        assert {name: actions(report) for name, report in again.items() if report["actions"]} == {}
    shop.run()
    assert shop.rows(shop.built("copied")) == shop.rows(log)
    assert shop.rows(shop.built("mirror")) == shop.rows(events)
    truth = shop.sql(f"select v, count(*), sum(id) from {events} group by v")
    assert shop.rows(shop.built("grouped")) == Counter(truth)
    there = shop.rows(shop.built("upserted"))
    assert {row[0]: row for row in there} | {row[0]: row for row in shop.rows(events)} == {row[0]: row for row in there}
    newest = shop.sql(f"select max_by(struct(*), at) as r from {log} group by id")
    assert shop.rows(shop.built("newest")) == Counter(tuple(row) for (row,) in newest)

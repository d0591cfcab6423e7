"""``ip_maintain``: compaction, expiry and what crashed runs left, beside models that continue to read."""

from __future__ import annotations

import json
import random
import time
from collections import Counter

import pytest

from dbt.adapters.spark_iceberg.incremental.operations import maintain as operation

from .shop import CATALOG

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
AT_ONCE = {"history.expire.max-snapshot-age-ms": "1"}
MODES = ("delete", "update", "merge")


def maintain(shop, **arguments):
    """The report of ``ip_maintain`` by table."""
    found = shop.operation("ip_maintain", format="json", **arguments)
    assert found.success, found.printed[-3000:]
    return report_in(found.printed)


def report_in(printed):
    report, _ = json.JSONDecoder().raw_decode(printed, printed.index('{\n  "dry_run"'))
    return {each["table"].rpartition(".")[2]: each for each in report["tables"]}


def actions(report):
    return [each["action"] for each in report["actions"]]


def snapshots(shop, table):
    return [row[0] for row in shop.sql(f"select snapshot_id from {table}.snapshots order by committed_at")]


def files(shop, table, content=0):
    return shop.sql(f"select count(*) from {table}.files where content = {content}")[0][0]


def fill(shop, events, runs=6):
    """Commit one row, and run, several times."""
    for number in range(runs):
        shop.insert(events, f"({number}, 'a')")
        shop.run()


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

    did = maintain(shop)["staged"]
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
    """Also where it is not selected, and a position that is unknown keeps everything."""
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
    assert report["left_alone"][0].startswith("no snapshot expires: where model.shop.last stands is not known.")
    escaped = kept.replace("\\", "\\\\").replace("'", "\\'")
    shop.sql(f"alter table {last} set tblproperties ('ip.checkpoint' = '{escaped}')")

    shop.run()
    assert shop.rows(last) == shop.rows(events)
    report = maintain(shop)["staged"]
    assert report["actions"][0]["planned"]["snapshots"] == 6
    assert read not in snapshots(shop, staged)

"""The ledger of real tables, and the replay of the rows that an earlier run read."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from .shop import CATALOG
from .test_changed_groups import CONFIG, GROUPED, play

COPY = "select * from {{ ip_changes(source('raw', 'plays')) }}"


@pytest.mark.core
def test_a_model_s_life(shop):
    table = shop.source("plays", "account int, day date, seconds int")
    shop.model("copied", COPY)
    shop.model("latest", COPY, incremental_strategy="merge", unique_key=["account", "day"])
    shop.model("per_day", GROUPED, **CONFIG)
    shop.insert(table, play(1, 1, 10), play(2, 1, 10))
    shop.run()
    shop.insert(table, play(1, 2, 5))
    shop.insert(table, play(3, 2, 5))
    shop.run()
    shop.sql(f"call lakehouse.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
    shop.run()  # moves the checkpoint only
    shop.insert(table, play(1, 3, 5), play(1, 4, 5), play(1, 1, 7))
    shop.model("latest", COPY, incremental_strategy="merge", unique_key=["account", "day"], max_snapshots_per_run=1)
    shop.run()
    shop.insert(shop.built("copied"), play(9, 9, 9))  # another writer

    for name in ("copied", "latest", "per_day"):
        found = shop.operation("ip_ledger", model=name)
        assert found.success, found.printed[-2000:]
        assert "4 checkpoints" in found.printed
        assert "2 commits, which added 2 rows" in found.printed
    assert "moved the checkpoint only" in found.printed
    assert "read in total: " in found.printed
    shown = shop.operation("ip_ledger", model="latest", format="json").printed
    lines, _ = json.JSONDecoder().raw_decode(shown[shown.index("{\n") :])
    assert [line["kind"] for line in lines["lines"]] == ["whole", "range", "range", "range"]
    assert [total["rows_added"] for total in lines["totals"]] == [2, 2, 3]
    assert (lines["version"], lines["foreign"]) == (1, [])
    assert "commits of other writers" in shop.operation("ip_ledger", model="copied").printed

    shop.model("later", COPY)
    found = shop.operation("ip_ledger")
    assert found.success and found.printed.count("4 checkpoints") == 3
    assert f"{CATALOG}.{shop.schema}.later: no checkpoint yet" in found.printed
    shown = shop.operation("ip_ledger", format="json", select="copied latest").printed
    every, _ = json.JSONDecoder().raw_decode(shown[shown.index('{\n  "version"') :])
    assert [each["target"].rpartition(".")[2] for each in every["models"]] == ["copied", "latest"]
    several = shop.operation("ip_ledger", epoch=2)
    assert "ip_ledger was called with epoch 2 for 4 models" in str(several.printed) + str(several.exception)

    # the rows that the second run read
    shown = shop.operation("ip_ledger", model="copied", epoch=2).printed
    select = next(line for line in shown.splitlines() if line.startswith("select"))
    assert sum(shop.rows(f"({select})").values()) == 2
    wrong = shop.operation("ip_ledger", model="copied", epoch=9)
    assert not wrong.success
    assert "an epoch from 1 to 4" in str(wrong.printed) + str(wrong.exception)


def test_the_replay_of_rows_that_were_added_next_to_delete_files(shop):
    """Iceberg's changelog scan supports no delete files, so the run and the replay read these rows as net changes."""
    table = shop.source(
        "plays",
        "account int, day date, seconds int",
        "partitioned by (day) tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read')",
    )
    shop.model("copied", COPY)
    shop.insert(table, play(1, 1, 10), play(2, 1, 10))
    shop.sql(f"delete from {table} where account = 2")
    shop.run()
    shop.sql(f"insert overwrite {table} partition (day = date'2026-01-02') values (3, 7), (4, 7)")
    assert shop.run().ip("copied")["sources"][table.replace("`", "")]["kind"] == "append"
    shown = shop.operation("ip_ledger", model="copied", epoch=2).printed
    select = next(line for line in shown.splitlines() if line.startswith("select"))
    assert shop.rows(f"({select})", "account, seconds") == Counter([(3, 7), (4, 7)])


def test_a_gap_that_was_made_by_hand_is_named(shop):
    table = shop.source("plays", "account int, day date, seconds int")
    shop.model("copied", COPY)
    shop.insert(table, play(1, 1, 10))
    shop.run()
    for day in (2, 3):
        shop.insert(table, play(1, day, 10))
    # someone moves the position in the table's property forward, which no command of this package does
    checkpoint = shop.checkpoint(shop.built("copied"))
    position = next(iter(checkpoint["sources"].values()))
    position["snapshot_id"] = shop.sql(f"select parent_id from {table}.snapshots order by committed_at desc limit 1")[
        0
    ][0]
    forged = json.dumps({**checkpoint, "epoch": 2, "target_snapshot_id": shop.head(shop.built("copied"))})
    shop.sql(f"alter table {shop.built('copied')} set tblproperties ('ip.checkpoint' = '{forged}')")
    shop.run()
    found = shop.operation("ip_ledger", model="copied")
    assert "by hand" in found.printed
    assert found.success

"""Sources whose snapshots expired before a model read them. The package recovers exactly what the metadata show."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .shop import CATALOG
from .test_net_changes import moved_file

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
MIRROR = "select id, v, _change_type from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}"
MODES = ", ".join(f"'write.{statement}.mode'='{{mode}}'" for statement in ("delete", "update", "merge"))

COMPACT = f"call {CATALOG}.system.rewrite_data_files(table => '{{t}}', options => map('rewrite-all', 'true'))"


def source(shop, version, mode="copy-on-write", partitions=""):
    return shop.source(
        "events",
        "id int, v string",
        f"{partitions} tblproperties ('format-version'='{version}', {MODES.format(mode=mode)})",
    )


def expire(shop, table, *statements):
    """Commit statements, and expire all snapshots except the last."""
    for statement in statements:
        shop.sql(statement.format(t=table))
    shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{table}', older_than => now(), retain_last => 1)")
    assert shop.sql(f"select count(*) from {table}.snapshots") == [(1,)]


def recovers(shop, *models):
    """Run the models. The status announces the recovery, each model reads net changes, and none is rebuilt."""
    status = shop.operation("ip_status")
    assert "pending (net)" in status.printed and "fails" not in status.printed, status.printed
    found = shop.run()
    for model in models:
        assert found.action(model) == "apply"
        assert found.ip(model)["sources"][f"{CATALOG}.{shop.source_schema}.events"]["kind"] == "net"
    assert {shop.run().message(model) for model in models} == {"NOTHING NEW"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("version", "partitions", "statements"),
    [
        (2, "", []),
        (2, "partitioned by (v)", [f"call {CATALOG}.system.rewrite_manifests('{{t}}')"]),
        (3, "partitioned by (v)", [COMPACT]),
        (3, "", [COMPACT, "insert into {t} (id, v) values (7, 'last')"]),
    ],
)
def test_rows_that_were_only_added(shop, version, partitions, statements):
    """Appends, an overwrite that only adds, commits without rows, other columns; compaction if there is row lineage."""
    events = source(shop, version, partitions=partitions)
    shop.model("staged", CHANGES, on_history_break="full_refresh", on_schema_change="append_new_columns")
    shop.model(
        "mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id", on_schema_change="append_new_columns"
    )
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    shop.run()
    expire(
        shop,
        events,
        "insert into {t} values (3, 'a'), (null, null)",
        "alter table {t} add column n int",
        "insert into {t} select 9, 'none', 9 where false",
        "insert into {t} values (4, 'd', 4)",
        *statements,
    )
    recovers(shop, "staged", "mirror")
    assert shop.rows(shop.built("staged")) == shop.rows(events)


def test_rows_with_the_sequence_numbers_of_another_table_are_not_read_again(shop, tmp_path):
    """A compaction after the position copies rows whose numbers, from another table, are later than the position."""
    events = source(shop, 3)
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, 'a')")
    shop.sql(moved_file(shop, tmp_path / "files").format(c=CATALOG, t=events))
    shop.run()
    expire(shop, events, "insert into {t} values (2, 'b')", COMPACT)
    assert "the rows have no lineage" in shop.fails()


@pytest.mark.core("copy-on-write")
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_that_changed_are_merged(shop, mode):
    events = source(shop, 3, mode)
    config = {"incremental_strategy": "merge", "unique_key": "id", "on_source_rewrite": "upserts"}
    shop.model("merged", CHANGES, **config)
    shop.insert(events, *(f"({n}, 'a')" for n in range(1, 9)))
    shop.run()
    expire(
        shop,
        events,
        "update {t} set v = 'b' where id = 2",
        "insert into {t} values (9, 'new')",
        "delete from {t} where id = 3",
        "update {t} set v = v where id = 4",
        COMPACT,
        "merge into {t} t using (values (5, 'm'), (10, 'm') as s(id, v)) s on t.id = s.id "
        "when matched then update set * when not matched then insert *",
    )
    recovers(shop, "merged")
    # this policy keeps a deleted row
    assert shop.rows(shop.built("merged")) == shop.rows(events) + Counter([(3, "a")])


def test_the_snapshot_that_was_read_alone_has_expired(shop):
    """All later commits still exist, but the snapshot to compare with has expired."""
    events = source(shop, 3)
    shop.model("merged", CHANGES, incremental_strategy="merge", unique_key="id", on_source_rewrite="upserts")
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    shop.run()
    expire(shop, events, "update {t} set v = 'B' where id = 2")
    recovers(shop, "merged")
    assert shop.rows(shop.built("merged")) == shop.rows(events)


def test_commits_without_rows_that_expired_only_move_the_checkpoint(shop):
    events = source(shop, 2)
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, 'a')")
    shop.insert(events, "(2, 'b')")
    shop.run()
    expire(shop, events, COMPACT, "update {t} set v = 'c' where id = 9", "insert into {t} select 1, 'x' where false")
    assert shop.run().action("staged") == "advance"
    assert shop.run().message("staged") == "NOTHING NEW"


@pytest.mark.parametrize(
    ("version", "statement", "config", "reason"),
    [
        (2, COMPACT, {}, "the rows have no lineage"),
        (2, "update {t} set v = 'b'", {"on_source_rewrite": "upserts"}, "changed or deleted rows"),
        (
            2,
            "update {t} set v = 'b'",
            {"on_source_rewrite": "upserts", "incremental_strategy": "merge", "unique_key": "id"},
            "the rows have no lineage",
        ),
        (3, "delete from {t} where id = 1", {}, "changed or deleted rows"),
        (3, "update {t} set v = 'b'", {"on_source_rewrite": "ignore"}, "changed or deleted rows"),
        (3, "update {t} set v = 'b'", {"on_source_rewrite": "upserts"}, "changed or deleted rows"),
    ],
)
def test_changes_that_cannot_be_recovered_are_an_error_with_a_reason(shop, version, statement, config, reason):
    events = source(shop, version)
    shop.model("staged", CHANGES, **config)
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    shop.run()
    expire(shop, events, "insert into {t} values (3, 'c')", statement, "insert into {t} values (4, 'd')")
    before = shop.rows(shop.built("staged"))
    message = shop.fails()
    assert "(expired)" in message and reason in message
    assert reason in shop.operation("ip_status").printed
    assert shop.rows(shop.built("staged")) == before
    shop.model("staged", CHANGES, on_history_break={"expired": "full_refresh"}, **config)
    assert shop.run().action("staged") == "rebuild"
    assert shop.rows(shop.built("staged")) == shop.rows(events)


def test_deletions_of_a_mirror_cannot_be_recovered(shop):
    events = source(shop, 3)
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id", on_source_rewrite="upserts")
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    shop.run()
    expire(shop, events, "delete from {t} where id = 1")
    assert "changed or deleted rows" in shop.fails()


def test_without_the_older_metadata_files_nothing_is_recovered(shop, warehouse):
    events = source(shop, 2)
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, 'a')")
    shop.run()
    expire(shop, events, "insert into {t} values (2, 'b')", "insert into {t} values (3, 'c')")
    files = [row[0] for row in shop.sql(f"select file from {events}.metadata_log_entries order by timestamp")]
    for file in files[:-1]:
        Path(file.removeprefix("file:")).unlink()
    assert "no older metadata file" in shop.fails()


@pytest.mark.parametrize("twice", [False, True])
def test_files_that_were_added_as_they_are(shop, tmp_path, twice):
    """A file's name identifies its rows, unless the table contains the file twice."""
    events = source(shop, 2)
    shop.model("staged", CHANGES)
    shop.frame("select 1 as id, 'a' as v").write.parquet(str(tmp_path / "files"))
    add = (
        f"call {CATALOG}.system.add_files(table => '{{t}}', source_table => '`parquet`.`{tmp_path / 'files'}`',"
        " check_duplicate_files => false)"
    )
    shop.sql(add.format(t=events) if twice else f"insert into {events} values (1, 'a')")
    shop.run()
    expire(shop, events, add, "insert into {t} values (2, 'b')")
    if not twice:
        recovers(shop, "staged")
        assert shop.rows(shop.built("staged")) == shop.rows(events)
        return
    message = shop.fails()
    assert "(expired)" in message and "a file that was added since then is in the table twice" in message

"""Sources with other changes than appends. Each case is detected and follows its policy; an error commits nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from .shop import CATALOG

pytestmark = pytest.mark.core

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"


@pytest.fixture
def events(shop):
    """A source of three commits, which the model `staged` has read."""
    table = shop.source("events", "id int, v string", "tblproperties ('write.update.mode'='copy-on-write')")
    shop.model("staged", CHANGES)
    for n in (1, 2, 3):
        shop.insert(table, f"({n}, 'a')")
    shop.run()
    return table


def untouched(shop, command=()):
    """Run, expect a failure, and check that rows and checkpoint are unchanged; returns the message."""
    before = (shop.head(shop.built("staged")), shop.properties(shop.built("staged")))
    message = shop.fails(*command)
    assert (shop.head(shop.built("staged")), shop.properties(shop.built("staged"))) == before
    return message


def snapshot_ids(shop, table):
    return [row[0] for row in shop.sql(f"select snapshot_id from {table}.snapshots order by committed_at")]


def is_rebuilt(shop):
    assert shop.run().action("staged") == "rebuild"
    assert shop.rows(shop.built("staged")) == shop.rows(shop.raw("events"))
    assert shop.run().message("staged") == "NOTHING NEW"


REWRITES = {
    "delete": "delete from {} where id = 1",
    "update": "update {} set v = 'b' where id = 1",
    "merge": "merge into {} t using (select 1 as id) s on t.id = s.id when matched then update set v = 'c'",
    "truncate": "truncate table {}",
    "insert overwrite": "insert overwrite {} values (9, 'z')",
}


@pytest.mark.parametrize("rewrite", list(REWRITES))
def test_a_rewrite_fails_or_follows_its_policy(shop, events, rewrite):
    shop.sql(REWRITES[rewrite].format(events))
    shop.insert(events, "(4, 'd')")
    message = untouched(shop)
    assert f"{CATALOG}.{shop.source_schema}.events was rewritten since model.shop.staged" in message
    assert str(snapshot_ids(shop, events)[-2]) in message
    assert "dbt run --full-refresh --select staged" in message
    shop.model("staged", CHANGES, on_source_rewrite="ignore")
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,), (3,), (4,)])


def test_a_rewrite_can_rebuild(shop, events):
    shop.sql(REWRITES["update"].format(events))
    shop.model("staged", CHANGES, on_source_rewrite="full_refresh")
    is_rebuilt(shop)


def test_a_replaced_source_rebuilds_by_default(shop, events):
    shop.sql(f"create or replace table {events} (id int, v string) using iceberg")
    shop.insert(events, "(7, 'x')")
    is_rebuilt(shop)


@pytest.mark.parametrize("reader", ["auto", "spark"])
def test_a_source_that_was_dropped_and_created_again_rebuilds_by_default(shop, events, reader):
    """Spark's metadata tables have no UUID, but show when the table was created."""
    shop.read_metadata_by(reader)
    shop.sql(f"drop table {events}")
    shop.sql(f"create table {events} (id int, v string) using iceberg")
    shop.insert(events, "(8, 'y')")
    is_rebuilt(shop)


def test_no_policy_rebuilds_a_model_that_must_not_be(shop, events):
    shop.model("staged", CHANGES, full_refresh=False)
    shop.sql(f"create or replace table {events} (id int, v string) using iceberg")
    shop.insert(events, "(7, 'x')")
    message = untouched(shop)
    assert "full_refresh: false" in message and "the table was replaced" in message


def test_a_rolled_back_source_names_the_common_ancestor(shop, events):
    ids = snapshot_ids(shop, events)
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{events}', {ids[1]})")
    shop.insert(events, "(4, 'd')")
    message = untouched(shop)
    assert "(rolled_back)" in message
    assert f"the common ancestor is snapshot {ids[1]}" in message
    assert f"snapshot {ids[2]}" in message
    command = message.split("from the common ancestor: `", 1)[1].split("`", 1)[0]
    assert command == (
        "dbt run-operation ip_set_checkpoint --args "
        f"'{{model: staged, source: {CATALOG}.{shop.source_schema}.events, snapshot_id: {ids[1]}}}'"
    )
    shop.model("staged", CHANGES, on_history_break={"rolled_back": "full_refresh"})
    is_rebuilt(shop)


def test_a_rollback_is_told_from_an_expiry_by_older_metadata(shop, events):
    """The snapshots that would show it have expired: the undone ones, the common ancestor and the first one since."""
    ids = snapshot_ids(shop, events)
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{events}', {ids[1]})")
    shop.insert(events, "(4, 'd')")
    shop.insert(events, "(5, 'e')")
    shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{events}', older_than => now(), retain_last => 1)")
    shop.model("staged", CHANGES, on_history_break={"expired": "full_refresh"})
    assert "(rolled_back)" in untouched(shop)


def test_a_source_that_was_restored_from_an_older_metadata_file(shop, events):
    table = f"{shop.source_schema}.events"
    shop.insert(events, "(4, 'd')")
    older = shop.sql(f"select file from {events}.metadata_log_entries order by timestamp")[-2][0]
    shop.run()
    shop.sql(f"drop table {events}")
    shop.sql(f"call {CATALOG}.system.register_table(table => '{table}', metadata_file => '{older}')")
    message = untouched(shop)
    assert "(rolled_back)" in message and "the checkpoint is ahead of the table, as after a restore" in message
    shop.insert(events, "(5, 'e')")
    assert "(rolled_back)" in untouched(shop)
    shop.model("staged", CHANGES, on_history_break={"rolled_back": "full_refresh"})
    is_rebuilt(shop)


def test_expired_snapshots_are_a_gap(shop, events):
    """Compaction without row lineage causes this gap. For gaps that are recovered, see test_recovery.py."""
    for n in (4, 5, 6):
        shop.insert(events, f"({n}, 'a')")
        shop.sql(
            f"call {CATALOG}.system.rewrite_data_files(table => '{events}', options => map('rewrite-all', 'true'))"
        )
    shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{events}', older_than => now(), retain_last => 1)")
    message = untouched(shop)
    assert "(expired)" in message and "have expired" in message
    shop.model("staged", CHANGES, on_history_break={"expired": "full_refresh"})
    is_rebuilt(shop)


def test_the_position_itself_may_expire(shop, events):
    position = shop.head(events)
    shop.insert(events, "(4, 'd')")
    shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{events}', older_than => now(), retain_last => 1)")
    assert position not in snapshot_ids(shop, events)
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,), (3,), (4,)])


# The target


def test_a_target_that_is_rolled_back_takes_its_checkpoint_back(shop, events):
    shop.insert(events, "(4, 'd')")
    shop.run()
    staged = shop.built("staged")
    first = shop.snapshots(staged)[0][0]
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{staged}', {first})")
    shop.run()
    assert shop.rows(staged, "id") == Counter([(1,), (2,), (3,), (4,)])


def test_a_target_that_was_built_another_way(shop, events):
    staged = shop.built("staged")
    shop.sql(f"drop table {staged}")
    shop.sql(f"create table {staged} using iceberg as select * from {events}")
    message = untouched(shop)
    assert "it has no checkpoint" in message and "ip_set_checkpoint" in message
    source = f"{CATALOG}.{shop.source_schema}.events"
    adopted = shop.operation("ip_set_checkpoint", model="staged", source=source, snapshot_id=shop.head(events))
    assert adopted.success, adopted.printed
    shop.insert(events, "(4, 'd')")
    shop.run()
    assert shop.rows(staged, "id") == Counter([(1,), (2,), (3,), (4,)])


def test_a_clone_in_the_target_s_place_is_not_called_expired(shop, events):
    built = shop.built("staged")
    shop.sql(f"create or replace table {built} using iceberg as select * from {built}")
    assert "ip.checkpoint" in shop.properties(built)  # the property of the replaced table
    message = untouched(shop)
    assert "which is not in the table's history" in message and "cloned, replaced or rolled back since" in message
    assert "would prove" not in message


def test_accepting_the_sql_does_not_accept_an_unproven_position(shop, events):
    """Otherwise the property of a replaced table would count, and the rows between its positions would be lost."""
    built = shop.built("staged")
    shop.sql(f"create or replace table {built} using iceberg as select * from {built} limit 1")
    found = shop.operation("ip_set_checkpoint", model="staged", accept_sql=True)
    assert not found.success and "cloned, replaced or rolled back since" in found.printed
    assert "cloned, replaced or rolled back since" in untouched(shop)


def test_a_table_that_keeps_few_metadata_files_is_warned_of_and_the_error_names_the_cause(shop, events):
    built = shop.built("staged")
    shop.sql(f"alter table {built} set tblproperties ('write.metadata.previous-versions-max'='1')")
    shop.insert(events, "(4, 'a')")
    assert "keeps 1 older metadata file (write.metadata.previous-versions-max)" in shop.run().printed
    shop.insert(built, "(9, 'z')")
    shop.sql(
        f"call {CATALOG}.system.expire_snapshots(table => '{shop.schema}.staged', retain_last => 1, "
        "older_than => timestamp '2999-01-01')"
    )
    shop.insert(events, "(5, 'a')")
    message = shop.fails()
    assert "can no longer be proven" in message and "previous-versions-max is 1" in message
    assert "Another run" not in message
    again = shop.fails()
    assert "it has no checkpoint" in again and "write.metadata.previous-versions-max is 1." in again
    first, *_, position = snapshot_ids(shop, events)[:4]
    assert f"snapshot_id: {position}" in message and f"snapshot_id: {position}" in again and str(first) not in message
    shop.sql(f"alter table {built} set tblproperties ('write.metadata.previous-versions-max'='100')")
    assert shop.operation("ip_set_checkpoint", model="staged", source="events", snapshot_id=position).success
    found = shop.run()
    assert "older metadata file" not in found.printed
    assert shop.rows(built, "id") == Counter((id,) for id in (1, 2, 3, 4, 5, 9))


def test_a_missing_checkpoint_can_rebuild(shop, events):
    staged = shop.built("staged")
    shop.sql(f"create or replace table {staged} using iceberg as select 9 as id, 'z' as v")
    shop.model("staged", CHANGES, on_missing_checkpoint="full_refresh")
    is_rebuilt(shop)


def test_a_target_that_was_compacted_and_expired_keeps_its_checkpoint(shop, events):
    shop.insert(events, "(4, 'd')")
    shop.run()
    staged = shop.built("staged")
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{staged}', options => map('rewrite-all', 'true'))")
    shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{staged}', older_than => now(), retain_last => 1)")
    assert len(snapshot_ids(shop, staged)) == 1
    assert shop.run().message("staged") == "NOTHING NEW"
    shop.insert(events, "(5, 'e')")
    shop.run()
    assert shop.rows(staged, "id") == Counter([(1,), (2,), (3,), (4,), (5,)])


def test_a_checkpoint_that_someone_changed_is_refused(shop, events):
    shop.sql(f"alter table {shop.built('staged')} set tblproperties ('ip.checkpoint' = '[\"x\"]')")
    assert "cannot be read" in untouched(shop)
    assert shop.run("--full-refresh").action("staged") == "rebuild"


def test_a_view_in_the_target_s_place_is_replaced(shop, events):
    shop.sql(f"drop table {shop.built('staged')}")
    shop.sql(f"create view {shop.built('staged')} as select 1 as id")
    is_rebuilt(shop)


def test_a_renamed_model_takes_its_table_over_only_when_told(shop, events):
    (shop.folder / "models" / "staged.sql").unlink()
    shop.model("renamed", CHANGES, alias="staged")
    message = untouched(shop)
    assert "model.shop.staged" in message and "model.shop.renamed" in message
    assert shop.operation("ip_set_checkpoint", model="renamed").success
    shop.insert(events, "(4, 'd')")
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,), (3,), (4,)])

"""Runs of jobs with the command, on real tables: captures, writes, commits and refusals."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from iceberg_incremental import Job
from iceberg_incremental.table.checkpoint import KEY

from .lake import Lake


@pytest.mark.core
def test_a_job_appends_what_is_new_over_several_runs(lake):
    lake.insert((1, "a"), (2, "b"))
    first = lake.capture()
    assert (first.code, first.document["action"], first.document["reason"]) == (0, "rebuild", "first build")
    assert lake.rows() == Counter()
    lake.write(first)
    assert lake.rows() == Counter()  # staged
    committed = lake.commit(first)
    assert (committed.code, committed.document["epoch"]) == (0, 1)
    assert lake.rows() == Counter([(1, "a"), (2, "b")])
    for number in (3, 4, 5):
        lake.insert((number, "x"))
        second = lake.capture()
        (source,) = second.document["sources"]
        assert (source["kind"], source["records"], len(source["files"])) == ("append", 1, 1)
        assert Counter(lake.sql(source["sql"])) == Counter([(number, "x")])
        lake.write(second)
        assert lake.commit(second).code == 0
        assert lake.rows("id") == Counter((each,) for each in range(1, number + 1))
    assert lake.branches() == {"main"}
    assert lake.head(lake.target) == json.loads(dict(lake.sql("show tblproperties {t}"))[KEY])["target_snapshot_id"]


def test_rows_and_checkpoint_are_one_catalog_commit(lake):
    lake.insert((1, "a"))
    captured = lake.capture()
    lake.write(captured)
    before = lake.iceberg()
    lake.commit(captured)
    after = lake.iceberg()
    assert after.metadata.metadata_log[-1].metadata_file == before.metadata_location
    head = after.current_snapshot()
    assert json.loads(head.summary[KEY])["epoch"] == 1
    assert head.parent_snapshot_id == before.snapshot_by_name(captured.document["branch"]).snapshot_id


def test_nothing_new(lake):
    lake.insert((1, "a"))
    lake.run()
    captured = lake.capture()
    assert (captured.code, captured.document["action"], captured.document["branch"]) == (3, "nothing", None)
    metadata = lake.iceberg().metadata_location
    committed = lake.commit(captured)
    assert (committed.code, committed.document["action"]) == (3, "nothing")
    assert lake.iceberg().metadata_location == metadata
    assert (lake.status().code, lake.status().document["action"]) == (3, "nothing")


def test_a_compaction_of_the_source_moves_the_position_only(lake):
    lake.insert((1, "a"))
    lake.insert((2, "b"))
    lake.run()
    head = lake.head(lake.target)
    lake.compact(lake.source)
    captured = lake.capture()
    assert (captured.code, captured.document["action"], captured.document["branch"]) == (0, "advance", None)
    committed = lake.commit(captured)
    assert (committed.code, committed.document["snapshot_id"]) == (0, None)
    assert lake.head(lake.target) == head
    assert lake.commit(captured).document["already_committed"]
    assert lake.capture().code == 3


def test_an_empty_source_and_its_first_rows(lake):
    first = lake.capture()
    assert first.document["action"] == "rebuild"
    assert lake.commit(first).code == 1
    assert lake.commit(first, "--no-rows").code == 0
    assert lake.capture().code == 3
    lake.insert((1, "a"))
    assert lake.run().code == 0
    assert lake.rows() == Counter([(1, "a")])


def test_a_run_that_writes_nothing_needs_an_option(lake):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    captured = lake.capture()
    refused = lake.commit(captured)
    assert refused.code == 1 and "has no new commit" in refused.said
    assert lake.commit(captured, "--no-rows").code == 0
    assert lake.commit(captured, "--no-rows").document["already_committed"]
    assert lake.capture().code == 3
    assert lake.branches() == {"main"}
    lake.insert((3, "c"))
    written = lake.capture()
    lake.write(written)
    refused = lake.commit(written, "--no-rows")
    assert refused.code == 1 and "has new commits" in refused.said
    assert lake.commit(written).code == 0
    assert lake.rows("id") == Counter([(1,), (3,)])


def test_two_sources_are_read_as_of_one_moment(lake):
    other = f"{lake.schema}.more"
    lake.sql(f"create table {other} (id bigint, v string) using iceberg")
    lake.insert((1, "a"))
    lake.sql(f"insert into {other} values (10, 'z')")
    for expected in ([1, 10], [1, 2, 10, 11]):
        captured = lake.capture(sources=[lake.source, other])
        assert {source["table"] for source in captured.document["sources"]} == {lake.source, other}
        lake.write(captured)
        assert lake.commit(captured).code == 0
        assert lake.rows("id") == Counter((number,) for number in expected)
        lake.insert((2, "b"))
        lake.sql(f"insert into {other} values (11, 'y')")
    assert lake.capture(sources=[lake.source, lake.target]).code == 1


def test_a_run_commits_once(lake):
    lake.insert((1, "a"))
    captured = lake.capture()
    lake.write(captured)
    assert not lake.commit(captured).document["already_committed"]
    again = lake.commit(captured)
    assert (again.code, again.document["already_committed"]) == (0, True)
    lake.insert((2, "b"))
    lake.run()
    assert lake.commit(captured).document["already_committed"]
    assert not lake.abort(captured).document["branch_dropped"]
    assert lake.rows("id") == Counter([(1,), (2,)])


@pytest.mark.core
def test_abort_drops_the_branch(lake):
    lake.insert((1, "a"))
    captured = lake.capture()
    lake.write(captured)
    assert lake.branches() == {captured.document["branch"]}
    assert lake.abort(captured).document["branch_dropped"]
    assert not lake.abort(captured).document["branch_dropped"]
    assert lake.branches() == set()
    refused = lake.commit(captured)
    assert refused.code == 4 and "branch" in refused.said
    assert lake.run().code == 0
    assert lake.rows() == Counter([(1, "a")])


@pytest.mark.core
@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_captures_one_wins(lake, is_first):
    lake.insert((1, "a"))
    if not is_first:
        lake.run()
        lake.insert((2, "b"))
    one, other = lake.capture(), lake.capture()
    lake.write(other)
    lake.write(one)
    assert lake.commit(one).code == 0
    refused = lake.commit(other)
    assert (refused.code, refused.printed) == (4, "")
    assert lake.rows("id") == Counter([(1,)] if is_first else [(1,), (2,)])
    assert lake.branches() == {"main"}
    assert lake.capture().code == 3


def test_a_commit_of_another_writer_refuses_the_run(lake):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    captured = lake.capture()
    lake.write(captured)
    lake.sql("insert into {t} values (100, 'mine')")
    refused = lake.commit(captured)
    assert refused.code == 4 and "Another writer has committed" in refused.said
    assert lake.rows("id") == Counter([(1,), (100,)])
    assert lake.run().code == 0
    assert lake.rows("id") == Counter([(1,), (2,), (100,)])
    assert lake.branches() == {"main"}


def test_a_compacted_target_keeps_its_checkpoint(lake):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    lake.run()
    lake.compact(lake.target)
    assert lake.capture().code == 3
    lake.sql(
        f"call lakehouse.system.expire_snapshots(table => '{lake.target}', older_than => timestamp '2100-01-01', "
        "retain_last => 1)"
    )
    lake.insert((3, "c"))
    assert lake.run().code == 0
    assert lake.rows("id") == Counter([(1,), (2,), (3,)])


def test_a_rollback_of_the_target_takes_the_checkpoint_with_it(lake):
    """Even if another engine wrote the previous run, its checkpoint is not used for later rows."""
    lake.insert((1, "a"))
    lake.sql("drop table {t}")
    with job(lake).run() as run:
        run.append(run.changes(lake.source))
    for number in (2, 3):
        lake.insert((number, "x"))
        assert lake.run().code == 0
        if number == 2:
            second = lake.head(lake.target)
    lake.sql(f"call lakehouse.system.rollback_to_snapshot('{lake.target}', {second})")
    assert lake.rows("id") == Counter([(1,), (2,)])
    assert lake.status().document["epoch"] == 2
    assert lake.run().code == 0
    assert lake.rows("id") == Counter([(1,), (2,), (3,)])


def test_a_recreated_branch_is_refused(lake):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    captured = lake.capture()
    branch = captured.document["branch"]
    older = lake.sql("select parent_id from {t}.snapshots where parent_id is not null order by committed_at")[0][0]
    lake.sql(f"alter table {{t}} create or replace branch `{branch}` as of version {older}")
    lake.write(captured)
    refused = lake.commit(captured)
    assert refused.code == 1 and "is not the branch that the capture" in refused.said
    assert lake.rows("id") == Counter([(1,)])


def test_a_rewrite_stops_a_job_unless_it_is_told_what_to_do(lake):
    lake.insert((1, "a"), (2, "b"))
    lake.run()
    lake.sql("update {s} set v = 'B' where id = 2")
    refused = lake.capture()
    assert refused.code == 1 and "changed or deleted rows" in refused.said
    assert lake.branches() == {"main"}
    assert (lake.status().code, lake.status().document["action"]) == (1, "fails")
    upserts = lake.capture("--on-source-rewrite=upserts")
    (source,) = upserts.document["sources"]
    assert source["kind"] == "net" and source["files"] is None and "changes or deletes" in source["files_omitted"]
    assert Counter(lake.sql(source["sql"])) == Counter([(2, "B")])
    lake.abort(upserts)
    lake.insert((3, "c"))
    assert lake.run("--on-source-rewrite=ignore").code == 0
    assert lake.rows() == Counter([(1, "a"), (2, "b"), (3, "c")])


def test_a_rebuild_replaces_all_rows(lake):
    lake.insert((1, "a"))
    lake.run()
    lake.sql("insert into {t} values (100, 'mine')")
    rebuilt = lake.capture("--full-refresh")
    assert rebuilt.document["action"] == "rebuild"
    lake.write(rebuilt)
    assert lake.rows("id") == Counter([(1,), (100,)])
    assert lake.commit(rebuilt).document["epoch"] == 2
    assert lake.rows("id") == Counter([(1,)])
    lake.insert((2, "b"))
    assert lake.run().code == 0
    assert lake.rows("id") == Counter([(1,), (2,)])


def test_a_policy_rebuilds(lake):
    lake.insert((1, "a"), (2, "b"))
    lake.run()
    lake.sql("delete from {s} where id = 1")
    assert lake.run("--on-source-rewrite=full_refresh").code == 0
    assert lake.rows("id") == Counter([(2,)])
    lake.sql("create or replace table {s} using iceberg as select cast(7 as bigint) as id, 'g' as v")
    assert lake.capture("--on-history-break=rebuilt=fail").code == 1
    assert lake.run().code == 0
    assert lake.rows("id") == Counter([(7,)])


def test_a_foreign_table_is_not_changed(lake):
    lake.insert((1, "a"))
    lake.sql("insert into {t} values (9, 'z')")
    refused = lake.capture()
    assert refused.code == 1 and "checkpoint" in refused.said
    assert lake.run("--on-missing-checkpoint=full_refresh").code == 0
    assert lake.rows("id") == Counter([(1,)])
    assert lake.capture("--name=job.another").code == 1
    lake.sql("drop table {t}")
    refused = lake.capture()
    assert refused.code == 1 and "does not exist" in refused.said


def test_a_source_that_was_rolled_back_since_the_capture(lake):
    lake.insert((1, "a"))
    lake.run()
    before = lake.head(lake.source)
    lake.insert((2, "b"))
    captured = lake.capture()
    lake.write(captured)
    lake.sql(f"call lakehouse.system.rollback_to_snapshot('{lake.source}', {before})")
    refused = lake.commit(captured)
    assert refused.code == 1 and lake.rows("id") == Counter([(1,)])
    lake.abort(captured)
    assert lake.capture().code == 3


def test_a_view_is_neither_a_source_nor_a_target(lake):
    view = f"{lake.schema}.all_events"
    lake.sql(f"create view {view} as select * from {{s}}")
    refused = lake.capture(sources=[view])
    assert refused.code == 1 and "is a view" in refused.said and "ip_ macro" not in refused.said
    lake.target = view
    refused = lake.capture()
    assert refused.code == 1 and "is not an Iceberg table" in refused.said


def test_columns_that_change_between_capture_and_commit(lake):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    captured = lake.capture()
    lake.write(captured)
    lake.sql("alter table {t} add column w int")
    refused = lake.commit(captured)
    assert refused.code == 1 and "columns" in refused.said
    lake.abort(captured)
    captured = lake.capture("--on-schema-change=ignore")
    lake.write(captured)
    lake.sql("alter table {t} add column x int")
    assert lake.commit(captured).code == 0
    assert lake.rows("id") == Counter([(1,), (2,)])


def test_a_backlog_drains_over_several_runs(lake):
    lake.insert((1, "a"))
    lake.run()
    for number in (2, 3, 4):
        lake.insert((number, "x"))
    captured = lake.capture("--max-snapshots-per-run=2")
    assert captured.document["sources"][0]["waiting_snapshots"] == 1
    lake.write(captured)
    lake.commit(captured)
    assert lake.rows("id") == Counter([(1,), (2,), (3,)])
    assert lake.run("--max-snapshots-per-run=2").code == 0
    assert lake.rows("id") == Counter([(1,), (2,), (3,), (4,)])


def job(lake, **options):
    return Job(lake.session, lake.target, **options)


def test_a_job_of_pyspark_continues_the_command_and_the_command_the_job(lake):
    lake.insert((1, "a"))
    assert lake.run().code == 0
    for number in (2, 4):
        lake.insert((number, "x"))
        with job(lake).run() as run:
            run.append(run.changes(lake.source))
        assert not run.is_rebuild
        lake.insert((number + 1, "y"))
        assert lake.run().code == 0
    assert lake.rows("id") == Counter((number,) for number in range(1, 6))
    lake.compact(lake.source)
    assert lake.run().document["snapshot_id"] is None
    assert job(lake).status().plan.action.value == "nothing"


def test_a_captured_run_loses_to_a_job_of_pyspark(lake):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    captured = lake.capture()
    lake.write(captured)
    with job(lake).run() as run:
        run.append(run.changes(lake.source))
    refused = lake.commit(captured)
    assert refused.code == 4 and "Another run of" in refused.said
    assert lake.rows("id") == Counter([(1,), (2,)])
    assert lake.branches() == {"main"}


def test_a_model_of_dbt_continues_the_command_and_the_command_the_model(shop, warehouse, tmp_path):
    events = shop.source("events", "id bigint, v string")
    shop.model("staged", "select id, v from {{ ip_changes(source('raw', 'events')) }}")
    shop.insert(events, "(1, 'a')")
    shop.run()
    staged, name = shop.built("staged"), "--name=model.shop.staged"
    lake = Lake(shop.session, warehouse, tmp_path)
    lake.source, lake.target = events.replace("`", ""), staged.replace("`", "")
    shop.insert(events, "(2, 'b')")
    assert lake.run(name).document["epoch"] == 2
    shop.insert(events, "(3, 'c')")
    assert shop.run().action("staged") != "rebuild"
    shop.insert(events, "(4, 'd')")
    assert lake.run(name).document["epoch"] == 4
    assert shop.rows(staged, "id") == Counter([(1,), (2,), (3,), (4,)])


def test_a_dbt_model_reads_the_table_of_the_command_as_its_source(lake):
    """The snapshot that holds the checkpoint neither adds nor removes rows for a reader."""
    lake.insert((1, "a"))
    lake.run()
    downstream = Job(lake.session, f"{lake.schema}.downstream")
    for number in (2, 3, None):
        with downstream.run() as run:
            run.append(run.changes(lake.target))
        if number is not None:
            lake.insert((number, "x"))
            lake.run()
    found = lake.sql(f"select id from {lake.schema}.downstream")
    assert Counter(found) == Counter([(1,), (2,), (3,)])

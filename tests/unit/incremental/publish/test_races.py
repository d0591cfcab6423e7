"""Races between runs, each with the smallest history that shows it."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace

import pytest

from iceberg_incremental.capture.run import Run
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.errors import ConcurrentRunError, IncrementalError, StatementError
from iceberg_incremental.publish import publisher as publish
from iceberg_incremental.publish.fence import Fence
from iceberg_incremental.table.checkpoint import KEY
from iceberg_incremental.table.checkpoint_state import checkpoint_state
from tests.unit.incremental.connection import Connection
from tests.unit.incremental.runs import (
    SOURCE,
    TARGET,
    Reader,
    applying,
    captured,
    carrying,
    cp,
    hist,
    opened,
    snap,
    two_commits,
)


def test_the_property_after_a_rebuild_never_claims_another_runs_rows():
    """A has epoch 31 and source snapshot 20, B has epoch 6 and source snapshot 12. B commits just before A checks."""
    source = hist(SOURCE, *[snap(n, n - 1 or None) for n in range(1, 21)])
    before = hist(TARGET, carrying(100, None, cp(30, 19)))
    reader = Reader(s=source, t=before)
    run = Run(captured(opened(reader, full_refresh=True), reader))

    def execute(sql):
        now = reader.tables[TARGET]
        if sql.startswith("create or replace"):
            mine = carrying(101, None, run.next_checkpoint())
            other = carrying(102, None, cp(6, 12, "other"))
            reader.tables[TARGET] = hist(TARGET, carrying(100, None, cp(30, 19)), mine, other)
        elif "TBLPROPERTIES" in sql:
            text = re.search(r"'ip.checkpoint' = '(.*)'\)", sql)[1].encode().decode("unicode_escape")
            reader.tables[TARGET] = replace(now, properties={KEY: text})

    with contextlib.suppress(IncrementalError):
        publish.Publisher(Connection(execute), reader).rebuild(run, "create or replace table")
    # the table contains B's rows up to 12, so a checkpoint at 20 would lose 13 to 20
    assert checkpoint_state(reader.tables[TARGET]).checkpoint.sources[str(SOURCE)].snapshot_id == 12


def test_a_rebuild_whose_rows_did_not_reach_main_is_an_error():
    """With spark.wap.branch or spark.wap.id, CREATE OR REPLACE leaves main empty."""
    source = hist(SOURCE, snap(1, None))
    reader = Reader(s=source, t=hist(TARGET, carrying(100, None, cp(1, 1))))
    run = Run(captured(opened(reader, full_refresh=True), reader))

    def execute(sql):
        now = reader.tables[TARGET]
        if sql.startswith("create or replace"):
            reader.tables[TARGET] = hist(TARGET, head=None)
        elif "TBLPROPERTIES" in sql:
            text = re.search(r"'ip.checkpoint' = '(.*)'\)", sql)[1].encode().decode("unicode_escape")
            reader.tables[TARGET] = replace(now, properties={KEY: text})

    with pytest.raises(IncrementalError):
        publish.Publisher(Connection(execute), reader).rebuild(run, "create or replace table")
    assert checkpoint_state(reader.tables[TARGET]).checkpoint is None


def test_a_branch_that_the_winner_dropped_is_a_lost_race():
    """The winner drops all branches of its epoch, including the loser's, before the loser checks its own branch."""
    reader = two_commits()
    run = applying(reader)

    def execute(sql):
        reader.make_branch(sql)
        if sql.startswith("merge"):
            reader.tables[TARGET] = hist(TARGET, carrying(100, None, cp(1, 1)), carrying(101, 100, cp(2, 2, "winner")))

    with pytest.raises(ConcurrentRunError):  # not a KeyError
        publish.Publisher(Connection(execute), reader).apply(run, "merge", {})


def test_an_error_that_no_other_commit_caused_is_raised_at_once():
    reader = two_commits()
    run, sent = applying(reader), []

    def execute(sql):
        sent.append(sql)
        reader.make_branch(sql)
        if sql.startswith("merge"):
            raise StatementError("ValidationException: Cannot find source column for partition field: region")

    with pytest.raises(StatementError, match="partition field"):
        publish.Publisher(Connection(execute), reader).apply(run, "merge", {})
    assert sent.count("merge") == 1


def test_a_conflict_after_the_run_dropped_its_own_branch_is_not_a_lost_race():
    """The statement commits nothing, so only the checkpoint moves. A compaction causes one conflict."""
    reader = two_commits()
    run, failed = applying(reader, incremental_strategy="insert_overwrite", partition_by="day"), []

    def execute(sql):
        reader.make_branch(sql)
        if "DROP BRANCH" in sql:
            old = reader.tables[TARGET]
            reader.tables[TARGET] = replace(old, refs={"main": old.current_snapshot_id})
        if KEY in sql and "TBLPROPERTIES" in sql and not failed:
            failed.append(sql)
            raise StatementError("CommitFailedException: Cannot commit")

    assert publish.Publisher(Connection(execute), reader).apply(run, "insert overwrite", {}).snapshot is None


def test_a_failed_reset_does_not_prevent_other_resets():
    reader = two_commits()
    run, settings, failed = applying(reader), set(), []

    def execute(sql):
        reader.make_branch(sql)
        if sql.startswith("SET "):
            settings.add(sql.split("`")[1])
        elif sql.startswith("RESET "):
            if not failed:
                failed.append(sql)
                raise StatementError("cancelled")
            settings.discard(sql.split("`")[1])
        elif sql == "merge":
            raise StatementError("cancelled")

    with pytest.raises(StatementError):
        publish.Publisher(Connection(execute), reader).apply(run, "merge", {})
    assert len(settings) <= 1  # only the setting whose RESET failed; the checkpoint must not remain for the next model


def test_advance_does_not_undo_a_rewind():
    """`ip_set_checkpoint` moves the position to 1, while an earlier run advances past a compaction."""
    compaction = snap(3, 2, {"total-records": "9"}, "replace")
    reader = Reader(
        s=hist(SOURCE, snap(1, None), snap(2, 1), compaction), t=hist(TARGET, carrying(100, None, cp(1, 2)))
    )
    run = Run(captured(opened(reader), reader))
    assert run.plan.action is Action.ADVANCE
    reader.tables[TARGET] = replace(reader.tables[TARGET], properties={KEY: cp(2, 1, "rewind", target=100).to_json()})

    def execute(sql):
        text = re.search(r"'ip.checkpoint' = '(.*)'\)", sql)[1].encode().decode("unicode_escape")
        reader.tables[TARGET] = replace(reader.tables[TARGET], properties={KEY: text})

    with contextlib.suppress(IncrementalError):
        publish.Publisher(Connection(execute), reader).advance(run)
    assert checkpoint_state(reader.tables[TARGET]).checkpoint.sources[str(SOURCE)].snapshot_id == 1


def test_a_rollback_of_the_target_during_a_run_is_not_undone():
    """fast_forward requires only that main is an ancestor of the branch, which is also true after a rollback."""
    reader = Reader(
        s=hist(SOURCE, snap(1, None), snap(2, 1)),
        t=hist(
            TARGET,
            carrying(99, None, cp(1, 1)),
            snap(100, 99),
            snap(101, 100),
        ),
    )
    run = applying(reader)

    def execute(sql):
        reader.make_branch(sql)
        if sql.startswith("merge"):
            branch = run.plan.branch
            old = reader.tables[TARGET]
            number = 102 + len(merged)
            staged = carrying(number, old.current_snapshot_id, run.next_checkpoint())
            merged.append(number)
            reader.tables[TARGET] = replace(  # first staged on 101; then main is rolled back to 100
                old,
                snapshots={**old.snapshots, number: staged},
                refs={"main": 100, branch: number},
                current_snapshot_id=100,
            )
        if "fast_forward" in sql:
            old = reader.tables[TARGET]
            reader.tables[TARGET] = replace(old, current_snapshot_id=merged[-1], refs={"main": merged[-1]})

    sent, merged = [], []
    with contextlib.suppress(IncrementalError, AssertionError):
        publish.Publisher(Connection(lambda sql: (sent.append(sql), execute(sql))), reader).apply(run, "merge", {})
    # 101 was rolled back; publishing 102, its child, would restore it
    head = reader.tables[TARGET]
    assert not head.is_ancestor(101, of=head.current_snapshot_id)


def test_a_run_that_started_without_a_checkpoint():
    """Such as a run of a dbt snapshot whose table was built by dbt itself."""
    table = hist(TARGET, snap(100, None))
    reader = Reader(s=hist(SOURCE, snap(1, None)), t=table)
    plan = replace(opened(reader, full_refresh=True), checkpoint=None)
    fence = Fence(reader)
    fence.require_captured_checkpoint(plan, table, 100)
    now = hist(TARGET, snap(100, None), carrying(101, 100, cp(1, 1, "other")))
    with pytest.raises(ConcurrentRunError, match="no checkpoint, as when this run started"):
        fence.require_captured_checkpoint(plan, now, 101)

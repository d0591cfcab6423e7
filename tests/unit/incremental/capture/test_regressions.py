"""Races and oddities that once lost, doubled or hid something: each as the smallest history that shows it."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace

import pytest
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.spark_iceberg.incremental.capture.cuts import Cuts
from dbt.adapters.spark_iceberg.incremental.capture.open import open_run
from dbt.adapters.spark_iceberg.incremental.capture.reads import capture_as_of, capture_changes
from dbt.adapters.spark_iceberg.incremental.capture.run import Action
from dbt.adapters.spark_iceberg.incremental.errors import ConcurrentRunError, IncrementalError
from dbt.adapters.spark_iceberg.incremental.operations.set_checkpoint import new_checkpoint
from dbt.adapters.spark_iceberg.incremental.plan.policy import Policy
from dbt.adapters.spark_iceberg.incremental.project.conditional_reads import ConditionalReads
from dbt.adapters.spark_iceberg.incremental.project.model_config import policy_of
from dbt.adapters.spark_iceberg.incremental.publish import publisher as publish
from dbt.adapters.spark_iceberg.incremental.table.checkpoint import KEY, Checkpoint, Position
from dbt.adapters.spark_iceberg.incremental.table.history import History, Snapshot, TableName
from dbt.adapters.spark_iceberg.incremental.table.in_force import in_force

SOURCE, OTHER, TARGET = (TableName("lake", "ops", n) for n in ("events", "other", "staged"))
MODEL = "model.shop.staged"
ADDED = {"added-records": "1", "added-data-files": "1", "total-records": "9"}


def snap(n, parent, summary=ADDED, operation="append"):
    return Snapshot(n, parent, n, n * 1000, operation, summary)


def hist(name, *snaps, head=-1, properties=None, refs=None, uuid=None):
    head = (snaps[-1].snapshot_id if snaps else None) if head == -1 else head
    return History(
        name,
        uuid or f"uuid-{name.name}",
        2,
        head,
        {s.snapshot_id: s for s in snaps},
        {**({} if head is None else {"main": head}), **(refs or {})},
        properties or {},
    )


def cp(epoch, at, invocation="x", target=None, source=SOURCE, **flags):
    return Checkpoint(
        MODEL, epoch, invocation, {str(source): Position(f"uuid-{source.name}", at, at, at * 1000, **flags)}, target
    )


def carrying(n, parent, checkpoint, operation="append"):
    return snap(n, parent, {**ADDED, KEY: checkpoint.to_json()}, operation)


class Reader:
    def __init__(self, **tables):
        self.tables = {h.table: h for h in tables.values()}

    def load(self, name):
        return self.tables.get(name)

    def older(self, history):
        return iter(())

    def make_branch(self, sql):
        """What Iceberg does, where a statement makes a branch of the target."""
        if "CREATE OR REPLACE BRANCH" in sql:
            old = self.tables[TARGET]
            refs = {**old.refs, sql.split("`")[-2]: old.current_snapshot_id}
            self.tables[TARGET] = replace(old, refs=refs)


def opened(reader, cuts=None, config=None, full_refresh=False, **more):
    return open_run(
        reader,
        cuts or Cuts(lambda: reader),
        model=MODEL,
        target=TARGET,
        policy=policy_of(config or {}, MODEL),
        invocation_id="mine",
        full_refresh=full_refresh,
        parents=[SOURCE],
        **more,
    )


def test_mirror_after_a_rebuild_never_speaks_for_another_run_s_rows():
    """A (epoch 31, source at 20) and B (a long full refresh, epoch 6, source at 12): B commits just before A looks."""
    source = hist(SOURCE, *[snap(n, n - 1 or None) for n in range(1, 21)])
    before = hist(TARGET, carrying(100, None, cp(30, 19)))
    reader = Reader(s=source, t=before)
    run = opened(reader, full_refresh=True)
    capture_changes(run, Cuts(lambda: reader), SOURCE)

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
        publish.Publisher(execute, reader).rebuild(run, "create or replace table")
    # the table holds B's rows, up to 12; a checkpoint at 20 would lose 13 to 20
    assert in_force(reader.tables[TARGET]).checkpoint.sources[str(SOURCE)].snapshot_id == 12


def test_a_rebuild_whose_rows_did_not_reach_main_is_an_error():
    """spark.wap.branch/-id set by a profile, a header or a leak: CREATE OR REPLACE leaves main empty (facts.md)."""
    source = hist(SOURCE, snap(1, None))
    reader = Reader(s=source, t=hist(TARGET, carrying(100, None, cp(1, 1))))
    run = opened(reader, full_refresh=True)
    capture_changes(run, Cuts(lambda: reader), SOURCE)

    def execute(sql):
        now = reader.tables[TARGET]
        if sql.startswith("create or replace"):
            reader.tables[TARGET] = hist(TARGET, head=None)
        elif "TBLPROPERTIES" in sql:
            text = re.search(r"'ip.checkpoint' = '(.*)'\)", sql)[1].encode().decode("unicode_escape")
            reader.tables[TARGET] = replace(now, properties={KEY: text})

    with pytest.raises(IncrementalError):
        publish.Publisher(execute, reader).rebuild(run, "create or replace table")
    assert in_force(reader.tables[TARGET]).checkpoint is None


def test_empty_never_replaces_a_table_that_has_rows_because_a_policy_would_rebuild_it():
    rebuilt = hist(SOURCE, snap(9, None), uuid="created-again")
    reader = Reader(s=rebuilt, t=hist(TARGET, carrying(100, None, cp(5, 3))))
    run = opened(reader)  # on_history_break: {rebuilt: full_refresh} is the default
    run.passes_through = True  # what ip_read does under --empty and --sample
    assert run.action is Action.CHECK_ONLY


def test_a_cherry_pick_does_not_bring_the_checkpoint_of_rows_that_were_undone():
    """X1 (source at 1), X2 (2), X3 (3); rolled back to X1; then X3 alone was cherry-picked: no rows of 2."""
    x1, x2, x3 = carrying(1, None, cp(1, 1)), carrying(2, 1, cp(2, 2)), carrying(3, 2, cp(3, 3))
    picked = snap(4, 1, {**ADDED, "source-snapshot-id": "3"})
    found = in_force(hist(TARGET, x1, x2, x3, picked)).checkpoint
    assert found is None or found.epoch < 3


def test_a_source_that_the_sql_no_longer_reads_is_not_cut_before_it_is_built():
    """staged once read model `other`; it no longer does, so dbt may run it before `other`, which has a child too."""
    reader = Reader(
        s=hist(SOURCE, snap(1, None)),
        o=hist(OTHER, snap(50, None)),
        t=hist(TARGET, carrying(100, None, cp(1, 50, source=OTHER))),
    )
    cuts = Cuts(lambda: reader)
    opened(reader, cuts)
    reader.tables[OTHER] = hist(OTHER, snap(50, None), snap(51, 50))  # built in this invocation
    assert cuts.of(OTHER).end.snapshot_id == 51


def applying(reader, **config):
    run = opened(reader, config=config)
    capture_changes(run, Cuts(lambda: reader), SOURCE)
    assert run.action is Action.APPLY
    return run


def two_commits():
    return Reader(
        s=hist(SOURCE, snap(1, None), snap(2, 1)),
        t=hist(TARGET, carrying(100, None, cp(1, 1))),
    )


def test_a_branch_that_the_winner_removed_is_a_lost_race():
    """The winner drops all branches of its epoch, the loser's too, before the loser has looked at its own."""
    reader = two_commits()
    run = applying(reader)

    def execute(sql):
        if sql.startswith("merge"):
            reader.tables[TARGET] = hist(TARGET, carrying(100, None, cp(1, 1)), carrying(101, 100, cp(2, 2, "winner")))

    with pytest.raises(ConcurrentRunError):  # a bare KeyError
        publish.Publisher(execute, reader).apply(run, "merge", {})


def test_an_error_that_no_other_commit_caused_is_shown_at_once():
    reader = two_commits()
    run, sent = applying(reader), []

    def execute(sql):
        sent.append(sql)
        reader.make_branch(sql)
        if sql.startswith("merge"):
            raise DbtDatabaseError("ValidationException: Cannot find source column for partition field: region")

    with pytest.raises(DbtDatabaseError, match="partition field"):
        publish.Publisher(execute, reader).apply(run, "merge", {})
    assert sent.count("merge") == 1


def test_a_conflict_after_the_run_has_dropped_its_own_branch_is_no_lost_race():
    """The statement commits nothing, so that only the checkpoint moves; a compaction comes between, once."""
    reader = two_commits()
    run, failed = applying(reader, incremental_strategy="insert_overwrite", partition_by="day"), []

    def execute(sql):
        reader.make_branch(sql)
        if "DROP BRANCH" in sql:
            old = reader.tables[TARGET]
            reader.tables[TARGET] = replace(old, refs={"main": old.current_snapshot_id})
        if KEY in sql and "TBLPROPERTIES" in sql and not failed:
            failed.append(sql)
            raise DbtDatabaseError("CommitFailedException: Cannot commit")

    assert publish.Publisher(execute, reader).apply(run, "insert overwrite", {}).snapshot is None


def test_one_reset_that_fails_does_not_leave_the_others_set():
    reader = two_commits()
    run, settings, failed = applying(reader), set(), []

    def execute(sql):
        reader.make_branch(sql)
        if sql.startswith("SET "):
            settings.add(sql.split("`")[1])
        elif sql.startswith("RESET "):
            if not failed:
                failed.append(sql)
                raise DbtDatabaseError("cancelled")
            settings.discard(sql.split("`")[1])
        elif sql == "merge":
            raise DbtDatabaseError("cancelled")

    with pytest.raises(DbtDatabaseError):
        publish.Publisher(execute, reader).apply(run, "merge", {})
    assert len(settings) <= 1  # the one whose RESET failed; the checkpoint must not stay for the next model


def test_advance_does_not_undo_a_rewind():
    """`ip_set_checkpoint` has said "goes on from 1" while a run that captured before moves over a compaction."""
    compaction = snap(3, 2, {"total-records": "9"}, "replace")
    reader = Reader(
        s=hist(SOURCE, snap(1, None), snap(2, 1), compaction), t=hist(TARGET, carrying(100, None, cp(1, 2)))
    )
    run = opened(reader)
    capture_changes(run, Cuts(lambda: reader), SOURCE)
    assert run.action is Action.ADVANCE
    reader.tables[TARGET] = replace(reader.tables[TARGET], properties={KEY: cp(2, 1, "rewind", target=100).to_json()})

    def execute(sql):
        text = re.search(r"'ip.checkpoint' = '(.*)'\)", sql)[1].encode().decode("unicode_escape")
        reader.tables[TARGET] = replace(reader.tables[TARGET], properties={KEY: text})

    with contextlib.suppress(IncrementalError):
        publish.Publisher(execute, reader).advance(run)
    assert in_force(reader.tables[TARGET]).checkpoint.sources[str(SOURCE)].snapshot_id == 1


def test_setting_a_position_keeps_how_the_source_is_read():
    reader = Reader(s=hist(SOURCE, snap(1, None), snap(2, 1)))
    target = hist(TARGET, carrying(100, None, cp(1, 2, as_of=True)))
    made = new_checkpoint(
        reader,
        model=MODEL,
        policy=Policy(),
        target=target,
        source=SOURCE,
        snapshot_id=1,
        timestamp=None,
        invocation_id="i",
    )
    assert made.sources[str(SOURCE)].as_of


def test_a_partial_build_cannot_be_adopted_in_words_only():
    """ip_set_checkpoint says it is set; in_force then ignores it, and the next run rebuilds."""
    reader = Reader(s=hist(SOURCE, snap(1, None)))
    target = hist(TARGET, snap(100, None, {"ip.partial-build": "true"}))
    try:
        made = new_checkpoint(
            reader,
            model=MODEL,
            policy=Policy(),
            target=target,
            source=SOURCE,
            snapshot_id=1,
            timestamp=None,
            invocation_id="i",
        )
    except IncrementalError:
        return
    assert in_force(replace(target, properties={KEY: made.mirrored(100).to_json()})).checkpoint is not None


def test_no_password_of_a_catalog_uri_in_an_error():
    """What Iceberg's JdbcClientPool says: "Failed to connect: " and the whole URI."""
    from types import SimpleNamespace

    from dbt.adapters.spark_iceberg.connections import SparkIcebergConnectionManager

    uri = "jdbc:postgresql://db/lake?user=dbt&password=hunter2"
    manager = object.__new__(SparkIcebergConnectionManager)
    manager.profile = SimpleNamespace(
        credentials=SimpleNamespace(server_side_parameters={"spark.sql.catalog.lake.uri": uri})
    )
    with pytest.raises(DbtDatabaseError) as caught, manager.exception_handler("select 1"):
        raise RuntimeError(f"UncheckedSQLException: Failed to connect: {uri}")
    assert "hunter2" not in str(caught.value)


def test_a_rollback_of_the_target_during_a_run_is_not_undone():
    """fast_forward asks only whether main is *an* ancestor of the branch: main rolled back from 101 to 100 is one."""
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
        if sql.startswith("merge"):
            branch = publish.branch_of(run)
            old = reader.tables[TARGET]
            number = 102 + len(merged)
            staged = carrying(number, old.current_snapshot_id, run.next_checkpoint())
            merged.append(number)
            reader.tables[TARGET] = replace(  # staged on 101 at first; then someone rolls main back to 100
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
        publish.Publisher(lambda sql: (sent.append(sql), execute(sql)), reader).apply(run, "merge", {})
    # 101 was rolled back; publishing 102 on top of it would bring it back
    head = reader.tables[TARGET]
    assert not head.is_ancestor(101, of=head.current_snapshot_id)


AS_OF = {"as_of": True}
BY_CHANGES = ConditionalReads(changes=frozenset({SOURCE}))
BY_CHANGELOG = ConditionalReads(net_changes=frozenset({SOURCE}))
REFRESH = {"on_source_rewrite": "full_refresh"}
REWRITE = {"deleted-records": "1", "deleted-data-files": "1", "total-records": "8"}


@pytest.mark.parametrize(
    ("reads", "config", "rebuilds"),
    [
        (ConditionalReads(), {}, False),
        (BY_CHANGES, {}, True),
        (BY_CHANGELOG, {}, True),
        (ConditionalReads(every=True), {}, True),
    ],
)
def test_a_position_as_of_follows_a_rebuild_where_other_runs_read_the_changes(reads, config, rebuilds):
    source = hist(SOURCE, snap(2, None), uuid="another")
    reader = Reader(s=source, t=hist(TARGET, carrying(100, None, cp(1, 1, **AS_OF))))
    assert opened(reader, config=config, reads=reads).is_rebuild is rebuilds


@pytest.mark.parametrize(
    ("reads", "rebuilds"), [(ConditionalReads(), False), (BY_CHANGES, True), (BY_CHANGELOG, False)]
)
def test_a_position_as_of_minds_rewrites_where_other_runs_read_by_ip_changes(reads, rebuilds):
    source = hist(SOURCE, snap(1, None), snap(2, 1, REWRITE, "overwrite"))
    reader = Reader(s=source, t=hist(TARGET, carrying(100, None, cp(1, 1, **AS_OF))))
    assert opened(reader, config=REFRESH, reads=reads).is_rebuild is rebuilds


@pytest.mark.parametrize(
    ("reads", "flags"),
    [(ConditionalReads(), (True, False)), (BY_CHANGES, (False, False)), (BY_CHANGELOG, (False, True))],
)
def test_what_a_first_build_as_of_says_of_its_position(reads, flags):
    reader = Reader(s=hist(SOURCE, snap(1, None)))
    cuts = Cuts(lambda: reader)
    run = opened(reader, cuts, reads=reads)
    capture_as_of(run, cuts, SOURCE)
    (position,) = run.next_checkpoint().sources.values()
    assert (position.as_of, position.changelog) == flags

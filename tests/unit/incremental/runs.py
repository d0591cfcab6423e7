"""Runs of a model with small histories, for tests of capturing, publishing and operations."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_iceberg.project.model_config import policy_of
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.open import open_run
from iceberg_incremental.capture.reads import capture
from iceberg_incremental.capture.run import Run
from iceberg_incremental.capture.run_plan import Action, Read
from iceberg_incremental.table.checkpoint import KEY, Checkpoint, Position
from iceberg_incremental.table.history import History, Snapshot, TableName

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

    load_without_statement = load

    def older(self, history):
        return iter(())

    def make_branch(self, sql):
        """Create a branch of the target if the statement does so."""
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


def captured(plan, reader):
    """The plan of a run that has captured the changes of the source."""
    return capture(plan, Cuts(lambda: reader), SOURCE, Read.CHANGES)


def applying(reader, **config):
    run = Run(captured(opened(reader, config=config), reader))
    assert run.plan.action is Action.APPLY
    return run


def two_commits():
    return Reader(
        s=hist(SOURCE, snap(1, None), snap(2, 1)),
        t=hist(TARGET, carrying(100, None, cp(1, 1))),
    )

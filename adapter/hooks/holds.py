"""Holding a model's positions in its sources by tags, where its config asks for that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.run import Run
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.explain import hold_warnings
from iceberg_incremental.plan.holds import hold_of, outdated
from iceberg_incremental.publish.stale import insist
from iceberg_incremental.sql import sql_name
from iceberg_incremental.table.checkpoint import Checkpoint
from iceberg_incremental.table.history import History, TableName

from .adapter import Adapter
from .context import Node
from .invocation import Invocations

logger = AdapterLogger("SparkIceberg")


class HoldHooks:
    """What the materialization calls before it builds, and after: ``adapter.ip.holds``. Errors are warnings here."""

    def __init__(self, adapter: Adapter, invocations: Invocations) -> None:
        self._adapter = adapter
        self._invocations = invocations

    def hold(self, node: Node) -> None:
        """Hold what a run continues from and what it reads, before it builds."""
        run = self._held_run(node)
        if run is None or run.plan.action is Action.NOTHING:
            return
        for source in run.plan.captured:
            with self._warning(run, source):
                history = self._adapter.metadata_reader().load(source)
                for checkpoint in filter(None, (run.plan.checkpoint, run.next_checkpoint())):
                    self._hold(run, history, checkpoint)

    def release(self, node: Node) -> None:
        """Hold where a model stands after its run, and let go of where it stood before."""
        run = self._held_run(node)
        if run is None:
            return
        standing = run.plan.checkpoint if run.plan.action is Action.NOTHING else run.next_checkpoint()
        assert standing is not None
        for source in run.plan.captured:
            with self._warning(run, source):
                history = self._adapter.metadata_reader().load(source)
                self._hold(run, history, standing)
                for tag in [] if history is None else outdated(history, run.plan.name, standing.epoch):
                    insist(self._adapter.spark.send, f"ALTER TABLE {source.sql} DROP TAG IF EXISTS {sql_name(tag)}")

    def _held_run(self, node: Node) -> Run | None:
        """The run of a model that holds its positions; None of another one."""
        found = self._invocations.if_opened(node)
        run = None if found is None else found.run
        return None if run is None or run.plan.policy.hold is None or run.plan.passes_through else run

    def _hold(self, run: Run, source: History | None, checkpoint: Checkpoint) -> None:
        position = None if source is None else checkpoint.sources.get(str(source.table))
        if source is None or position is None or run.plan.policy.hold is None:
            return
        hold = hold_of(source, run.plan.name, checkpoint.epoch, position, run.plan.policy.hold, int(time.time() * 1000))
        if hold is not None:
            insist(
                self._adapter.spark.send,
                f"ALTER TABLE {source.table.sql} CREATE OR REPLACE TAG {sql_name(hold.tag)} "
                f"AS OF VERSION {hold.snapshot_id} RETAIN {hold.minutes} MINUTES",
            )

    @contextmanager
    def _warning(self, run: Run, source: TableName) -> Iterator[None]:
        """Have an error be a warning: the run is as exact without its tags."""
        try:
            yield
        except IncrementalError as error:
            logger.warning(hold_warnings.not_held(source, run.plan.model, error))

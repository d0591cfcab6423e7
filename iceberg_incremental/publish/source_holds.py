"""Tags in sources: they hold the snapshots of a run's positions, if the policy requires it."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from ..capture.run import Run
from ..capture.run_plan import Action
from ..errors import IncrementalError, NotKeptError, message
from ..explain import metadata_errors
from ..metadata import MetadataReader
from ..spark.port import Spark
from ..sql import sql_name
from ..table.checkpoint import Checkpoint, Position
from ..table.history import History, TableName
from .sql_refs import SqlRefs

logger = logging.getLogger(__name__)
_PREFIX = "ip_held_by."
_MINUTE_MS = 60_000
_ENOUGH = 0.75
"""A tag is created again when less than this share of the duration is left."""


@dataclass(frozen=True)
class Hold:
    """A tag to create in a source. ``minutes``: its maximum age, counted from the snapshot's commit."""

    tag: str
    snapshot_id: int
    minutes: int


def tag_of(target: TableName, epoch: int) -> str:
    """The name of a tag for an epoch of a model's table. It shows which table reads the source."""
    return f"{_PREFIX}{target}.{epoch}"


def hold_of(
    source: History, target: TableName, epoch: int, position: Position, duration: timedelta, now_ms: int
) -> Hold | None:
    """The tag to create for a position. None without a snapshot, or if an existing tag holds it long enough.

    ``duration``: that of the hold, from now. A source that is read as a whole needs no tag.
    """
    snapshot_id = position.snapshot_id
    if snapshot_id is None or snapshot_id not in source.snapshots or position.as_of:
        return None
    tag, time_ms = tag_of(target, epoch), duration / timedelta(milliseconds=1)
    committed_ms = now_ms if position.timestamp_ms is None else position.timestamp_ms
    age_ms = source.ref_ages.get(tag, math.inf)
    if source.refs.get(tag) == snapshot_id and committed_ms + age_ms - now_ms >= _ENOUGH * time_ms:
        return None
    return Hold(tag, snapshot_id, math.ceil((max(now_ms - committed_ms, 0) + time_ms) / _MINUTE_MS))


def outdated_tags(source: History, target: TableName, epoch: int) -> list[str]:
    """The tags of a model's table in a source that belong to other epochs."""
    start = tag_of(target, 0)[:-1]
    own = [name for name in source.refs if name.startswith(start) and name.removeprefix(start).isdecimal()]
    return sorted(name for name in own if name != tag_of(target, epoch))


_UNMOVED = (Action.NOTHING, Action.CHECK_ONLY)
"""The actions that commit no checkpoint."""


class SourceHolds:
    """The tags of one run. Errors are logged as warnings, because the run is exact without its tags."""

    def __init__(self, run: Run, spark: Spark, reader: MetadataReader) -> None:
        self._run = run
        self._reader = reader
        self._refs = SqlRefs(spark, reader)
        self._asked = run.plan.policy.hold is not None and not run.plan.passes_through

    def hold(self) -> None:
        """Before the run writes, hold the positions from which it continues and up to which it reads."""
        plan = self._run.plan
        if not self._asked or plan.action in _UNMOVED:
            return
        for source in plan.captured:
            with self._warning(source):
                history = self._reader.load(source)
                for checkpoint in filter(None, (plan.checkpoint, self._run.next_checkpoint())):
                    self._hold(history, checkpoint)

    def release(self) -> None:
        """After the run, hold the target's positions, and release the earlier ones."""
        plan = self._run.plan
        if not self._asked:
            return
        checkpoint = plan.checkpoint if plan.action in _UNMOVED else self._run.next_checkpoint()
        assert checkpoint is not None
        for source in plan.captured:
            with self._warning(source):
                history = self._reader.load(source)
                self._hold(history, checkpoint)
                for tag in [] if history is None else outdated_tags(history, plan.name, checkpoint.epoch):
                    self._refs.alter(f"ALTER TABLE {source.sql} DROP TAG IF EXISTS {sql_name(tag)}")

    def _hold(self, source: History | None, checkpoint: Checkpoint) -> None:
        plan = self._run.plan
        position = None if source is None else checkpoint.sources.get(str(source.table))
        if source is None or position is None or plan.policy.hold is None:
            return
        hold = hold_of(source, plan.name, checkpoint.epoch, position, plan.policy.hold, int(time.time() * 1000))
        if hold is not None:
            self._refs.alter(
                f"ALTER TABLE {source.table.sql} CREATE OR REPLACE TAG {sql_name(hold.tag)} "
                f"AS OF VERSION {hold.snapshot_id} RETAIN {hold.minutes} MINUTES"
            )
            if not self._refs.has(source.table, hold.tag):
                raise metadata_errors.keeps_no_tags(source, plan.model, hold.tag)

    @contextmanager
    def _warning(self, source: TableName) -> Iterator[None]:
        try:
            yield
        except NotKeptError as error:
            logger.warning(error.msg)
        except IncrementalError as error:
            logger.warning(
                message(
                    f"{self._run.plan.model} does not hold its position in {source}.",
                    expected="a tag in the source, since `hold_source` is set.",
                    found=error.msg.strip(),
                    fix="allow dbt's user to alter this table, or remove `hold_source`. This run continues. Without "
                    "the tag, an expiry of the source's snapshots can remove commits that have not been read yet. The "
                    "next run then reports this.",
                )
            )

"""The status of models: the position in each source, the pending rows, and the next run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from iceberg_incremental.capture.next_run import FAILS
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.explain.model_errors import changed_since
from iceberg_incremental.plan.breaks import Break
from iceberg_incremental.plan.changes import Rewritten
from iceberg_incremental.plan.ranges import Range
from iceberg_incremental.plan.refusals import Refusal
from iceberg_incremental.quantities import age, counted, instant, rows_text, size_text
from iceberg_incremental.table.checkpoint import Position
from iceberg_incremental.table.commits import Effect, effect
from iceberg_incremental.table.history import History, TableName
from iceberg_incremental.table.retention import is_forever, max_ref_age_ms, max_snapshot_age_ms
from iceberg_incremental.table.row_counts import VersionCounts

NEXT_RUN = {
    Action.REBUILD.value: "builds the whole table",
    Action.APPLY.value: "applies what is pending",
    Action.ADVANCE.value: "moves the checkpoint only",
    Action.NOTHING.value: "nothing to do",
    Action.CHECK_ONLY.value: "nothing to do, only its SQL is checked",
    FAILS: "fails",
}
"""The description of the next run, by its action."""
_STATES = {Action.REBUILD.value: "rebuild", Action.APPLY.value: "pending", FAILS: "fails"}
_NOT_DUE = (Action.NOTHING.value, Action.CHECK_ONLY.value, FAILS)


@dataclass(frozen=True)
class SourceStatus:
    """A model's status in one source. Sizes are in bytes, times in ms.

    - ``pending``: ``nothing``; the kind of a range (``append``, ``full``, ``net``; ``empty`` if a table that is read as
      a whole no longer has rows); the cause of a break; ``rewritten``, ``not readable`` or ``missing``.
    - ``records_at_most``: whether ``records`` is only an upper bound.
    - ``waiting_snapshots``: the number of commits that the model's limits leave to later runs.
    - ``oldest_pending_ms``: the time of the oldest known unread commit that changed rows.
    - ``expires_at_ms``: the time from which an ``expire_snapshots`` with the source's own properties may remove unread
      rows; None if nothing is pending, or if the position is held indefinitely.
    - ``held_until_ms``: the time until which a tag or branch holds the position; None without one, or without an end.
    - ``expiry_risk``: ``none``; ``due``, if the position is older than the source's maximum snapshot age, so that an
      ``expire_snapshots`` may remove unread rows; ``broken``, if the history is already broken.
    """

    source: str
    position_snapshot_id: int | None
    position_timestamp_ms: int | None
    pending: str
    snapshots: int = 0
    files: int = 0
    records: int = 0
    bytes: int = 0
    records_at_most: bool = False
    waiting_snapshots: int = 0
    age_ms: int | None = None
    expiry_risk: str = "none"
    oldest_pending_ms: int | None = None
    expires_at_ms: int | None = None
    held_until_ms: int | None = None


@dataclass(frozen=True)
class ModelStatus:
    """A model's status: its epoch, its sources, its next run, and the ``error`` of this run if it would fail.

    ``next_run``: a description of the next run. ``state``: ``fails``, ``rebuild`` (the whole table is built),
    ``pending`` or ``current``. ``logic_changed_since``: the run after which the model's logic changed, if older rows
    are still in the table. ``cloned_from``: the origin of a clone. ``files_kept_until_ms``: the time until which the
    origin keeps its files. ``versions``: the versions that the last run with rows wrote, for a history or dbt snapshot.
    ``action``: that of the next run, as in its result, or ``fails``. ``views``: the views that plain SQL reads.
    ``is_repeated``: whether each run does the same, even if no source has new commits.
    """

    model: str
    target: str
    epoch: int
    next_run: str
    error: str | None = None
    sources: Sequence[SourceStatus] = field(default_factory=tuple)
    state: str = "current"
    logic_changed_since: int | None = None
    cloned_from: str | None = None
    files_kept_until_ms: int | None = None
    versions: VersionCounts | None = None
    action: str = Action.NOTHING.value
    views: Sequence[str] = ()
    is_repeated: bool = False

    @classmethod
    def of_action(cls, model: str, target: str, epoch: int, action: str, reason: str = "", **more: Any) -> ModelStatus:
        """The status for the action of the next run. ``reason``: of a rebuild, or of an update without new rows."""
        because = f" ({reason.removesuffix('.')})" if reason else ""
        known = {"next_run": NEXT_RUN[action] + because, "state": _STATES.get(action, "current"), **more}
        return cls(model, target, epoch, action=action, **known)

    @classmethod
    def of_error(cls, model: str, target: str, epoch: int, error: str, **more: Any) -> ModelStatus:
        """The status of a model whose next run would fail."""
        return cls.of_action(model, target, epoch, FAILS, error=error, **more)

    @property
    def fails(self) -> bool:
        """Whether the next run would fail."""
        return self.error is not None

    @property
    def is_due(self) -> bool:
        """Whether the next run would change the table or its checkpoint, and not again in the run after that."""
        return not self.fails and self.action not in _NOT_DUE and not self.is_repeated

    def is_as_due_as(self, before: ModelStatus) -> bool:
        """Whether the model is due, and no run has changed its epoch or the number of its pending commits."""
        return self.is_due and before.is_due and (self.epoch, self.commits) == (before.epoch, before.commits)

    @property
    def commits(self) -> int:
        """The number of pending commits of its sources, including those that are left to later runs."""
        return sum(source.snapshots + source.waiting_snapshots for source in self.sources)

    @property
    def rows(self) -> int:
        """The number of rows that the next run would read."""
        return sum(source.records for source in self.sources)

    @property
    def oldest_pending_ms(self) -> int | None:
        """The time of the oldest pending commit. None if none is pending, or if it is unknown."""
        return min(
            (each.oldest_pending_ms for each in self.sources if each.oldest_pending_ms is not None), default=None
        )

    def lag_ms(self, now_ms: int) -> int | None:
        """The time since the oldest pending commit. 0 if nothing is pending, None if unknown."""
        if self.oldest_pending_ms is not None:
            return max(0, now_ms - self.oldest_pending_ms)
        is_rebuilt_by_policy = self.state == "rebuild" and self.epoch > 0  # the lag is unknown, as after a rollback
        return 0 if self.error is None and not is_rebuilt_by_policy else None


def source_status(
    history: History,
    position: Position | None,
    found: Range | Refusal,
    now_ms: int,
    read_before: Position | None = None,
) -> SourceStatus:
    """A model's status in one source at the time ``now_ms``.

    ``read_before``: in a rebuild, the position of the table that the next run replaces.
    """
    counts: dict[str, Any] = {}
    risk = "none"
    if not isinstance(found, Range):
        pending = _refusal(found)
        risk = "broken" if isinstance(found, Break) else "none"
    elif not found.brings_rows:
        pending = "nothing"
        counts = {"waiting_snapshots": found.waiting}
    else:
        pending = found.kind.value
        counts = {
            "snapshots": found.counts.snapshots,
            "files": found.counts.files,
            "records": found.counts.records,
            "bytes": found.counts.size,
            "records_at_most": found.counts.at_most,
            "waiting_snapshots": found.waiting,
        }
    found_status = replace(status_of_source(history.table, position, pending, now_ms), expiry_risk=risk, **counts)
    if pending == "nothing" and not found_status.waiting_snapshots:
        return found_status
    found_status = replace(found_status, oldest_pending_ms=_oldest_pending(history, position or read_before))
    if position is None or isinstance(found, Break) or position.as_of:
        return found_status
    held_until = _held_until(history, position)
    expires = _expires_at(history, position, held_until)
    if risk == "none" and expires is not None and expires < now_ms:
        found_status = replace(found_status, expiry_risk="due")
    held_until_ms = None if held_until is None or math.isinf(held_until) else int(held_until)
    return replace(found_status, expires_at_ms=expires, held_until_ms=held_until_ms)


def status_of_source(source: TableName, position: Position | None, pending: str, now_ms: int) -> SourceStatus:
    """The part of a model's status in one source that its position determines."""
    known = position or Position(None, None, None, None)
    return SourceStatus(
        source=str(source),
        position_snapshot_id=known.snapshot_id,
        position_timestamp_ms=known.timestamp_ms,
        pending=pending,
        age_ms=None if known.timestamp_ms is None else now_ms - known.timestamp_ms,
    )


def _refusal(found: Refusal) -> str:
    if isinstance(found, Break):
        return found.cause.value
    return "rewritten" if isinstance(found, Rewritten) else "not readable"


def _oldest_pending(history: History, position: Position | None) -> int | None:
    """The time of the first known commit after a position that changed rows.

    If the history does not lead back to the position, commits with a later time count instead. None if there is no such
    commit, for example after a rollback.
    """
    head = history.current
    commits = None if head is None else history.commits_since(None if position is None else position.snapshot_id, head)
    if commits is None:
        since = None if position is None else position.timestamp_ms
        known = history.ancestors(history.current_snapshot_id)
        commits = [commit for commit in known if since is None or commit.timestamp_ms > since]
    return min((commit.timestamp_ms for commit in commits if effect(commit) is not Effect.NONE), default=None)


def _expires_at(history: History, position: Position, held_until: float | None) -> int | None:
    """The time in ms from which the position may expire. None if it is held indefinitely, or if its time is unknown."""
    if position.timestamp_ms is None:
        return None
    kept_until = position.timestamp_ms + max_snapshot_age_ms(history.properties)
    expires = max(kept_until, held_until or 0)
    return None if math.isinf(expires) else int(expires)


def _held_until(history: History, position: Position) -> float | None:
    """The time in ms until which a tag or branch keeps the position's snapshot. Infinite without a maximum age."""
    if position.timestamp_ms is None:
        return None
    longest = max_ref_age_ms(history.properties)
    ages = [
        history.ref_ages.get(name, longest)
        for name, snapshot_id in history.refs.items()
        if snapshot_id == position.snapshot_id and name != "main"
    ]
    if not ages:
        return None
    return math.inf if is_forever(max(ages)) else position.timestamp_ms + max(ages)


def as_text(statuses: Sequence[ModelStatus]) -> str:
    """The statuses as text."""
    if not statuses:
        ours = "No model of this project is materialized as 'iceberg_incremental_snapshot'"
        return f"{ours}, and no snapshot has a checkpoint."
    lines: list[str] = []
    for status in statuses:
        logic = "" if status.logic_changed_since is None else f"; {changed_since(status.logic_changed_since)}"
        lines.append(f"{status.model} ({status.target}), epoch {status.epoch}: {status.next_run}{logic}")
        if status.error is not None:
            lines += [f"    {line}" for line in status.error.splitlines()]
        if status.cloned_from is not None and status.files_kept_until_ms is not None:
            kept = instant(status.files_kept_until_ms)
            lines.append(f"  clone of {status.cloned_from}, which keeps the files that they share until {kept}")
        if status.versions is not None:
            lines.append(f"  last run that wrote rows: {versions_text(status.versions)}")
        lines += [f"  {_line(source)}" for source in status.sources]
    return "\n".join(lines)


def versions_text(found: VersionCounts) -> str:
    """The versions that a run wrote, for example ``3 versions added, 2 ended or updated``."""
    updated = "" if found.updated is None else f", {found.updated:,} ended or updated"
    return f"{counted(found.added, 'version')} added{updated}"


def _line(source: SourceStatus) -> str:
    if source.position_snapshot_id is None or source.position_timestamp_ms is None:
        where = "not read yet"
    else:
        where = f"read up to {source.position_snapshot_id} of {instant(source.position_timestamp_ms)}"
        where += f" ({age(source.age_ms or 0)} ago)"
    if source.pending == "nothing":
        pending = "nothing pending"
        if source.waiting_snapshots:
            pending = (
                f"no new rows for the next run, and {counted(source.waiting_snapshots, 'snapshot')} for later runs"
            )
    elif source.snapshots:
        pending = (
            f"pending ({source.pending}): {counted(source.snapshots, 'snapshot')}, {counted(source.files, 'file')}, "
            f"{rows_text(source.records, source.records_at_most)}, {size_text(source.bytes)}"
        )
        if source.waiting_snapshots:
            pending += f", and {counted(source.waiting_snapshots, 'snapshot')} more for later runs"
    elif source.pending == "missing":
        pending = "the table does not exist"
    else:
        pending = f"pending: {source.pending}"
    risk = ""
    if source.expiry_risk == "due":
        since = "" if source.expires_at_ms is None else f" (since {instant(source.expires_at_ms)})"
        risk = f"; unread snapshots may expire at any time{since}: run soon"
    return f"{source.source}: {where}; {pending}{risk}"

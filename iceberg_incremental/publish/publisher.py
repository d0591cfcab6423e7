"""Commits a run: publishes the rows and the checkpoint in one atomic commit, behind a fence.

A rebuild is one CREATE OR REPLACE TABLE AS statement, which is atomic. All other rows are staged on a branch of the run
and published by ``fast_forward``. Iceberg executes it as a compare-and-swap on the whole table metadata, and refuses it
unless ``main`` is an ancestor of the branch. Readers therefore never see a partial run. If two runs start from the same
checkpoint, only one of them can publish. If Spark's driver is in this process, publishing takes two commits in addition
to the rows: one creates the branch, and the other fast-forwards main, drops the branch and writes the checkpoint's
property. With SQL alone, each of these steps is a commit. A cherry-pick would need fewer commits, but it is not used,
because it replays an append on any current ``main``, even after a replacement or rollback.

The statements name the branch explicitly, ``t.`branch_ip_7_…```, so that their target does not depend on table
properties and settings. After each statement, the table is loaded to check that the branch has moved by exactly the
commits of the run.

Session settings are always reset, because a summary property of a session is written to all its later commits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..capture.logic_change import LOGIC_KEY, Logic
from ..capture.run import Run
from ..capture.run_plan import RunPlan
from ..errors import IncrementalError, StatementError
from ..explain import metadata_errors, race_errors
from ..metadata import MetadataReader
from ..plan.learned import KEY as LEARNED_KEY
from ..plan.learned import NOTHING
from ..plan.session_settings import SUMMARY_SETTING
from ..spark.port import Spark, under
from ..table.checkpoint import KEY, PARTIAL_BUILD_KEY, UPDATE_METHOD_KEY, Checkpoint
from ..table.commits import PART_KEY, written
from ..table.history import History, Snapshot, TableName
from ..table.own_names import is_dead
from .commit_conflicts import attempts, explaining_refusals, is_commit_conflict, may_be_conflict
from .fence import Fence
from .sql_refs import RunCommits, SqlRefs

FollowUp = Callable[[History, Snapshot], str]
"""Returns a second statement, given the staged target and the commit of the first statement. Raises IncrementalError if
the rows of the first statement must not be published."""

Check = Callable[[], None]
"""Raises IncrementalError if the staged rows must not be published."""

_FORMAT_VERSION = "format-version"
_NO_MORE: Mapping[str, str] = MappingProxyType({})
_LOST_PARTITION = re.compile(r"Cannot find field \d+: .* in struct<")
"""Iceberg's message for rows that it cannot delete in place. See ``History.modes_to_rewrite``."""


@dataclass(frozen=True)
class Published:
    """A run's commit: the checkpoint, and the snapshot of the target that contains the rows.

    ``snapshot``: None if only the checkpoint moved, without a snapshot. ``rows``: the number of rows that the model's
    statement wrote.
    """

    checkpoint: Checkpoint
    snapshot: Snapshot | None
    rows: int = 0


class Publisher:
    """Commits the runs of one connection. ``spark``: executes the statements. ``reader``: reads their results."""

    def __init__(self, spark: Spark, reader: MetadataReader) -> None:
        self._spark = spark
        self._fence = Fence(reader)
        self._refs = SqlRefs(spark, reader)
        self._commits: RunCommits = spark.commits or self._refs

    def rebuild(
        self,
        run: Run,
        sql: str,
        properties: Mapping[str, Any] = MappingProxyType({}),
        built: Callable[[int], None] = lambda rows: None,
    ) -> Published:
        """Execute a CREATE OR REPLACE TABLE AS statement that includes the checkpoint.

        The epoch continues that of the replaced table. A late write to the property by a run of the replaced table
        therefore never counts as newer. ``properties``: the properties that the user has configured for the table.
        ``built``: called with the number of rows before the table's properties are written.
        Raises NotKeptError, which describes the rows in the table, if the catalog has created an older format version.
        """
        checkpoint = run.next_checkpoint()
        text = checkpoint.to_json()
        with under(self._spark, {SUMMARY_SETTING + KEY: text}), _explained(run):
            self._build(run, sql, text)
        # The current snapshot may be that of another rebuild, whose rows do not match this checkpoint.
        now = self._fence.loaded(run.plan)
        mine = _carrying(now, text)
        if mine is None:
            raise race_errors.not_in_main(now, run.plan.model)
        built(written(mine))
        self._mirror(run, checkpoint, mine, now.modes_to_rewrite())
        asked = str(properties.get(_FORMAT_VERSION, ""))
        if asked.isdecimal() and now.format_version < int(asked):
            raise metadata_errors.other_format_version(now, run.plan.model, int(asked))
        return Published(checkpoint, mine, written(mine))

    def build_partial(self, run: Run, sql: str) -> None:
        """Execute a CREATE OR REPLACE TABLE AS statement whose rows match no position of a source."""
        with under(self._spark, {SUMMARY_SETTING + PARTIAL_BUILD_KEY: "true"}), _explained(run):
            self._spark.send(sql)

    def apply(
        self,
        run: Run,
        sql: str,
        settings: Mapping[str, str],
        then: FollowUp | None = None,
        check: Check | None = None,
    ) -> Published:
        """Stage a statement and publish it. Retried if another writer commits in between.

        ``settings``: the session settings of the statement. ``then``: returns a second statement to publish with it.
        ``check``: called after all statements. Raises ConcurrentRunError if another run of the model has published
        since the capture, or if other writers commit during each attempt; ConfigError if live files are in partitions
        that INSERT OVERWRITE does not replace; and the errors of the statements. In these cases, nothing is published.
        Raises StagingError, which describes the rows in the table, if a statement has committed elsewhere than on the
        run's branch.
        """
        assert run.plan.target is not None
        checkpoint = run.next_checkpoint()
        head_before = run.plan.target.current_snapshot_id
        self._rewrite_files(run.plan.target.table, run.plan.target.modes_to_rewrite())
        for is_last in attempts():
            try:
                published = self._attempt(run, checkpoint, sql, settings, then, check)
            except StatementError as error:
                if not is_last and _LOST_PARTITION.search(str(error)) and self._rewrites_files_instead(run):
                    continue
                if not may_be_conflict(error):
                    with _explained(run):
                        raise
                now = self._fence.loaded(run.plan)
                self._fence.require_captured_checkpoint(run.plan, now, now.current_snapshot_id)
                if now.current_snapshot_id == head_before and not is_commit_conflict(error):
                    raise  # no other commit has caused the error, so it would recur
                head_before = now.current_snapshot_id
                if is_last:
                    raise race_errors.target_moved(now, run.plan.model) from error
            else:
                if published.snapshot is not None:
                    self._fence.require_whole(run.plan, published.snapshot)
                return published
        raise AssertionError("every attempt returns or raises")

    def advance(self, run: Run) -> Published:
        """Move the checkpoint past commits without rows, by writing the table property, which creates no snapshot.

        This needs no branch, because a concurrent run that publishes rows has the same epoch in its summary, and wins.
        Raises ConcurrentRunError if the checkpoint has moved, or was set manually, since the capture.
        """
        checkpoint = run.next_checkpoint()
        now = self._fence.loaded(run.plan)
        self._fence.require_captured_checkpoint(run.plan, now, now.current_snapshot_id)
        with _explained(run):
            self.set_checkpoint(now, checkpoint)
        return Published(checkpoint, None)

    def set_checkpoint(self, target: History, checkpoint: Checkpoint, logic: Logic | None = None) -> None:
        """Write a checkpoint for the target's current rows to the table property.

        ``logic``: the logic that is accepted for these rows, if it has changed.
        """
        text = checkpoint.mirrored(target.current_snapshot_id).to_json()
        self._commits.set_properties(target.table, {KEY: text, **_logic_property(logic, target)})

    def _build(self, run: Run, sql: str, text: str) -> None:
        """Execute a CREATE OR REPLACE TABLE AS statement. Retried if it failed although its commit is in the table.

        If the response of the catalog was lost, Iceberg may remove the manifests of the commit, so this table is not
        used. Also retried after a conflict with another commit, because it replaces the table in any state.
        """
        for is_last in attempts():
            try:
                self._spark.send(sql)
            except StatementError as error:
                if is_last or not (is_commit_conflict(error) or self._is_made(run, text)):
                    raise
            else:
                return

    def _is_made(self, run: Run, text: str) -> bool:
        """Whether the table has the commit of a rebuild, whose checkpoint is ``text``."""
        with suppress(IncrementalError):  # the original error is more useful
            return _carrying(self._fence.loaded(run.plan), text) is not None
        return False

    def _attempt(
        self,
        run: Run,
        checkpoint: Checkpoint,
        sql: str,
        settings: Mapping[str, str],
        then: FollowUp | None,
        check: Check | None,
    ) -> Published:
        """Stage and publish once. Raises the errors of the statements, including conflicts with other commits."""
        branch = run.plan.branch
        text = checkpoint.to_json()
        made = False
        try:
            # The branch exists before the first write. If the write created it, totals in summaries would start at 0.
            self._make_branch(run.plan)
            made = True
            with under(self._spark, settings):
                if then is not None:
                    with under(self._spark, {SUMMARY_SETTING + PART_KEY: str(checkpoint.epoch)}):
                        self._spark.send(sql)
                    sql = self._follow_up(run, checkpoint, then)
                # Only the last commit has the checkpoint, because the table may have duplicate rows before it.
                with under(self._spark, {SUMMARY_SETTING + KEY: text}):
                    self._spark.send(sql)
            if check is not None:
                check()
            staged = self._fence.loaded(run.plan)
            commits = self._fence.staged_commits(
                run.plan, staged, checkpoint, [KEY] if then is None else [PART_KEY, KEY]
            )
            if not commits:
                made = False  # this run drops the branch itself, so its absence is not an error
                self._refs.drop_branch(run.plan.name, branch)
                return self.advance(run)
            if run.plan.policy.strategy.replaces_partitions:
                self._fence.require_one_spec(run.plan, staged, commits[-1])
            dead = [name for name in staged.refs if is_dead(name, checkpoint.epoch)]
            self._forward(run, checkpoint, commits[-1], dead)
        except BaseException as error:
            if made and isinstance(error, IncrementalError):
                self._fence.require_branch(run.plan, branch, error)
            with suppress(IncrementalError):  # report the first error; a remaining branch is harmless
                self._refs.drop_branch(run.plan.name, branch)
            raise
        return Published(checkpoint, commits[-1], written(commits[0]))

    def _make_branch(self, plan: RunPlan) -> None:
        """Create the branch of a run at the current snapshot.

        Raises NotKeptError if the catalog does not keep it: some catalogs report success, and would then publish each
        statement at once. Raises ConcurrentRunError if another run has won and dropped the branch.
        """
        if not self._commits.make_branch(plan.name, plan.branch):
            self._fence.require_kept_branch(plan)

    def _follow_up(self, run: Run, checkpoint: Checkpoint, then: FollowUp) -> str:
        """The second statement, given the commit of the first."""
        staged = self._fence.loaded(run.plan)
        (first,) = self._fence.staged_commits(run.plan, staged, checkpoint, [PART_KEY])
        return then(staged, first)

    def _forward(self, run: Run, checkpoint: Checkpoint, head: Snapshot, dead: Sequence[str]) -> None:
        """Publish the newest commit of the run's branch, drop the ``dead`` branches, and write the properties."""
        table, properties = run.plan.name, _properties(run, checkpoint, head)
        try:
            self._commits.publish(table, run.plan.branch, dead, properties)
        except StatementError:
            now = self._fence.loaded(run.plan)
            if not now.is_ancestor(head.snapshot_id, of=now.current_snapshot_id):
                raise
            self._refs.finish(table, dead, properties)  # the commit succeeded, and only its response was lost

    def _mirror(
        self, run: Run, checkpoint: Checkpoint, head: Snapshot | None, more: Mapping[str, str] = _NO_MORE
    ) -> None:
        """Write the properties. Ignores errors, because the checkpoint in the summary is authoritative."""
        with suppress(IncrementalError):
            self._commits.set_properties(run.plan.name, {**_properties(run, checkpoint, head), **more})

    def _rewrites_files_instead(self, run: Run) -> bool:
        """Let statements rewrite files, after one could not delete rows in place. False if they already do.

        This is for metadata that Spark reads, which do not show the columns of partition specs.
        """
        modes = self._fence.loaded(run.plan).modes_to_rewrite(is_lost=True)
        self._rewrite_files(run.plan.name, modes)
        return bool(modes)

    def _rewrite_files(self, table: TableName, modes: Mapping[str, str]) -> None:
        if modes:
            self._commits.set_properties(table, modes)


def _properties(run: Run, checkpoint: Checkpoint, head: Snapshot | None) -> Mapping[str, str]:
    """The table properties that describe a run's rows, whose snapshot is ``head``."""
    text = checkpoint.mirrored(None if head is None else head.snapshot_id).to_json()
    known = run.plan.target.properties if run.plan.target is not None else {}
    update_method = (
        {}
        if known.get(UPDATE_METHOD_KEY, "") == run.state.update_method
        else {UPDATE_METHOD_KEY: run.state.update_method}
    )
    before = known.get(LEARNED_KEY, NOTHING.to_json())
    now = before if run.state.learned is None else run.state.learned.to_json()
    learned = {} if now == before else {LEARNED_KEY: now}
    return {KEY: text, **_logic_property(run.plan.logic, run.plan.target), **update_method, **learned}


def _logic_property(logic: Logic | None, target: History | None) -> Mapping[str, str]:
    """The property with the logic of a table's newest rows. Empty if it is unchanged or too long."""
    text = None if logic is None else logic.encoded()
    if text is None or (target is not None and target.properties.get(LOGIC_KEY) == text):
        return {}
    return {LOGIC_KEY: text}


@contextmanager
def _explained(run: Run) -> Iterator[None]:
    """Raises a clearer error for a request that the catalog refuses, or that it cannot fulfill as configured."""
    try:
        with explaining_refusals(run.plan.name, run.plan.model):
            yield
    except StatementError as error:
        known = metadata_errors.of_build(error, run.plan.name, run.plan.model)
        if known is None:
            raise
        raise known from error


def _carrying(history: History, checkpoint: str) -> Snapshot | None:
    """The newest snapshot of main with this checkpoint in its summary."""
    return next((s for s in history.ancestors(history.current_snapshot_id) if s.summary.get(KEY) == checkpoint), None)

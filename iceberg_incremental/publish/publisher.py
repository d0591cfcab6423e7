"""Committing a run (IpCommit): the rows and the checkpoint in one atomic commit, behind a fence.

A rebuild is one CREATE OR REPLACE TABLE AS, which is atomic by itself. Everything else is staged on a branch of the
run's own and published by ``fast_forward``, which Iceberg does as a compare-and-swap on the whole table metadata and
refuses unless ``main`` is an ancestor of the branch. So nothing half-done can be read, and of two runs that started
from the same checkpoint only one can publish. That takes two commits beside the rows where Spark's driver is in this
process: one makes the branch, and one forwards main, drops the branch and writes the checkpoint's property. By SQL
alone, each of these is a commit. A cherry-pick would spare some, but replays an append onto whatever ``main`` has
become, a table that was meanwhile replaced or rolled back too; that is why it is not used.

The statements name the branch themselves, ``t.`branch_ip_7_…```, so that where they write depends on no table property
and on no setting. After each the table is loaded: the branch must have moved by exactly the commits of the run.

Session settings are reset in ``finally``. A summary property that is set for a session lands on every commit of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..capture.logic_change import LOGIC_KEY, Logic
from ..capture.run import Run
from ..errors import IncrementalError, StatementError
from ..explain import race_errors
from ..metadata import MetadataReader
from ..plan.session_settings import SUMMARY_SETTING
from ..spark.port import Spark, under
from ..sql import sql_name, sql_properties, sql_string
from ..table.checkpoint import KEY, PARTIAL_BUILD_KEY, UPDATE_METHOD_KEY, Checkpoint
from ..table.commits import PART_KEY, written
from ..table.history import History, Snapshot, TableName
from ..table.own_names import is_dead
from .commit_conflicts import is_commit_conflict
from .fence import Fence

FollowUp = Callable[[History, Snapshot], str]
"""Gives a second statement, from the target as it was staged and the commit of the first statement.

Raises IncrementalError where the rows of the first statement must not be published.
"""

Check = Callable[[], None]
"""Raises IncrementalError where what was staged must not be published."""

_ATTEMPTS = 4
# What Iceberg says where a commit conflicts with another one.
_CONFLICT = re.compile(
    r"CommitFailedException|ValidationException|Found conflicting|Missing required files to delete|Cannot commit"
    r"|Cannot fast-forward|Ref does not exist|Table metadata refresh is required"
)


@dataclass(frozen=True)
class Published:
    """What a run has committed: the checkpoint, and the snapshot of the target that holds the rows.

    ``snapshot`` is None where no snapshot was made, because only the checkpoint moved. ``rows``: how many the model's
    statement wrote.
    """

    checkpoint: Checkpoint
    snapshot: Snapshot | None
    rows: int = 0


class Publisher:
    """Commits the runs of one connection: ``spark`` runs the statements, ``reader`` looks at what came of them."""

    def __init__(self, spark: Spark, reader: MetadataReader) -> None:
        self._spark = spark
        self._fence = Fence(reader)

    def rebuild(self, run: Run, sql: str) -> Published:
        """Run a CREATE OR REPLACE TABLE AS that carries the checkpoint.

        The epoch continues that of the table which is replaced, so that what a run of the replaced table still
        writes to the property is never taken for newer.
        """
        checkpoint = run.next_checkpoint()
        text = checkpoint.to_json()
        with under(self._spark, {SUMMARY_SETTING + KEY: text}):
            self._build(run, sql, text)
        # Another rebuild may be the head by now: its rows are not those of this checkpoint.
        now = self._fence.loaded(run.plan)
        mine = _carrying(now, text)
        if mine is None:
            raise race_errors.not_in_main(now, run.plan.model)
        self._mirror(run, checkpoint, mine)
        return Published(checkpoint, mine, written(mine))

    def build_partial(self, run: Run, sql: str) -> None:
        """Run a CREATE OR REPLACE TABLE AS whose rows stand for no position of any source."""
        with under(self._spark, {SUMMARY_SETTING + PARTIAL_BUILD_KEY: "true"}):
            self._spark.send(sql)

    def apply(
        self,
        run: Run,
        sql: str,
        settings: Mapping[str, str],
        then: FollowUp | None = None,
        check: Check | None = None,
    ) -> Published:
        """Stage a statement and publish it, again if a commit that is no run of this model came between.

        ``settings``: session settings that it needs. ``then``: gives a second statement to be published with it.
        ``check``: is called when all statements have run.
        Raises ConcurrentRunError where another run of the model has published since the capture, or where the target
        did not come to rest; ConfigError where live files lie in partitions that an INSERT OVERWRITE does not replace;
        and whatever the statement raises. Nothing is published then. Raises StagingError, which says what is in the
        table, where a statement has written elsewhere than on the run's branch.
        """
        assert run.plan.target is not None
        checkpoint = run.next_checkpoint()
        head_before = run.plan.target.current_snapshot_id
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                published = self._attempt(run, checkpoint, sql, settings, then, check)
            except StatementError as error:
                if _CONFLICT.search(str(error)) is None:
                    raise
                now = self._fence.loaded(run.plan)
                self._fence.require_captured_checkpoint(run.plan, now, now.current_snapshot_id)
                if now.current_snapshot_id == head_before and not is_commit_conflict(error):
                    raise  # no other commit has caused it, so it would come again
                head_before = now.current_snapshot_id
                if attempt == _ATTEMPTS:
                    raise race_errors.target_moved(now, run.plan.model) from error
            else:
                if published.snapshot is not None:
                    self._fence.require_whole(run.plan, published.snapshot)
                return published
        raise AssertionError("every attempt returns or raises")

    def advance(self, run: Run) -> Published:
        """Move the checkpoint over commits that brought no rows: one property write, no snapshot.

        It needs no branch: a run that publishes rows at the same time carries the same epoch in its summary, and wins.
        Raises ConcurrentRunError where the checkpoint has moved, or was set by hand, since the capture.
        """
        checkpoint = run.next_checkpoint()
        now = self._fence.loaded(run.plan)
        self._fence.require_captured_checkpoint(run.plan, now, now.current_snapshot_id)
        self.set_checkpoint(now, checkpoint)
        return Published(checkpoint, None)

    def set_checkpoint(self, target: History, checkpoint: Checkpoint, logic: Logic | None = None) -> None:
        """Write a checkpoint for the target's rows as they are, into the table property.

        ``logic``: the one that is accepted for them, if it is another one than before.
        """
        text = checkpoint.mirrored(target.current_snapshot_id).to_json()
        self._set_properties(target.table, {KEY: text, **_logic_property(logic, target)})

    def _build(self, run: Run, sql: str, text: str) -> None:
        """Run a CREATE OR REPLACE TABLE AS, again where it was carried out and only its answer was lost.

        Iceberg may take that for a failure, and its transactions remove the manifests of what has failed: what is there
        is not relied on.
        """
        try:
            self._spark.send(sql)
        except StatementError:
            made = None
            with suppress(IncrementalError):  # the error at hand says more
                made = _carrying(self._fence.loaded(run.plan), text)
            if made is None:
                raise
            self._spark.send(sql)

    def _attempt(
        self,
        run: Run,
        checkpoint: Checkpoint,
        sql: str,
        settings: Mapping[str, str],
        then: FollowUp | None,
        check: Check | None,
    ) -> Published:
        """Stage and publish once. Raises what the statements raise, a conflict with another commit included."""
        branch = run.plan.branch
        text = checkpoint.to_json()
        made = False
        try:
            # A branch that the first write makes by itself would start the totals in its summaries at zero.
            self._make_branch(run.plan.name, branch)
            made = True
            with under(self._spark, settings):
                if then is not None:
                    with under(self._spark, {SUMMARY_SETTING + PART_KEY: str(checkpoint.epoch)}):
                        self._spark.send(sql)
                    sql = self._follow_up(run, checkpoint, then)
                with under(
                    self._spark, {SUMMARY_SETTING + KEY: text}
                ):  # on the last commit: before it, rows are double
                    self._spark.send(sql)
            if check is not None:
                check()
            staged = self._fence.loaded(run.plan)
            commits = self._fence.staged_commits(
                run.plan, staged, checkpoint, [KEY] if then is None else [PART_KEY, KEY]
            )
            if not commits:
                made = False  # from here on it is this run that drops it
                self._drop_branches(run, [branch])
                return self.advance(run)
            if run.plan.policy.strategy.replaces_partitions:
                self._fence.require_one_spec(run.plan, staged, commits[-1])
            dead = [name for name in staged.refs if is_dead(name, checkpoint.epoch)]
            self._forward(run, checkpoint, commits[-1], dead)
        except BaseException as error:
            if made and isinstance(error, IncrementalError):
                self._fence.require_branch(run.plan, branch, error)
            with suppress(IncrementalError):  # the first error is the one to show; a branch that stays is harmless
                self._drop_branches(run, [branch])
            raise
        if self._spark.commits is None:
            with suppress(IncrementalError):  # the rows are published; a branch that stays goes with the next run
                self._drop_branches(run, dead)
            self._mirror(run, checkpoint, commits[-1])
        return Published(checkpoint, commits[-1], written(commits[0]))

    def _make_branch(self, table: TableName, branch: str) -> None:
        commits = self._spark.commits
        if commits is None:
            self._spark.send(f"ALTER TABLE {table.sql} CREATE OR REPLACE BRANCH {sql_name(branch)}")
        else:
            commits.make_branch(table, branch)

    def _follow_up(self, run: Run, checkpoint: Checkpoint, then: FollowUp) -> str:
        """The second statement, given the commit of the first."""
        staged = self._fence.loaded(run.plan)
        (first,) = self._fence.staged_commits(run.plan, staged, checkpoint, [PART_KEY])
        return then(staged, first)

    def _forward(self, run: Run, checkpoint: Checkpoint, head: Snapshot, dead: Sequence[str]) -> None:
        """Publish the head of the run's branch.

        Where one commit can hold all of it, also drop the ``dead`` branches and write the property.
        """
        table, branch, commits = run.plan.name, run.plan.branch, self._spark.commits
        try:
            if commits is None:
                catalog = sql_name(table.catalog)
                self._spark.send(f"CALL {catalog}.system.fast_forward({sql_string(table.sql)}, 'main', '{branch}')")
            else:
                commits.publish(table, branch, dead, _properties(run, checkpoint, head))
        except StatementError:
            now = self._fence.loaded(run.plan)
            if not now.is_ancestor(head.snapshot_id, of=now.current_snapshot_id):
                raise  # else the call was carried out, and only its answer was lost

    def _mirror(self, run: Run, checkpoint: Checkpoint, head: Snapshot | None) -> None:
        """Write the property. The summary holds the truth, so the rows stand whether or not this succeeds."""
        with suppress(IncrementalError):
            self._set_properties(run.plan.name, _properties(run, checkpoint, head))

    def _drop_branches(self, run: Run, branches: list[str]) -> None:
        for branch in branches:
            self._spark.send(f"ALTER TABLE {run.plan.name.sql} DROP BRANCH IF EXISTS {sql_name(branch)}")

    def _set_properties(self, table: TableName, properties: Mapping[str, str]) -> None:
        self._spark.send(f"ALTER TABLE {table.sql} SET TBLPROPERTIES {sql_properties(properties)}")


def _properties(run: Run, checkpoint: Checkpoint, head: Snapshot | None) -> Mapping[str, str]:
    """What describes a run's rows, whose snapshot is ``head``, as table properties."""
    text = checkpoint.mirrored(None if head is None else head.snapshot_id).to_json()
    known = run.plan.target.properties if run.plan.target is not None else {}
    update_method = (
        {}
        if known.get(UPDATE_METHOD_KEY, "") == run.state.update_method
        else {UPDATE_METHOD_KEY: run.state.update_method}
    )
    return {KEY: text, **_logic_property(run.plan.logic, run.plan.target), **update_method}


def _logic_property(logic: Logic | None, target: History | None) -> Mapping[str, str]:
    """The property with the logic of a table's newest rows; nothing where it is there already, or too long."""
    text = None if logic is None else logic.encoded()
    if text is None or (target is not None and target.properties.get(LOGIC_KEY) == text):
        return {}
    return {LOGIC_KEY: text}


def _carrying(history: History, checkpoint: str) -> Snapshot | None:
    """The newest snapshot of main whose summary has this checkpoint."""
    return next((s for s in history.ancestors(history.current_snapshot_id) if s.summary.get(KEY) == checkpoint), None)

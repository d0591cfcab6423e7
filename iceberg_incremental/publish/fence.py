"""The fence: the conditions for publishing a run's rows, checked in the target's metadata only.

If two runs start from the same checkpoint, only one of them may publish, and only the rows that it staged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from ..capture.run_plan import RunPlan
from ..capture.target_checkpoint import target_checkpoint
from ..errors import ConcurrentRunError, IncrementalError, StatementError
from ..explain import metadata_errors, race_errors, target_errors
from ..metadata import MetadataReader
from ..table.checkpoint import KEY, Checkpoint
from ..table.commits import PART_KEY
from ..table.history import MAIN, History, Snapshot
from ..table.retention import older_metadata_files


class Fence:
    """Checks the targets of runs, and raises an error if a run must stop. ``reader``: reads their metadata."""

    def __init__(self, reader: MetadataReader) -> None:
        self._reader = reader

    def loaded(self, plan: RunPlan) -> History:
        """The current history of the run's target. Raises ConcurrentRunError if it was dropped."""
        history = self._reader.load(plan.name)
        if history is None:
            raise race_errors.target_gone(plan.name, plan.model)
        return history

    def require_captured_checkpoint(self, plan: RunPlan, history: History, snapshot_id: int | None) -> None:
        """Raise an error unless the checkpoint at a snapshot of the target is the one from which the run started.

        A history table and the table of a dbt snapshot may have no checkpoint.
        """
        captured = plan.checkpoint or plan.replaced
        state = target_checkpoint(replace(history, current_snapshot_id=snapshot_id), self._reader)
        found = state.checkpoint
        if captured is None and found is None:
            return
        if found is not None and captured is not None and _is_same(found, captured):
            return
        unproven = state.unproven
        if captured and unproven and _is_same(unproven, captured) and not state.has_whole_history:
            kept = older_metadata_files(history.properties)
            raise target_errors.proof_lost(plan.name, plan.model, captured, kept)
        raise race_errors.lost_race(plan.name, plan.model, captured, found)

    def staged_commits(
        self, plan: RunPlan, staged: History, checkpoint: Checkpoint, marks: Sequence[str]
    ) -> tuple[Snapshot, ...]:
        """The run's commits on its branch, oldest first: one for each statement so far.

        Empty if the only statement had nothing to commit, such as an INSERT OVERWRITE without rows. ``marks``: the
        summary key that identifies each commit. Raises ConcurrentRunError if another run has won, StagingError if
        commits are missing or in the wrong place, and StatementError if main has moved since the branch was created.
        """
        branch, text = plan.branch, checkpoint.to_json()
        if branch not in staged.refs:
            raise self._lost(plan, staged)
        head = staged.snapshots[staged.refs[branch]]
        self._require_nothing_on_main(plan, staged, text)

        def is_own(snapshot: Snapshot) -> bool:
            return snapshot.summary.get(PART_KEY) == str(checkpoint.epoch) or snapshot.summary.get(KEY) == text

        main = {snapshot.snapshot_id for snapshot in staged.ancestors(staged.current_snapshot_id)}
        above = [s for s in staged.ancestors(head.snapshot_id) if s.snapshot_id not in main]
        own = list(takewhile(is_own, above))[::-1]
        base = own[0].parent_id if own else head.snapshot_id
        if not main and base == above[-1].snapshot_id:
            base = None  # main has no snapshot, so the branch starts with an empty one
        self.require_captured_checkpoint(plan, staged, base)
        if staged.current_snapshot_id != base:
            # Iceberg would fast-forward a main branch that was rolled back, and thereby undo the rollback.
            raise StatementError("Cannot fast-forward: main has moved since the rows were staged")
        if [KEY if KEY in snapshot.summary else PART_KEY for snapshot in own] == marks:
            return tuple(own)
        aside = [s for s in staged.snapshots.values() if s.summary.get(KEY) == text and s not in own]
        if not own and not aside and plan.policy.strategy.replaces_partitions:
            return ()
        raise race_errors.not_on_the_branch(staged, plan.model, branch, len(marks), own, aside)

    def require_one_spec(self, plan: RunPlan, staged: History, head: Snapshot) -> None:
        """Raise ConfigError if live data files use other specs, which INSERT OVERWRITE does not replace."""
        specs = self._reader.live_specs(staged, head.snapshot_id)
        if len(specs) > 1:
            raise target_errors.other_specs(plan.name, plan.model, specs)

    def require_whole(self, plan: RunPlan, head: Snapshot) -> None:
        """Raise an error unless main has exactly the commits of this run that were checked.

        Raises ConcurrentRunError if main does not have them, and StagingError if it has another commit of this run.
        """
        now = self.loaded(plan)
        if not now.is_ancestor(head.snapshot_id, of=now.current_snapshot_id):
            raise race_errors.not_in_main(now, plan.model)
        text = head.summary[KEY]
        carrying = (s for s in now.ancestors(now.current_snapshot_id) if s.summary.get(KEY) == text)
        later = [s for s in carrying if s.snapshot_id != head.snapshot_id]
        again = target_checkpoint(now, self._reader).half_published or (later[0] if later else None)
        if again is not None:
            raise race_errors.published_twice(now, plan.model, head, again)

    def require_kept_branch(self, plan: RunPlan) -> None:
        """Raise an error unless the catalog has kept the new branch of a run.

        Raises NotKeptError, or ConcurrentRunError if another run has won and dropped the branch.
        """
        now = self.loaded(plan)
        if plan.branch in now.refs:
            return
        self.require_captured_checkpoint(plan, now, now.current_snapshot_id)
        if now.refs.keys() <= {MAIN}:
            raise metadata_errors.keeps_no_branches(now, plan.model, plan.branch)
        raise race_errors.branch_dropped(now, plan.model)

    def require_branch(self, plan: RunPlan, branch: str, error: IncrementalError) -> None:
        """Raise ConcurrentRunError if the branch no longer exists, because this is then the cause of ``error``."""
        try:
            staged = self.loaded(plan)
        except IncrementalError:
            return  # the original error is more useful
        if branch not in staged.refs:
            raise self._lost(plan, staged) from error

    def _require_nothing_on_main(self, plan: RunPlan, staged: History, text: str) -> None:
        """Raise StagingError if a staged statement has committed to main, without the rest of the run."""
        found = target_checkpoint(staged, self._reader).half_published
        if found is None:
            found = next((s for s in staged.ancestors(staged.current_snapshot_id) if s.summary.get(KEY) == text), None)
        if found is not None:
            raise race_errors.on_main(staged, plan.model, found)

    def _lost(self, plan: RunPlan, now: History) -> ConcurrentRunError:
        """The error of a run whose branch no longer exists, usually because another run of this epoch has won."""
        try:
            self.require_captured_checkpoint(plan, now, now.current_snapshot_id)
        except ConcurrentRunError as error:
            return error
        return race_errors.branch_dropped(now, plan.model)


def _is_same(found: Checkpoint, captured: Checkpoint) -> bool:
    """Whether a checkpoint is the one from which a run started.

    Copies of one checkpoint may differ in ``target_snapshot_id`` and, in a clone, in the names of cloned sources.
    """
    mine, its = ((each.epoch, each.invocation_id, Counter(each.sources.values())) for each in (captured, found))
    return mine == its

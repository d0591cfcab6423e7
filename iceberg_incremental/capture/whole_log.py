"""Whether a log still has all events of a history table, which is required to rebuild the table."""

from __future__ import annotations

from collections.abc import Collection

from ..explain import history_errors
from ..table.checkpoint import Checkpoint, Position
from ..table.commits import Effect, effect
from ..table.history import TableName
from .cuts import Cuts
from .run_plan import RunPlan


def require_whole_log(
    run: RunPlan, checkpoint: Checkpoint | None, cuts: Cuts, parents: Collection[TableName] | None
) -> None:
    """Raise CheckpointError if a rebuild of a history would lose versions, because its log may be incomplete.

    ``checkpoint``: the current checkpoint of the table. ``parents``: the tables that the model's SQL refers to, if
    known.
    """
    if checkpoint is None:
        found: str | None = "no checkpoint that records what was read"
    elif checkpoint.history is None or checkpoint.sequence is None:
        found = "versions that were not created from a log"
    elif not checkpoint.history.has_whole_log:
        found = "a run that may have skipped commits of the log, or a position that was set by hand"
    else:
        reasons = (
            _why_incomplete(name, position, cuts, parents)
            for name, position in checkpoint.sources.items()
            if not position.as_of
        )
        found = next((reason for reason in reasons if reason is not None), None)
    if found is not None:
        of_log = checkpoint is not None and checkpoint.history is not None and checkpoint.sequence is not None
        raise history_errors.log_incomplete(run.name, run.model, found, can_continue=of_log)


def _why_incomplete(name: str, position: Position, cuts: Cuts, parents: Collection[TableName] | None) -> str | None:
    """Why a log may no longer have all events that it had at a position, as text. None if it has them all."""
    table = TableName.parse(name)
    if table is None or (parents is not None and table not in parents):
        return f"{name} is not read any more"
    if position.snapshot_id is None:  # the log was empty
        return None
    cut = cuts.of(table)
    if cut is None or cut.end is None:
        return f"{name} has no rows"
    if cut.history.table_uuid != position.table_uuid:
        return f"{name} is another table than the one that was read"
    commits = cut.history.commits_since(position.snapshot_id, cut.end)
    if commits is None:
        return f"{name} does not come from snapshot {position.snapshot_id}, up to which it was read"
    changed = [commit.snapshot_id for commit in commits if effect(commit) is Effect.REWRITE]
    return f"snapshot {changed[0]} of {name} changed or deleted rows" if changed else None

"""Whether a log still has all events that a history table was made of: only then may the table be built again."""

from __future__ import annotations

from collections.abc import Collection

from ..explain import history_errors
from ..table.checkpoint import Checkpoint, Position
from ..table.commits import Effect, effect, is_first
from ..table.history import History, Snapshot, TableName
from .cuts import Cuts
from .run_plan import RunPlan


def require_whole_log(
    run: RunPlan, checkpoint: Checkpoint | None, cuts: Cuts, parents: Collection[TableName] | None
) -> None:
    """Raise CheckpointError where a rebuild of a history would lose versions that its log may not have any more.

    ``checkpoint``: in force for the table that would be replaced. ``parents``: the tables that the model's SQL refers
    to, where that is known.
    """
    if checkpoint is None:
        found: str | None = "no checkpoint that says what was read"
    elif checkpoint.history is None or checkpoint.sequence is None:
        found = "versions that were not made of a log"
    else:
        found = None
        for name, position in checkpoint.sources.items():
            if not position.as_of:
                found = found or _why_incomplete(name, position, cuts, parents, checkpoint.history.has_whole_log)
    if found is not None:
        raise history_errors.log_incomplete(run.name, run.model, found)


def _why_incomplete(
    name: str, position: Position, cuts: Cuts, parents: Collection[TableName] | None, was_whole: bool
) -> str | None:
    table = TableName.parse(name)
    if table is None or (parents is not None and table not in parents):
        return f"{name} is not read any more"
    cut = cuts.of(table)
    if cut is None:
        return f"{name} does not exist"
    return why_incomplete(cut.history, cut.end, position, was_whole=was_whole)


def why_incomplete(history: History, end: Snapshot | None, position: Position, *, was_whole: bool) -> str | None:
    """Why a log may not have all events any more that were read of it, in words; None where it has them.

    ``history``, ``end``: the log as it is read now; ``position``: up to where it was read. ``was_whole``: whether it
    had all events at that position. Then later commits matter alone; else all of them do.
    """
    if was_whole and position.snapshot_id is None:
        return None
    if history.table_uuid != position.table_uuid:
        return f"{history.table} is another table than the one that was read"
    commits = None if end is None else history.commits_since(position.snapshot_id, end)
    if commits is None:
        return f"{history.table} does not come from snapshot {position.snapshot_id}, up to which it was read"
    if not was_whole:
        commits = list(history.ancestors(None if end is None else end.snapshot_id))
    changed = [commit.snapshot_id for commit in commits if effect(commit) is Effect.REWRITE]
    if changed:
        return f"snapshot {changed[0]} of {history.table} changed or deleted rows"
    if not was_whole and commits and not is_first(commits[-1]):
        return f"runs may have passed over commits of {history.table}, and its first ones have expired"
    return None

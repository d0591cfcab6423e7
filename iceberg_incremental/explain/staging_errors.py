"""The errors of commits that are not on the staging branch of their run."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import StagingError
from ..quantities import counted
from ..sql import sql_name, sql_string
from ..table.history import History, Snapshot, TableName
from .wording import again, described, rebuild, set_checkpoint_command, set_checkpoint_ways, short

_CAUSES = "spark.wap.id or spark.wap.branch in the session or a hook, or a statement that was executed twice"


def not_on_the_branch(
    history: History,
    model: str,
    branch: str,
    statements: int,
    own: Sequence[Snapshot],
    held_back: Sequence[Snapshot],
) -> StagingError:
    """The run's branch does not have one commit for each statement. The table is unchanged."""
    detached = f", and {counted(len(held_back), 'snapshot')} of this run on no branch" if held_back else ""
    return StagingError(
        f"The rows of {model} were not published: branch {branch} of {history.table} does not have one commit for "
        "each statement.",
        expected=f"{counted(statements, 'commit')} of this run on the branch, one for each statement.",
        found=f"{counted(len(own), 'commit')}{detached}.",
        state="The table is unchanged.",
        fix=f"find and remove the cause, which may be {_CAUSES}. Then run the model again.",
    ).named("not-on-the-branch")


def on_main(history: History, model: str, found: Snapshot) -> StagingError:
    """A commit of a run was on main before the run was published."""
    return StagingError(
        f"{history.table} contains only a part of a run of {model}: a statement that should have been staged on a "
        "branch was committed to main.",
        expected="no commit on main until the whole run is published.",
        found=f"{described(found)}, which that run committed, with {counted(_since(history, found), 'commit')} after "
        "it.",
        state="No checkpoint covers its rows.",
        fix=_ways(history.table, model, found),
    ).named("on-main")


def half_published(history: History, model: str, found: Snapshot) -> StagingError:
    """The target contains only a part of an earlier run."""
    return StagingError(
        f"{history.table} contains only a part of an earlier run of {model}.",
        expected="after each commit with ip.part-of-epoch in its summary, a commit with the checkpoint of that run.",
        found=f"{described(found)}, followed by {counted(_since(history, found), 'commit')} without a checkpoint of "
        "that run.",
        state="Its rows may be duplicated, or replaced only in part.",
        fix=_ways(history.table, model, found),
    ).named("half-published")


def published_twice(history: History, model: str, head: Snapshot, again: Snapshot) -> StagingError:
    """A statement of a published run was executed again after the run was checked."""
    return StagingError(
        f"{model} was published, but {history.table} has a second commit of one of its statements, with duplicate "
        "rows.",
        expected=f"{described(head)} as the last commit of this run.",
        found=f"{described(again)} of the same run.",
        fix=f"if nothing was committed after these commits, run `{_rollback(history.table, head.snapshot_id)}`; "
        f"otherwise {rebuild(model)}.",
    ).named("published-twice")


def _since(history: History, found: Snapshot) -> int:
    """The number of commits on main that are newer than a snapshot."""
    ids = [snapshot.snapshot_id for snapshot in history.ancestors(history.current_snapshot_id)]
    return ids.index(found.snapshot_id) if found.snapshot_id in ids else len(ids)


def _ways(table: TableName, model: str, found: Snapshot) -> list[str]:
    undo = f"undo this commit and all later commits, and {again()}"
    return [
        *([] if found.parent_id is None else [f"{undo}: `{_rollback(table, found.parent_id)}`"]),
        rebuild(model),
        *set_checkpoint_ways(
            "if its rows are correct, set the model's position in its source", set_checkpoint_command(short(model))
        ),
    ]


def _rollback(table: TableName, snapshot_id: int) -> str:
    call = f"CALL {sql_name(table.catalog)}.system.rollback_to_snapshot"
    return f"{call}({sql_string(table.sql)}, {snapshot_id})"

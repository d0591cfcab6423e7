"""The errors of concurrent runs and writers: rows that were not published or were replaced, and staged commits."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ConcurrentRunError, StagingError
from ..quantities import counted
from ..sql import sql_name, sql_string
from ..table.checkpoint import Checkpoint
from ..table.history import History, Snapshot, TableName
from .caller import by_caller
from .wording import again, described, one_run_at_a_time, rebuild, set_checkpoint_command, set_checkpoint_ways, short


def lost_race(
    target: TableName, model: str, captured_from: Checkpoint | None, now: Checkpoint | None
) -> ConcurrentRunError:
    """Another run of the model has published since the capture."""
    expected = "no checkpoint, as when this run started"
    if captured_from is not None:
        expected = f"the checkpoint from which this run started, epoch {captured_from.epoch}"
    found = (
        f"no checkpoint of {by_caller('the model', 'the job', 'the job')} in its history: the table was replaced"
        if now is None
        else f"epoch {now.epoch} of invocation {now.invocation_id}"
    )
    return ConcurrentRunError(
        f"Another run of {model} changed {target} while this run was building.",
        expected=f"{expected}.",
        found=f"{found}.",
        state="This run published nothing.",
        fix=f"{again()}. The new run processes the remaining changes. To prevent this, {one_run_at_a_time()}.",
    ).named("lost-race")


def target_moved(history: History, model: str) -> ConcurrentRunError:
    """Other writers committed to the target during each attempt to publish."""
    return ConcurrentRunError(
        f"The rows of {model} could not be published: other writers committed to {history.table} during each attempt.",
        expected="no commit between the build and its publication.",
        found=f"{described(history.current)} at the head.",
        state="This run published nothing.",
        fix=f"{again()} when maintenance and other writers are idle.",
    ).named("target-moved")


def branch_dropped(history: History, model: str) -> ConcurrentRunError:
    """The branch with the run's staged rows no longer exists, and no other run has published."""
    return ConcurrentRunError(
        f"The rows of {model} could not be published: their branch of {history.table} no longer exists.",
        expected="a branch that only this run creates and drops, named ip_<epoch>_<id>.",
        found=f"no such branch, and {described(history.current)} at the head.",
        state="This run published nothing.",
        fix=f"{again()}. If this recurs, find the writer that drops the branch: maintenance must keep branches that "
        "are only minutes old, and no client may commit to the table in a way that drops branches, such as Nessie's "
        "REST protocol.",
    ).named("branch-dropped")


def not_in_main(history: History, model: str) -> ConcurrentRunError:
    """A run was committed, but its snapshot is not in the table's history."""
    return ConcurrentRunError(
        f"{model} was built, but its rows are not in the history of {history.table}.",
        expected="the snapshot of this build among the ancestors of the table's head.",
        found=f"{described(history.current)} at the head, which does not descend from it. Another run has replaced "
        "the table since, or the session sets spark.wap.id or spark.wap.branch, so the rows did not reach main, or "
        "the catalog did not make the commit that it reported as successful.",
        state="The table has no checkpoint of this build.",
        fix="make sure that only one run of the model is active at a time, and that neither the profile nor a "
        "sql_header has a spark.wap setting. Then run the model again.",
    ).named("not-in-main")


def target_gone(target: TableName, model: str) -> ConcurrentRunError:
    """The target was dropped during the run."""
    return ConcurrentRunError(
        f"{target} was dropped while {model} was building.",
        expected="the table that this run builds or continues.",
        found="no table of this name.",
        fix=f"find out who drops it, and {again()}.",
    ).named("target-gone")


def rows_changed(model: str) -> ConcurrentRunError:
    """The model's SQL returned different rows when it was executed again in the same run."""
    return ConcurrentRunError(
        f"The changes that the SQL of {model} returns differed when they were recomputed during the run.",
        expected="the same changes for each statement of the run.",
        found="different keys, or different changes for a key. Another writer has committed to a table that the SQL "
        "reads without pinning it, or the rows depend on the order in which Spark reads.",
        state="This run published nothing.",
        fix=f"{again()}. If it fails again, read every table of the SQL with an ip_ macro such as ip_as_of(), which "
        "pins it, and add an ORDER BY without ties to each LIMIT and window.",
    ).named("rows-changed")


def own_rows_changed(history: History, model: str) -> ConcurrentRunError:
    """Another writer changed rows of the target after the model computed new rows from them."""
    return ConcurrentRunError(
        f"{model} computes its rows from its own table, which another writer has changed during the run.",
        expected=f"no commit to {history.table} other than compaction during the run.",
        found=f"{described(history.current)} at the head.",
        state="This run published nothing.",
        fix=f"{again()}. The new run reads the changed rows.",
    ).named("own-rows-changed")


def audit_overtaken(table: TableName, model: str) -> ConcurrentRunError:
    """Another run of the model has dropped the table in which this run audits its rows."""
    return ConcurrentRunError(
        f"The rows of {model} were not published: another run of the model has dropped {table}, where they were "
        "audited.",
        expected="the snapshot that this run has written there.",
        found="no such snapshot.",
        state="The model's table and its checkpoint are unchanged.",
        fix=f"run the model again. To prevent this, {one_run_at_a_time()}.",
    ).named("audit-overtaken")


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

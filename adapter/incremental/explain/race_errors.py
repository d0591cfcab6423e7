"""The errors of runs that were overtaken: what each of them was to publish is not there."""

from __future__ import annotations

from ..errors import ConcurrentRunError
from ..table.checkpoint import Checkpoint
from ..table.history import History, TableName
from .wording import described


def lost_race(target: TableName, model: str, captured_from: Checkpoint, now: Checkpoint | None) -> ConcurrentRunError:
    """Another run of the model has published since the capture."""
    found = (
        "no checkpoint of the model in its history: the table was replaced"
        if now is None
        else f"epoch {now.epoch} of invocation {now.invocation_id}"
    )
    return ConcurrentRunError(
        f"Another run of {model} has changed {target} while this one was building.\n"
        f"  Expected: the checkpoint from which this run started, epoch {captured_from.epoch}.\n"
        f"  Found: {found}.\n"
        "  Nothing of this run was published. What to do: run the model again, it goes on with what remains; and let "
        "only one run of a model go at a time."
    )


def target_moved(history: History, model: str) -> ConcurrentRunError:
    """The target went on changing under the run, so that no attempt could be published."""
    return ConcurrentRunError(
        f"The rows of {model} could not be published: {history.table} was committed to by others during each attempt.\n"
        f"  Expected: no commit between the build and its publication.\n"
        f"  Found: {described(history.current)} at the head.\n"
        "  Nothing of this run was published. What to do: run the model again when maintenance and other writers rest."
    )


def branch_dropped(history: History, model: str) -> ConcurrentRunError:
    """The branch on which the run staged its rows is gone, and no other run has published."""
    return ConcurrentRunError(
        f"The rows of {model} could not be published: the branch of {history.table} that they were staged on is gone.\n"
        "  Expected: a branch that only this run makes and drops, named ip_<epoch>_<number>.\n"
        f"  Found: no such branch, and {described(history.current)} at the head.\n"
        "  Nothing of this run was published. What to do: run the model again; have maintenance leave branches alone "
        "that are minutes old."
    )


def not_in_main(history: History, model: str) -> ConcurrentRunError:
    """A rebuild was committed, but its snapshot is not in the table's history."""
    return ConcurrentRunError(
        f"{model} was built, but its rows are not in {history.table}.\n"
        "  Expected: the snapshot of this build among the ancestors of the table's head.\n"
        f"  Found: {described(history.current)} at the head, which does not come from it: another run has replaced the "
        "table since, or spark.wap.id or spark.wap.branch is set in the session and has held the rows back.\n"
        "  No checkpoint was written for this build. What to do: see that only one run of the model goes at a time and "
        "that no spark.wap setting is in the profile or in a sql_header, and run the model again."
    )


def target_gone(target: TableName, model: str) -> ConcurrentRunError:
    """The target was dropped under the run."""
    return ConcurrentRunError(
        f"{target} was dropped while {model} was building.\n"
        "  Expected: the table that this run builds or continues.\n"
        "  Found: no table of this name.\n"
        "  What to do: find out who drops it, and run the model again."
    )

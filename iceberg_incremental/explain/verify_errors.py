"""The errors of tables that cannot be compared with their rebuilds."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import IncomparableError
from ..quantities import instant
from ..table.checkpoint import Position
from ..table.history import TableName
from .history_errors import drops_history
from .wording import full_refresh


def nothing_to_compare(model: str, table: TableName, found: str) -> IncomparableError:
    """A table has no checkpoint, so the source snapshots of its rows are unknown."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: {table} {found}.",
        expected="a table with a checkpoint, which records the source snapshots of its rows.",
        found=f"{table} {found}.",
        fix="run the model.",
    ).named("nothing-to-compare")


def events_incomplete(model: str) -> IncomparableError:
    """The log of a history table may lack events from which versions in the table were created."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: its log may no longer have all events.",
        expected="a history whose runs have read each commit of the log since all versions were last built.",
        found="a run that may have skipped commits of the log, or a position that was set by hand.",
        fix=f"if the log still has all events, build all versions again: {drops_history(model)}",
    ).named("events-incomplete")


def snapshot_expired(source: TableName, model: str, position: Position) -> IncomparableError:
    """The source snapshot of a table's rows has expired."""
    time = "" if position.timestamp_ms is None else f" of {instant(position.timestamp_ms)}"
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: snapshot {position.snapshot_id} of {source} has expired.",
        expected="the snapshot up to which the model has read the source.",
        found=f"{source} without snapshot {position.snapshot_id}{time}.",
        fix="run the model, and verify it before the snapshot expires. hold_source: '2 days' keeps the snapshot with "
        "a tag in a source whose changes the model reads; a longer snapshot retention keeps the snapshots of every "
        "source.",
    ).named("snapshot-expired")


def source_replaced(source: TableName, model: str) -> IncomparableError:
    """A source was replaced since the model read it."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: {source} has been dropped and created again.",
        expected="the table that the model has read.",
        found=f"{source} with a table UUID that differs from the checkpoint's.",
        fix="run the model. By default, the run rebuilds it.",
    ).named("source-replaced")


def source_not_recorded(source: TableName, model: str) -> IncomparableError:
    """A model's SQL reads a source that its table's checkpoint does not contain."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: its SQL reads {source}, which its last run did not read.",
        expected="the sources that the checkpoint records.",
        found=f"no snapshot of {source} in the checkpoint: the SQL has changed since.",
        fix=full_refresh(model),
    ).named("source-not-recorded")


def nondeterministic_result(model: str, found: Sequence[str]) -> IncomparableError:
    """A model's code has a result that differs from build to build."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: the result of {', '.join(found)} differs from build to build.",
        expected="code whose result depends on the rows of the sources alone.",
        found=f"{', '.join(found)}.",
        fix="read the value from a column of a source. Otherwise, exclude the model.",
    ).named("nondeterministic-result")


def depends_on_own_rows(model: str) -> IncomparableError:
    """A model reads its own table, so its rows depend on its earlier runs."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: it reads its own table.",
        expected="code that reads only its sources.",
        found="{{ this }} in the code.",
        fix="exclude the model.",
    ).named("depends-on-own-rows")


def rebuild_failed(model: str, error: str) -> IncomparableError:
    """The query for a model's rebuild fails."""
    shown = "\n".join(f"    {line}" for line in error.splitlines())
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: the query for the rebuild fails.",
        expected="a query that succeeds, as in a first build of the model.",
        found=f"\n{shown}",
        fix="correct the cause that the error names. A full refresh of the model would also fail.",
    ).named("rebuild-failed")


def no_common_columns(model: str, table: TableName) -> IncomparableError:
    """A table has none of the columns that its model returns."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: {table} has none of the columns that its SQL returns.",
        expected="at least one common column with a comparable type.",
        found="none.",
        fix=full_refresh(model),
    ).named("no-common-columns")

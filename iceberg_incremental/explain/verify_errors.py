"""The errors of tables that cannot be compared with their rebuilds."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import IncomparableError
from ..quantities import instant
from ..table.checkpoint import Position
from ..table.history import TableName
from .entries import indexed
from .history_errors import drops_history
from .wording import full_refresh


@indexed
def nothing_to_compare(model: str, table: TableName, found: str) -> IncomparableError:
    """A table has no checkpoint, so the source snapshots of its rows are unknown."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: {table} {found}.\n"
        "  Expected: a table with a checkpoint, which records the source snapshots of its rows.\n"
        f"  Found: {table} {found}.\n"
        "  To fix: run the model."
    )


@indexed
def events_incomplete(model: str) -> IncomparableError:
    """The log of a history may lack events from which versions in the table were created."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: its log may no longer have all events.\n"
        "  Expected: a history whose runs have read each commit of the log since all versions were last built.\n"
        "  Found: a run that may have skipped commits of the log, or a position that was set by hand.\n"
        f"  To fix: if the log still has all events, build all versions again: {drops_history(model)}"
    )


@indexed
def snapshot_expired(source: TableName, model: str, position: Position) -> IncomparableError:
    """The source snapshot of a table's rows has expired."""
    time = "" if position.timestamp_ms is None else f" of {instant(position.timestamp_ms)}"
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: snapshot {position.snapshot_id} of {source} has expired.\n"
        "  Expected: the snapshot up to which the model has read the source.\n"
        f"  Found: {source} without snapshot {position.snapshot_id}{time}.\n"
        "  To fix: run the model, and verify it before the snapshot expires. hold_source: '2 days' keeps the snapshot "
        "with a tag in a source whose changes the model reads; a longer snapshot retention keeps the snapshots of "
        "every source."
    )


@indexed
def source_replaced(source: TableName, model: str) -> IncomparableError:
    """A source was replaced since the model read it."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: {source} has been dropped and created again.\n"
        "  Expected: the table that the model has read.\n"
        f"  Found: {source} with a table UUID that differs from the checkpoint's.\n"
        "  To fix: run the model. By default, the run rebuilds it."
    )


@indexed
def source_not_recorded(source: TableName, model: str) -> IncomparableError:
    """A model's SQL reads a source that its table's checkpoint does not contain."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: its SQL reads {source}, which its last run did not read.\n"
        "  Expected: the sources that the checkpoint records.\n"
        f"  Found: no snapshot of {source} in the checkpoint: the SQL has changed since.\n"
        f"  To fix: {full_refresh(model)}"
    )


@indexed
def nondeterministic_result(model: str, found: Sequence[str]) -> IncomparableError:
    """A model's code has a result that differs from build to build."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: the result of {', '.join(found)} differs from build to build.\n"
        "  Expected: code whose result depends on the rows of the sources alone.\n"
        f"  Found: {', '.join(found)}.\n"
        "  To fix: read the value from a column of a source. Otherwise, exclude the model."
    )


@indexed
def depends_on_own_rows(model: str) -> IncomparableError:
    """A model reads its own table, so its rows depend on its earlier runs."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: it reads its own table.\n"
        "  Expected: code that reads only its sources.\n"
        "  Found: {{ this }} in the code.\n"
        "  To fix: exclude the model."
    )


@indexed
def rebuild_failed(model: str, error: str) -> IncomparableError:
    """The query for a model's rebuild fails."""
    shown = "\n".join(f"    {line}" for line in error.splitlines())
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: the query for the rebuild fails.\n"
        "  Expected: a query that succeeds, as in a first build of the model.\n"
        f"  Found:\n{shown}\n"
        "  To fix: correct the cause that the error names. A full refresh of the model would also fail."
    )


@indexed
def no_common_columns(model: str, table: TableName) -> IncomparableError:
    """A table has none of the columns that its model returns."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: {table} has none of the columns that its SQL returns.\n"
        "  Expected: at least one common column with a comparable type.\n"
        "  Found: none.\n"
        f"  To fix: {full_refresh(model)}"
    )

"""The errors of what ``dbt run-operation`` calls: its arguments, and positions that cannot be set."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.durations import EXAMPLES
from iceberg_incremental.errors import CheckpointError, ConfigError, SourceError
from iceberg_incremental.explain.entries import indexed
from iceberg_incremental.explain.wording import command, described
from iceberg_incremental.table.history import History, Snapshot, TableName


@indexed
def unknown_format(found: str, known: Sequence[str]) -> ConfigError:
    """The argument format is none that the operation knows."""
    return ConfigError(f"format is {found!r}.\n  Expected: {' or '.join(map(repr, known))}.\n  To fix: correct it.")


@indexed
def output_and_format(wanted: str, output: object) -> ConfigError:
    """``ip_status`` got a file to write and another format than a page's, or the reverse."""
    found = f"output is {output!r} and format is {wanted!r}" if output else f"format is {wanted!r}, without output"
    return ConfigError(
        f"ip_status: {found}.\n"
        "  Expected: both format: html and output, the path of the page to write; or neither.\n"
        f"  To fix: {command('ip_status', format='html', output='status.html')}"
    )


@indexed
def not_a_whole_number(name: str, found: str) -> ConfigError:
    """An argument is no whole number."""
    return ConfigError(
        f"{name} is {found!r}.\n  Expected: a whole number.\n"
        "  To fix: take it from ip_ledger"
        + (" or the source's snapshots table." if name == "snapshot_id" else ", which lists the epochs of a model.")
    )


@indexed
def not_a_time(found: str) -> ConfigError:
    """The argument timestamp is no time."""
    return ConfigError(
        f"timestamp is {found!r}.\n  Expected: ISO 8601, for example 2026-01-31T04:05:06 (UTC) or with an "
        "offset such as +02:00.\n  To fix: correct it."
    )


@indexed
def model_and_select(operation: str = "ip_status") -> ConfigError:
    """An operation got two arguments that exclude each other."""
    return ConfigError(
        f"{operation} got both model and select.\n  Expected: one of them.\n  To fix: leave one of them out."
    )


@indexed
def no_schema(found: object) -> ConfigError:
    """``ip_clone_source`` does not know where the clone is to be."""
    return ConfigError(
        f"ip_clone_source: schema is {found!r}.\n"
        "  Expected: the schema in which the clone is made.\n"
        f"  To fix: {command('ip_clone_source', source='<source>', schema='<schema>')}"
    )


@indexed
def clone_onto_itself(table: TableName) -> ConfigError:
    """``ip_clone_source`` was given the schema of the source itself."""
    return ConfigError(
        f"ip_clone_source: schema is {table.namespace!r}, in which {table} is itself.\n"
        "  Expected: another schema.\n"
        "  To fix: name a schema of your own, for example that of your target."
    )


@indexed
def not_a_clone(table: TableName) -> ConfigError:
    """``ip_clone_source`` would replace a table that is no clone."""
    return ConfigError(
        f"ip_clone_source: {table} is no clone.\n"
        "  Expected: a clone to replace, or no table of this name.\n"
        "  To fix: name another schema; or drop the table first, if nobody needs it."
    )


@indexed
def not_a_flag(name: str, found: str) -> ConfigError:
    """An argument is neither true nor false."""
    return ConfigError(f"{name} is {found!r}.\n  Expected: true or false.\n  To fix: correct it.")


@indexed
def not_a_duration(name: str, found: str) -> ConfigError:
    """An argument is no duration."""
    return ConfigError(f"{name} is {found!r}.\n  Expected: a duration above 0, {EXAMPLES}.\n  To fix: correct it.")


@indexed
def target_missing(target: TableName, model: str) -> SourceError:
    """The model whose checkpoint is to be set has no table."""
    return SourceError(
        f"{target} does not exist.\n  Expected: the table of {model}.\n"
        "  To fix: run the model; its first build sets the checkpoint."
    )


@indexed
def position_without_source() -> ConfigError:
    """A position was given, but not the source that it is in."""
    return ConfigError(
        "ip_set_checkpoint got a snapshot_id or timestamp, but no source.\n"
        "  Expected: the source in which to set the position, as catalog.schema.table.\n  To fix: name it."
    )


@indexed
def one_way_to_name_a_position(source: TableName) -> ConfigError:
    """A position was given in two ways, or in none."""
    return ConfigError(
        "ip_set_checkpoint needs either snapshot_id or timestamp, and not both.\n"
        f"  To fix: choose a snapshot with `select * from {source.sql}.snapshots`."
    )


@indexed
def no_position_yet(source: TableName) -> CheckpointError:
    """The source has no snapshot."""
    return CheckpointError(
        f"{source} has no snapshot yet, so that there is no position to set in it.\n"
        "  To fix: run the model after the source's first commit."
    )


@indexed
def not_a_position(snapshot_id: int, source: History, chain: Sequence[Snapshot], *, is_part: bool) -> CheckpointError:
    """A snapshot cannot be a position. ``chain``: those that can, newest first; ``is_part``: of a run's commits."""
    where = "on another branch, or undone" if snapshot_id in source.snapshots else "not in its metadata"
    if is_part:
        where = "only a part of what one run committed, with rows that its next commit deletes"
    several = f"one of the {len(chain):,} snapshots from {described(chain[-1])} to {described(chain[0])}"
    return CheckpointError(
        f"Snapshot {snapshot_id} of {source.table} cannot be a position: it is {where}.\n"
        f"  Expected: {described(chain[0]) if len(chain) == 1 else several}.\n"
        f"  To fix: choose one; this query lists them: select * from {source.table.sql}.snapshots"
    )


@indexed
def before_the_history(timestamp: str, source: TableName, oldest: Snapshot) -> CheckpointError:
    """A time is before all snapshots that are known."""
    return CheckpointError(
        f"{timestamp} is before the known history of {source}.\n"
        f"  Expected: a time not before {described(oldest)}, the oldest snapshot that is known.\n"
        "  To fix: choose a later time, or rebuild the model with --full-refresh."
    )

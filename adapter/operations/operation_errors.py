"""The errors of operations: their arguments, and positions that cannot be set."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.durations import EXAMPLES
from iceberg_incremental.errors import CheckpointError, ConfigError, MaintenanceError, SourceError
from iceberg_incremental.explain.wording import command, described
from iceberg_incremental.quantities import counted
from iceberg_incremental.table.history import History, Snapshot, TableName


def unknown_format(found: str, known: Sequence[str]) -> ConfigError:
    """The argument ``format`` has an unknown value."""
    return ConfigError(
        f"format is {found!r}.",
        expected=f"{' or '.join(map(repr, known))}.",
        fix="correct it.",
    ).named("unknown-format")


def output_and_format(wanted: str, output: object) -> ConfigError:
    """``ip_status`` was called with only one of ``format: html`` and ``output``."""
    found = f"output is {output!r} and format is {wanted!r}" if output else f"format is {wanted!r}, without output"
    return ConfigError(
        f"ip_status: {found}.",
        expected="both format: html and output, the path of the page to write; or neither.",
        fix=command("ip_status", format="html", output="status.html"),
    ).named("output-and-format")


def not_a_whole_number(name: str, found: str) -> ConfigError:
    """An argument is not an integer."""
    where = " or the source's snapshots table" if name == "snapshot_id" else ", which lists the epochs of a model"
    return ConfigError(f"{name} is {found!r}.", expected="an integer.", fix=f"look it up in ip_ledger{where}.").named(
        "not-a-whole-number"
    )


def checkpoint_of_no_model() -> ConfigError:
    """``ip_set_checkpoint`` was called without a model."""
    return ConfigError(
        "ip_set_checkpoint was called without a model.",
        expected="the name of a model; to change its position in a source, also source, and either snapshot_id or "
        "timestamp.",
        fix=command("ip_set_checkpoint", model="<model>", source="<source>", snapshot_id="<id>"),
    ).named("checkpoint-of-no-model")


def not_a_time(found: str) -> ConfigError:
    """The argument ``timestamp`` is not a timestamp."""
    return ConfigError(
        f"timestamp is {found!r}.",
        expected="ISO 8601, for example 2026-01-31T04:05:06 (UTC) or with an offset such as +02:00.",
        fix="correct it.",
    ).named("not-a-time")


def model_and_select(operation: str = "ip_status") -> ConfigError:
    """An operation was called with two arguments that exclude each other."""
    return ConfigError(
        f"{operation} was called with both model and select.", expected="one of them.", fix="remove one of them."
    ).named("model-and-select")


def no_schema(found: object) -> ConfigError:
    """``ip_clone_source`` was called without a schema for the clone."""
    return ConfigError(
        f"ip_clone_source: schema is {found!r}.",
        expected="the schema in which to create the clone.",
        fix=command("ip_clone_source", source="<source>", schema="<schema>"),
    ).named("no-schema")


def clone_onto_itself(table: TableName) -> ConfigError:
    """``ip_clone_source`` was called with the schema of the source itself."""
    return ConfigError(
        f"ip_clone_source: schema is {table.namespace!r}, which is the schema of {table}.",
        expected="another schema.",
        fix="name your own schema, for example the schema of your target.",
    ).named("clone-onto-itself")


def not_a_clone(table: TableName) -> ConfigError:
    """``ip_clone_source`` would replace a table that is not a clone."""
    return ConfigError(
        f"ip_clone_source: {table} exists, but is not a clone.",
        expected="a clone to replace, or no table of this name.",
        fix="name another schema, or drop the table first if it is not needed.",
    ).named("not-a-clone")


def not_a_flag(name: str, found: str) -> ConfigError:
    """An argument is neither true nor false."""
    return ConfigError(f"{name} is {found!r}.", expected="true or false.", fix="correct it.").named("not-a-flag")


def not_a_duration(name: str, found: str) -> ConfigError:
    """An argument is not a duration."""
    return ConfigError(
        f"{name} is {found!r}.",
        expected=f"a duration above 0, {EXAMPLES}.",
        fix="correct it.",
    ).named("not-a-duration")


def target_missing(target: TableName, model: str) -> SourceError:
    """The model whose checkpoint is to be set has no table."""
    return SourceError(
        f"{target} does not exist.",
        expected=f"the table of {model}.",
        fix="run the model; its first build sets the checkpoint.",
    ).named("target-missing")


def position_without_source() -> ConfigError:
    """``ip_set_checkpoint`` was called with a position, but without a source."""
    return ConfigError(
        "ip_set_checkpoint was called with a snapshot_id or timestamp, but no source.",
        expected="the source of the position, as catalog.schema.table.",
        fix="pass source.",
    ).named("position-without-source")


def one_way_to_name_a_position(source: TableName) -> ConfigError:
    """``ip_set_checkpoint`` was called with both a snapshot and a timestamp, or with neither."""
    return ConfigError(
        "ip_set_checkpoint needs either snapshot_id or timestamp.",
        expected="exactly one of them.",
        fix=f"choose a snapshot with `select * from {source.sql}.snapshots`.",
    ).named("one-way-to-name-a-position")


def no_position_yet(source: TableName) -> CheckpointError:
    """The source has no snapshot."""
    return CheckpointError(
        f"No position can be set in {source}, because it has no snapshot yet.",
        fix="run the model after the source's first commit.",
    ).named("no-position-yet")


def not_a_position(snapshot_id: int, source: History, chain: Sequence[Snapshot], *, is_part: bool) -> CheckpointError:
    """A snapshot cannot be the position of a checkpoint.

    ``chain``: the possible positions, newest first. ``is_part``: whether the snapshot is only a part of a run.
    """
    where = "on another branch, or undone" if snapshot_id in source.snapshots else "not in the table's metadata"
    if is_part:
        where = "only a part of one run's commits, with rows that the next commit of the run deletes"
    several = f"one of the {len(chain):,} snapshots from {described(chain[-1])} to {described(chain[0])}"
    return CheckpointError(
        f"Snapshot {snapshot_id} of {source.table} cannot be a position: it is {where}.",
        expected=f"{described(chain[0]) if len(chain) == 1 else several}.",
        fix=f"choose one; this query lists them: select * from {source.table.sql}.snapshots",
    ).named("not-a-position")


def before_the_history(timestamp: str, source: TableName, oldest: Snapshot) -> CheckpointError:
    """A timestamp is before all known snapshots of the source."""
    return CheckpointError(
        f"{timestamp} is before the known history of {source}.",
        expected=f"a time that is not before {described(oldest)}, the oldest known snapshot.",
        fix="choose a later time, or rebuild the model with --full-refresh.",
    ).named("before-the-history")


def maintenance_failed(failed: Sequence[tuple[str, str]]) -> MaintenanceError:
    """The maintenance of some tables failed. The maintenance of the other tables is complete."""
    listed = "\n".join(f"    {table}: {error.splitlines()[0]}" for table, error in failed)
    return MaintenanceError(
        f"ip_maintain failed for {counted(len(failed), 'table')}:\n{listed}",
        found="these errors, which the report shows in full. Each step makes one commit or none, so no row is lost.",
        fix="run ip_maintain again if another commit interfered. Otherwise, fix the cause that the error names.",
    ).named("maintenance-failed")

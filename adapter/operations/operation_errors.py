"""The errors of operations, data tests and source freshness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iceberg_incremental.durations import EXAMPLES
from iceberg_incremental.errors import (
    CheckpointError,
    ConfigError,
    DifferenceError,
    HistoryBreakError,
    IncomparableError,
    MaintenanceError,
    NotIcebergError,
    SourceError,
    SourceMissingError,
)
from iceberg_incremental.explain.wording import command, described
from iceberg_incremental.quantities import counted
from iceberg_incremental.table.history import History, Snapshot, TableName

if TYPE_CHECKING:
    from ..status.ledger import Line, Totals


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
        fix=f"choose another snapshot; this query lists them: select * from {source.table.sql}.snapshots",
    ).named("not-a-position")


def before_the_history(timestamp: str, source: TableName, oldest: Snapshot) -> CheckpointError:
    """A timestamp is before all known snapshots of the source."""
    return CheckpointError(
        f"{timestamp} is before the known history of {source}.",
        expected=f"a time that is not before {described(oldest)}, the oldest known snapshot.",
        fix="choose a later time, or rebuild the model with --full-refresh.",
    ).named("before-the-history")


def maintenance_failed(failed: Sequence[tuple[str, str]]) -> MaintenanceError:
    """The maintenance of some tables failed. That of the other tables is complete."""
    listed = "\n".join(f"    {table}: {error.splitlines()[0]}" for table, error in failed)
    return MaintenanceError(
        f"ip_maintain failed for {counted(len(failed), 'table')}:\n{listed}",
        found="these errors, which the report shows in full. Each step makes one commit or none, so no row is lost.",
        fix="run ip_maintain again if another commit interfered. Otherwise, fix the cause that the error names.",
    ).named("maintenance-failed")


def no_ledger(target: TableName, model: str) -> CheckpointError:
    """The table has no commits of the model."""
    return CheckpointError(
        f"{target} has no checkpoint, so it has no ledger.",
        expected=f"a table that {model} built.",
        fix="run the model first.",
    ).named("no-ledger")


def unknown_epoch(target: TableName, epoch: int, known: Sequence[int]) -> ConfigError:
    """The table's history does not have the requested epoch."""
    return ConfigError(
        f"{target} has no commit of epoch {epoch} in its history.",
        expected=f"an epoch from {known[0]} to {known[-1]}, as listed by ip_ledger.",
        fix=f"choose an epoch from {known[0]} to {known[-1]}.",
    ).named("unknown-epoch")


def epoch_of_several(epoch: int, models: Sequence[str]) -> ConfigError:
    """An epoch was requested without exactly one model."""
    replay = command("ip_ledger", model=models[0] if models else "<model>", epoch=epoch)
    return ConfigError(
        f"ip_ledger was called with epoch {epoch} for {counted(len(models), 'model')}.",
        expected="the model whose commit has this epoch.",
        found=f"{counted(len(models), 'model')}: {', '.join(models) or 'none'}.",
        fix=f"name one of these models: `{replay}`",
    ).named("epoch-of-several")


def nothing_to_replay(epoch: int) -> CheckpointError:
    """The run of the requested epoch did not read a range of commits."""
    return CheckpointError(
        f"The run of epoch {epoch} did not read a range of commits.",
        expected="the epoch of a build, or of a run that applied commits.",
        found="a position that was set by hand or only moved, or a reprocessed event-time window.",
        fix="choose another epoch.",
    ).named("nothing-to-replay")


def not_replayable(source: str, snapshot_id: int | None) -> CheckpointError:
    """The snapshot that an earlier run read no longer exists."""
    return CheckpointError(
        f"The rows that the run of this epoch read from {source} can no longer be shown.",
        expected=f"snapshot {snapshot_id} in the history of the source.",
        found="the snapshot has expired, or the table was replaced or rolled back since.",
        fix="choose a later epoch. To keep snapshots longer, set history.expire.max-snapshot-age-ms.",
    ).named("not-replayable")


def ledger_broken(text: str, target: str, wrong: Line | None, broken: Totals | None) -> CheckpointError:
    """The ledger does not prove that each commit was consumed once."""
    found = []
    if wrong is not None:
        found.append(
            f"{'' if wrong.finding is None else wrong.finding.value} at epoch {wrong.epoch} in {wrong.source}: it "
            f"starts at {wrong.from_snapshot_id}, which is not where the previous range ended"
        )
    if broken is not None:
        found.append(f"at epoch {broken.epoch}, the row counts of snapshot {broken.broken_at} do not add up")
    return CheckpointError(
        f"{text}\nThe ledger of {target} does not add up.",
        expected="each commit's range starts where the previous range ended.",
        found=f"{'; '.join(found)}.",
        fix="if rows may be missing or duplicated, rebuild the model with --full-refresh.",
    ).named("ledger-broken")


def tables_differ(models: Sequence[str]) -> DifferenceError:
    """Some tables differ from their rebuilds."""
    listed = "\n".join(f"    {model}" for model in models)
    differ = f"The tables of {len(models):,} models differ from their rebuilds"
    if len(models) == 1:
        differ = "The table of 1 model differs from its rebuild"
    return DifferenceError(
        f"{differ}.",
        expected="the rows that the SQL returns for the snapshots of the checkpoint.",
        found=f"\n{listed}",
        fix="run a full refresh to replace the rows. The report has examples, and SQL that shows all differences.",
    ).named("tables-differ")


def not_a_fraction(found: str) -> ConfigError:
    """The argument ``sample`` is not a fraction."""
    return ConfigError(
        f"sample is {found!r}.",
        expected="a number above 0 and at most 1.",
        fix=f"to compare 5% of the keys, run `{command('ip_verify', sample=0.05)}`.",
    ).named("not-a-fraction")


def not_one_table(found: str) -> ConfigError:
    """A data test ``ip_equals_rebuild`` has the config ``where``, or its relation was not built by this package."""
    return ConfigError(
        f"ip_equals_rebuild cannot compare {found}.",
        expected="a model with materialized: iceberg_incremental_snapshot, and a test without the config `where`.",
        found=f"{found}.",
        fix="remove the test, or its config `where`.",
    ).named("not-one-table")


def no_state(folder: object) -> ConfigError:
    """The folder in ``--state`` for ``ip_verify --defer`` has no manifest, or ``--state`` is missing."""
    return ConfigError(
        "ip_verify has no manifest to defer to.",
        expected="with --defer, a folder with the manifest.json of another environment.",
        found=f"{'no --state' if folder is None else f'no manifest.json in {folder}'}.",
        fix="add --state <folder>, or remove --defer.",
    ).named("no-state")


def rows_left_out(model: str) -> IncomparableError:
    """A model cannot be verified with ``--empty`` or ``--sample``."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild in an invocation with --empty or --sample.",
        expected="all rows of the sources.",
        found="an option that omits rows.",
        fix="exclude the test with --exclude test_name:ip_equals_rebuild.",
    ).named("rows-left-out")


def sources_not_pinned(model: str) -> IncomparableError:
    """The SQL of an ``auto`` model cannot be parsed."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: its SQL cannot be parsed.",
        expected="SQL that this package can parse, to read the sources at the snapshots of the checkpoint.",
        found="SQL that this package cannot parse.",
        fix="run ip_explain for the model, which reports the cause.",
    ).named("sources-not-pinned")


_ASK_SPARK = "set loaded_at_field or loaded_at_query for this source, so that dbt queries Spark"


def freshness_of_no_table(source: TableName) -> SourceMissingError:
    """The source does not exist."""
    return SourceMissingError(
        f"The freshness of {source} is unknown, because the source does not exist.",
        expected="an Iceberg table.",
        found=f"no table or view of this name in catalog '{source.catalog}'.",
        fix="create the table, or correct the name (database is the catalog, schema the namespace) in the source's "
        "definition.",
    ).named("freshness-of-no-table")


def freshness_of_no_iceberg_table(error: NotIcebergError, source: TableName) -> NotIcebergError:
    """The source is a view, or a table of another format."""
    return NotIcebergError(
        f"The freshness of {source} cannot be read from metadata.",
        expected="an Iceberg table, whose commits have timestamps.",
        found=error.msg,
        fix=f"{_ASK_SPARK}.",
    ).named("freshness-of-no-iceberg-table")


def last_change_expired(source: TableName, known: Snapshot | None) -> HistoryBreakError:
    """The commit that last changed rows has expired. ``known``: the oldest commit that has not expired."""
    found = (
        "the current snapshot is not in the table's metadata"
        if known is None
        else f"it was before {described(known)}, the oldest commit that has not expired; no later commit changed rows"
    )
    return HistoryBreakError(
        f"The time at which rows of {source} last changed is no longer known.",
        expected="the last commit that changed rows, in the table's history or in an older metadata file.",
        found=f"{found}.",
        fix=f"{_ASK_SPARK}; or keep snapshots for longer than the source's error_after.",
    ).named("last-change-expired")

"""The errors of a target: the existing table, and its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import CheckpointError, ConfigError
from ..quantities import counted
from ..sql import property_value, sql_name, sql_string
from ..table.checkpoint import KEY, MAX_LENGTH, VERSION, Checkpoint, CheckpointFlaw, Position, UnreadableCheckpoint
from ..table.checkpoint_state import CheckpointState
from ..table.clone import still_forbidden
from ..table.history import History, TableName
from ..table.layout import LiveSpec, normal_fields, normal_sorts
from ..table.retention import FEW_METADATA_FILES, PREVIOUS_VERSIONS
from .caller import by_caller, setting
from .wording import (
    command,
    described,
    full_refresh,
    rebuild,
    set_checkpoint_command,
    set_checkpoint_ways,
    short,
)


def must_not_rebuild(model: str, reason: str) -> CheckpointError:
    """A policy requires a rebuild of a model with ``full_refresh: false``."""
    return CheckpointError(
        f"{model} must be rebuilt, but it is configured with full_refresh: false.",
        found=reason,
        fix=f"remove full_refresh: false and run {full_refresh(model)}; or, if you know up to which snapshot the "
        f"table has a source's rows, continue from there: {set_checkpoint_command(short(model))}.",
    ).named("must-not-rebuild")


def net_set_back(target: TableName, model: str, source: TableName, before: Position) -> CheckpointError:
    """A model that reads net changes cannot be set back to an earlier snapshot."""
    return CheckpointError(
        f"{model} reads the net changes of {source}, so it cannot be set back to an earlier snapshot.",
        expected=f"a position that is not before {described(before)}.\n"
        "  A row that changed after the earlier snapshot and then changed back is not a net change, but the table has "
        "the intermediate value.",
        fix=f"rebuild the model with {full_refresh(model)}. To set {target} itself back, roll it back: this also "
        "restores its earlier checkpoint.",
    ).named("net-set-back")


def missing_checkpoint(
    target: TableName, model: str, state: CheckpointState, keeps_metadata: int = 100
) -> CheckpointError:
    """The target exists, but no checkpoint is proven to match its rows.

    ``keeps_metadata``: the number of older metadata files that the table keeps.
    """
    name, unproven = short(model), state.unproven
    found = "no checkpoint in the snapshots of the table or in its properties"
    adopt = set_checkpoint_command(name)
    if unproven is not None:
        positions = ", ".join(f"{key} at {described(position)}" for key, position in unproven.sources.items())
        found = f"a checkpoint in the table property only (epoch {unproven.epoch}, {positions}); "
        if state.has_whole_history:
            found += (
                f"it was written at snapshot {unproven.target_snapshot_id}, which is not in the table's history, "
                "although none of its snapshots has expired. The table was cloned, replaced or rolled back since, for "
                "example by dbt clone or CREATE OR REPLACE TABLE, or it has the properties of another table"
            )
        else:
            adopt = _commands_for(name, unproven) or adopt
            found += "the snapshots that would prove it have expired"
            if keeps_metadata < FEW_METADATA_FILES:
                found += (
                    ", and the older metadata files that would also prove it are no longer in the metadata log, since "
                    f"{PREVIOUS_VERSIONS} is {keeps_metadata}"
                )
    return CheckpointError(
        f"{target} exists, but it has no checkpoint that records how far {model} has read its sources.",
        expected=f"a table that this {by_caller('model', 'job', 'job')} built, with its checkpoint.",
        found=f"{found}.",
        fix=[
            f"rebuild it: {full_refresh(name)}",
            *set_checkpoint_ways("if you know up to which snapshot its rows are complete, continue from there", adopt),
            f"to rebuild automatically in such cases, set {setting('on_missing_checkpoint', 'full_refresh')}",
        ],
    ).named("missing-checkpoint")


def _commands_for(name: str, checkpoint: Checkpoint) -> str:
    """The commands that set a model to the positions of a checkpoint. Empty if no source has a snapshot there."""
    positions = ((source, position.snapshot_id) for source, position in checkpoint.sources.items())
    return " and ".join(set_checkpoint_command(name, source, id_) for source, id_ in positions if id_ is not None)


def proof_lost(target: TableName, model: str, checkpoint: Checkpoint, keeps_metadata: int) -> CheckpointError:
    """At publication, a run can no longer prove the checkpoint from which it started.

    ``keeps_metadata``: the number of older metadata files that the table keeps.
    """
    name = short(model)
    adopt = _commands_for(name, checkpoint) or f"`{command('ip_set_checkpoint', model=name)}`"
    return CheckpointError(
        f"The rows of {model} could not be published: the checkpoint of {target} can no longer be proven.",
        expected=f"the snapshot of epoch {checkpoint.epoch} in the table's history or in an older metadata file.",
        found="the snapshot has expired, and the last metadata file that contains it is no longer in the metadata "
        f"log. The commits of this run removed the file, since {PREVIOUS_VERSIONS} is {keeps_metadata}.",
        state="This run published nothing.",
        fix=[
            *set_checkpoint_ways(
                "if nobody has rolled the table back since, keep more metadata files, and continue from where this "
                "run started",
                f"`{_keep_more_sql(target)}`, then {adopt}",
            ),
            f"rebuild it: {full_refresh(name)}",
        ],
    ).named("proof-lost")


def keeps_layout(
    target: History,
    model: str,
    partition_by: Sequence[str],
    sort_by: Sequence[str],
    properties: Mapping[str, object],
    *,
    keeps_history: bool = False,
) -> str | None:
    """The warning that a table differs from configs that only a build applies. None if it does not.

    ``partition_by``, ``sort_by``, ``properties``: the configs ``partition_by`` and ``sort_by``, if set, and
    ``tblproperties``.
    """
    version = str(properties.get("format-version", ""))
    older = version.isdecimal() and int(version) < target.format_version  # no run and no rebuild can change it
    left_out = {"format-version" if older else "", *still_forbidden(target, properties)}
    if target.lost_partition:  # runs then set these properties
        left_out |= {key for key in properties if key.endswith(".mode")}
    in_table = {**target.properties, "format-version": str(target.format_version)}
    given = {key: sql_string(in_table[key]) if key in in_table else "not set" for key in properties}
    found = [
        f"{key} is {property_value(value)} in the config and {given[key]} in the table"
        for key, value in properties.items()
        if key not in left_out and given[key] != property_value(value)
    ]
    if partition_by and target.partitioned_by is not None:
        wanted, now = normal_fields(partition_by), normal_fields(target.partitioned_by)
        if sorted(wanted) != sorted(now):
            there = f"{', '.join(now)} in the table" if now else "the table is not partitioned"
            found.append(f"partition_by is {', '.join(wanted)} in the config and {there}")
    if sort_by and (wanted := normal_sorts(sort_by)) != (now := normal_sorts(target.sorted_by)):
        there = f"{', '.join(now)} in the table" if now else "the table is not sorted"
        found.append(f"sort_by is {', '.join(wanted)} in the config and {there} (ip_maintain applies it)")
    if not found:
        return None
    rebuilding = "" if keeps_history else f", or rebuild the table: {full_refresh(model)}"
    return (
        f"{target.table} keeps its layout: {'; '.join(found)}. Runs of {model} do not alter an existing table. To "
        f"apply the config, use ALTER TABLE{rebuilding}."
    )


def keeps_few_metadata_files(target: TableName, model: str, keeps_metadata: int) -> str:
    """The warning that a table keeps too few older metadata files to prove its checkpoint after an expiry."""
    return (
        f"{target} keeps {counted(keeps_metadata, 'older metadata file')} ({PREVIOUS_VERSIONS}). If another tool "
        f"expires the snapshot with the checkpoint of {model}, the checkpoint can no longer be proven. Keep at least "
        f"{FEW_METADATA_FILES}: set the property in the model's tblproperties, or run: {_keep_more_sql(target)}"
    )


def _keep_more_sql(target: TableName) -> str:
    return f"ALTER TABLE {target.sql} SET TBLPROPERTIES ('{PREVIOUS_VERSIONS}' = '100')"


def unreadable_checkpoint(error: UnreadableCheckpoint) -> CheckpointError:
    """This version of the package cannot read the checkpoint of a table."""
    place = f"the property '{KEY}' of {error.place.table}"
    if error.place.snapshot_id is not None:
        place = f"the summary of snapshot {error.place.snapshot_id} of {error.place.table}"
    return CheckpointError(
        f"The checkpoint in {place} cannot be read.",
        expected=f"a checkpoint of version {VERSION}, in the format of this package.",
        found=f"{_flaw(error)}.",
        fix=f"if a newer version of dbt-spark-iceberg wrote it, use that version; otherwise {rebuild('<model>')}.",
    ).named("unreadable-checkpoint")


def _flaw(error: UnreadableCheckpoint) -> str:
    found, field, expected = error.found, error.field, error.expected
    return {
        CheckpointFlaw.TOO_LONG: f"{found} characters, more than the maximum of {MAX_LENGTH}",
        CheckpointFlaw.NOT_JSON: f"text that is not JSON ({found})",
        CheckpointFlaw.OTHER_VERSION: f"version {found!r}",
        CheckpointFlaw.MISSING_FIELD: f"no value in '{field}'",
        CheckpointFlaw.WRONG_TYPE: f"{found} in '{field}', not {expected}" if field else f"a JSON {found}",
        CheckpointFlaw.OUT_OF_RANGE: f"{found} in '{field}', out of range",
    }[error.flaw]


def other_model(target: TableName, model: str, checkpoint: Checkpoint) -> CheckpointError:
    """The target's checkpoint names another model."""
    who = by_caller("model", "job", "job")
    in_dbt = (
        f"if the model was renamed, adopt the table with `{command('ip_set_checkpoint', model=short(model))}`; "
        "otherwise set a different alias for the model"
    )
    continues = "to continue the table of that writer, pass {}; otherwise use another target"
    in_job = (continues.format(f'name="{checkpoint.model}"'), continues.format(f"--name {checkpoint.model}"))
    return CheckpointError(
        f"The checkpoint of {target} does not belong to {model}.",
        expected=f"a table that {model} built.",
        found=f"epoch {checkpoint.epoch} of {checkpoint.model}. The {who} was renamed, the table is a clone of the "
        f"table of {checkpoint.model}, or another project writes this table too.",
        fix=f"{by_caller(in_dbt, *in_job)}, or rebuild the table with {full_refresh(model)}.",
    ).named("other-model")


def new_source(source: TableName, model: str, checkpoint: Checkpoint) -> CheckpointError:
    """The model's SQL reads the changes of a source that is not in its checkpoint."""
    name = short(model)
    known = ", ".join(checkpoint.sources) or "none"
    where = by_caller("the model's SQL", "the job", "the arguments")
    return CheckpointError(
        f"{model} reads the changes of {source}, but its checkpoint has no position for this source.",
        expected=f"a source that is in the checkpoint: {known}.",
        found=f"a source that was added to {where} or renamed.",
        fix=[
            f"rebuild the {by_caller('model', 'table', 'table')} with this source: {full_refresh(name)}",
            *set_checkpoint_ways("start after one of its snapshots", set_checkpoint_command(name, source)),
        ],
    ).named("new-source")


def partial_build(target: TableName, model: str) -> CheckpointError:
    """A checkpoint cannot be set, because the table was built with ``--empty`` or ``--sample``."""
    return CheckpointError(
        f"{target} was built with --empty or --sample, so no run can continue from its rows.",
        expected="a table with all rows of a source up to a snapshot.",
        fix=f"run {short(model)}. The run builds the whole table.",
    ).named("partial-build")


def not_built_by(target: TableName, model: str, found: str) -> CheckpointError:
    """A table with the target's name has another format."""
    return CheckpointError(
        f"{target} already exists as a table of format {found}, which {model} did not build.",
        expected="no table, or an Iceberg table that this model built.",
        fix=[
            f"replace the table and all its rows: {full_refresh(model)}",
            "keep the table, and set a different alias for the model",
            "keep its rows: convert it to Iceberg first, then adopt it with `dbt run-operation ip_set_checkpoint`. "
            "CALL <catalog>.system.migrate converts Parquet, ORC and Avro tables",
        ],
    ).named("not-built-by")


def other_partitioning(target: TableName, model: str, configured: Sequence[str], found: Sequence[str]) -> ConfigError:
    """A table does not have the partitioning that its model's ``insert_overwrite`` requires."""
    return ConfigError(
        f"The partitions of {target} differ from partition_by of {model}, so insert_overwrite would replace the wrong "
        "rows.",
        expected=f"partition_by {', '.join(configured)}.",
        found=f"{', '.join(found) or 'no partitions'}.",
        fix=f"rebuild the table with {full_refresh(model)}, or set partition_by to the partitions of the table.",
    ).named("other-partitioning")


def other_specs(target: TableName, model: str, specs: Sequence[LiveSpec]) -> ConfigError:
    """Live data files are in partitions of older specs, which INSERT OVERWRITE does not replace."""
    found = "; ".join(
        f"{counted(spec.files, 'file')} of spec {spec.spec_id}"
        + ("" if spec.fields is None else f" ({', '.join(spec.fields) or 'no partitions'})")
        + (", the current one" if spec.is_current else "")
        for spec in specs
    )
    call = f"CALL {sql_name(target.catalog)}.system.rewrite_data_files"
    return ConfigError(
        f"The partitioning of {target} was changed, and some data files still have the old one. The insert_overwrite "
        f"of {model} would duplicate their rows instead of replacing them.",
        expected="all data files in partitions of the table's current spec.",
        found=f"{found}.",
        state="The table is as it was before the run.",
        fix=[
            f"rewrite all files into the current partitions, and run the model again: `{call}(table => "
            f"{sql_string(target.sql)}, options => map('rewrite-all', 'true'))`",
            f"rebuild the model: {full_refresh(model)}",
        ],
    ).named("other-specs")

"""What is said to people: the error for each way a capture can fail, and the line that tells what was captured.

Every error says what was expected, what was found, and the commands or configs that lead on.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from .changed_files import TableColumn
from .checkpoint import Checkpoint, Position
from .errors import (
    CheckpointError,
    ConcurrentRunError,
    ConfigError,
    HistoryBreakError,
    NotIcebergError,
    RewriteError,
    SourceMissingError,
)
from .history import History, Snapshot, TableName
from .net import CHANGE_TYPE
from .plan import Break, Kind, Range, Rewritten
from .policy import MATERIALIZATION, Cause, Policy
from .projection import is_comparable

if TYPE_CHECKING:
    from .event_window import EventWindow
    from .groups import ChangedGroups
    from .ledger import Line, Totals

_SHOWN = 3
_PLACEHOLDERS = {"source": "<catalog.schema.table>", "snapshot_id": "<snapshot id>"}


def captured(ranges: Iterable[Range]) -> str:
    """The log line of a capture, for example ``captured lake.ops.flights: 3 snapshots, 12 files, …``."""
    return "; ".join(f"captured {planned.table}: {_contents(planned)}" for planned in ranges)


def _contents(planned: Range) -> str:
    end = None if planned.end is None else planned.end.snapshot_id
    if planned.kind is Kind.EMPTY:
        return "nothing new" if end is not None else "nothing, it has no snapshot yet"
    if planned.kind is Kind.WINDOW:
        return f"the rows with {planned.condition} (window) {_abbreviated(end)}"
    waiting = ""
    if planned.waiting:
        waiting = f", and {_counted(planned.waiting, 'snapshot')} more for the next runs, by the limits"
        waiting += " of the model"
    start = None if planned.start is None else planned.start.snapshot_id
    return (
        f"{_counted(planned.snapshots, 'snapshot')}, {_counted(planned.files, 'file')}, "
        f"{_counted(planned.records, 'row')}, {size_text(planned.size)} ({planned.kind.value}) "
        f"{_abbreviated(start)}→{_abbreviated(end)}{waiting}"
    )


def _abbreviated(snapshot_id: int | None) -> str:
    return "" if snapshot_id is None else f"{str(snapshot_id)[:3]}…"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_text(size: int) -> str:
    """A number of bytes in the largest binary unit that leaves at least 1."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"


def source_missing(source: TableName, model: str) -> SourceMissingError:
    """The source does not exist."""
    return SourceMissingError(
        f"The source {source} of {model} does not exist.\n"
        "  Expected: an Iceberg table.\n"
        f"  Found: no table or view of this name in catalog '{source.catalog}'.\n"
        "  What to do: create the table, or correct the name (database is the catalog, schema the namespace) in the "
        "source's definition."
    )


def not_iceberg(error: NotIcebergError, source: TableName, model: str) -> NotIcebergError:
    """The source is a view, or a table of another format."""
    return NotIcebergError(
        f"{error.msg}\n"
        f"  Found: {source} in an ip_ macro of {model}.\n"
        "  What to do: capture the Iceberg table that it comes from, or call ref() or source() without the macro."
    )


def wrong_materialization(macro: str, model: str, materialized: str) -> ConfigError:
    """An ``ip_`` macro was called outside of a model of this materialization."""
    return ConfigError(
        f"{macro}() was called in {model}, which is materialized as '{materialized}'.\n"
        f"  Expected: a model with materialized='{MATERIALIZATION}', which alone has a checkpoint to continue from.\n"
        f"  What to do: set that materialization, or call ref() or source() without {macro}()."
    )


def ephemeral(macro: str, name: str, model: str) -> ConfigError:
    """An ``ip_`` macro got an ephemeral model, which is no table."""
    return ConfigError(
        f"{macro}() was called on {name} in {model}, which is an ephemeral model.\n"
        "  Expected: an Iceberg table, whose commits can be captured.\n"
        "  What to do: materialize it as a table, or read the table that it reads."
    )


def not_a_relation(macro: str, value: object) -> ConfigError:
    """An ``ip_`` macro got something that is no relation."""
    return ConfigError(
        f"{macro}() expects a relation, as ref() and source() give it; found {str(value)[:80]!r}, a "
        f"{type(value).__name__}.\n"
        f"  What to do: write {macro}(ref('…')) or {macro}(source('…', '…'))."
    )


def no_capture(model: str) -> ConfigError:
    """The model's SQL calls no ``ip_`` macro."""
    return ConfigError(
        f"{model} is materialized as '{MATERIALIZATION}', but its SQL captures no source.\n"
        "  Expected: at least one of ip_changes(), ip_changelog() and ip_as_of() around a ref() or source().\n"
        "  What to do: read the source that drives the model by {{ ip_changes(ref('…')) }}, or use another "
        "materialization."
    )


def history_break(broken: Break, source: TableName, model: str, *, may_rebuild: bool) -> HistoryBreakError:
    """The source's history does not lead from the checkpoint to its head."""
    name = _short(model)
    lines = [
        f"The history of {source} does not lead from the checkpoint of {model} to its head ({broken.cause.value}).",
        f"  Expected: {_position(broken.position)} "
        + ("in its history." if broken.end is None else f"among the ancestors of {described(broken.end)}."),
        f"  Found: {broken.reason}"
        + ("" if broken.ancestor is None else f"; the common ancestor is {described(broken.ancestor)}")
        + (
            ""
            if broken.ancestor is not None or broken.oldest is None
            else f"; the oldest snapshot that is still known is {described(broken.oldest)}"
        )
        + ".",
        "  What to do, one of:",
    ]
    ways = [_full_refresh_way(name, may_rebuild)]
    if broken.cause is Cause.ROLLED_BACK and broken.ancestor is not None:
        ways.append(
            "if the target shall keep what came from the undone snapshots, go on from the common ancestor: "
            + set_checkpoint_command(name, source, broken.ancestor.snapshot_id)
        )
    elif broken.end is not None:
        ways.append(
            "if you know up to which snapshot the target holds the source's rows, go on from there: "
            + set_checkpoint_command(name, source, None)
        )
    if may_rebuild:
        ways.append(f"to rebuild by itself in such a case: on_history_break: {{{broken.cause.value}: full_refresh}}")
    return HistoryBreakError("\n".join([*lines, *_numbered(ways)]))


def rewritten(found: Rewritten, source: TableName, model: str, *, may_rebuild: bool) -> RewriteError:
    """The range holds commits that change or delete rows."""
    shown = ", ".join(f"{snapshot.operation} {described(snapshot)}" for snapshot in found.rewrites[:_SHOWN])
    more = len(found.rewrites) - _SHOWN
    ways = [
        _full_refresh_way(_short(model), may_rebuild),
        "if the model can take up rows that changed, and may keep those that were deleted: on_source_rewrite: upserts",
        "if its target shall follow updates and deletes: ip_changelog() with incremental_strategy: apply_changes",
        "if the model needs only rows that were appended: on_source_rewrite: ignore",
    ]
    if may_rebuild:
        ways.append("to rebuild by itself in such a case: on_source_rewrite: full_refresh")
    return RewriteError(
        "\n".join(
            [
                f"{source} was rewritten since {model} last read it: {rewrites(found)}, "
                "which ip_changes() cannot show as new rows.",
                f"  Expected: commits that only add rows after {_position(found.position)}, up to "
                f"{described(found.end)}.",
                f"  Found: {shown}{f', and {more} more' if more > 0 else ''}.",
                "  What to do, one of:",
                *_numbered(ways),
            ]
        )
    )


def rewrites(found: Rewritten) -> str:
    """How many commits changed or deleted rows."""
    return f"{_counted(len(found.rewrites), 'commit')} changed or deleted rows"


def incomparable(columns: Sequence[TableColumn], source: TableName, model: str) -> RewriteError | None:
    """A column of the table cannot be compared, or is named as the changelog's own; None where there is none such."""
    types = [column for column in columns if not is_comparable(column.type)]
    if types:
        found = ", ".join(f"{column.name} ({column.type})" for column in types)
        found = f"columns whose values Spark cannot compare: {found}"
    elif any(column.name.lower() == CHANGE_TYPE for column in columns):
        found = f"a column {CHANGE_TYPE} of its own"
    else:
        return None
    return RewriteError(
        f"{source} was rewritten since {model} last read it, and its net changes cannot be told.\n"
        "  Expected: columns of types that can be compared, and of other names than the changelog's.\n"
        f"  Found: {found}.\n"
        f"  What to do: rebuild the model with `dbt run --full-refresh --select {_short(model)}`, or read the changes"
        " of a table without these columns."
    )


def require_columns(
    macro: str, names: Sequence[str], columns: Sequence[TableColumn], source: TableName, model: str
) -> None:
    """Raise ConfigError where a macro got a name that is no column of its relation."""
    known = {column.name.lower() for column in columns}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise ConfigError(
            f"{macro}() was called in {model} with {', '.join(unknown)}.\n"
            f"  Expected: columns of {source}: {', '.join(column.name for column in columns)}.\n"
            "  What to do: correct the name."
        )


def not_columns(macro: str, value: object, model: str) -> ConfigError:
    """A macro got something that is no column name, or list of them."""
    return ConfigError(
        f"{macro}() was called in {model} with {str(value)[:80]!r} where it takes columns.\n"
        "  Expected: a column name, or a list of column names.\n"
        "  What to do: correct it."
    )


def groups_need_merge(model: str, policy: Policy, keys: Sequence[str]) -> ConfigError:
    """``ip_changed_groups`` stands in a model that cannot replace whole groups of its table."""
    return ConfigError(
        f"ip_changed_groups() was called in {model}, whose table cannot have whole groups replaced.\n"
        "  Expected: incremental_strategy 'merge', a unique_key that the keys of the groups are part of (by them the "
        "table's rows of a group are found), and no merge_update_columns, merge_exclude_columns or "
        "incremental_predicates.\n"
        f"  Found: incremental_strategy '{policy.strategy.value}', unique_key {list(policy.unique_key)}, groups by "
        f"{list(keys)}{'' if policy.replaces_rows else ', and rows that are not replaced as a whole'}.\n"
        "  What to do: set these configs, and name the columns of the groups in the model's SQL as in the relation."
    )


def no_range(column: str, kind: str) -> ConfigError:
    """``ip_range`` got a column whose values no literals can bound."""
    return ConfigError(
        f"ip_range() was called with {column}, whose type is {kind}.\n"
        "  Expected: a column of strings, numbers, dates, times or booleans.\n"
        "  What to do: choose another column."
    )


def other_key_columns(keys: Sequence[str], source: TableName, model: str) -> ConfigError:
    """Keys of changed groups name other columns than before, so that every group may have changed without a commit."""
    return ConfigError(
        f"{model} groups {source} by {', '.join(keys)}, which is another column now than when the model last ran.\n"
        "  Expected: the same column under this name, not one that was renamed, or dropped and added again.\n"
        "  What to do: correct the model's SQL if the name has changed, and rebuild the model, whose groups are those "
        f"of the old column: dbt run --full-refresh --select {_short(model)}"
    )


def groups_need_all_columns(model: str, missing: Sequence[str]) -> ConfigError:
    """A model that replaces whole groups leaves out columns of its table."""
    return ConfigError(
        f"{model} calls ip_changed_groups(), but its SQL gives no value for all columns of its table.\n"
        "  Expected: every column, since the rows of a changed group are replaced as a whole.\n"
        f"  Found: no {', '.join(missing)}.\n"
        "  What to do: add the column to the SQL, or have it dropped by on_schema_change: sync_all_columns."
    )


def other_groups(model: str, before: ChangedGroups, found: ChangedGroups) -> ConfigError:
    """A model reads changed groups that are chosen in two different ways."""
    ways = (
        f"{', '.join(groups.keys)} in {', '.join(sorted(str(table) for table in groups.relations))}"
        for groups in (before, found)
    )
    return ConfigError(
        f"ip_changed_groups() is called in {model} for different groups: {', and '.join(ways)}.\n"
        "  Expected: the same keys each time, and the same relations whose changes choose the groups, since all chosen "
        "groups are replaced in the table.\n"
        "  What to do: give each call the same changes_of, a list of all relations, or split the model."
    )


def other_key_types(model: str, found: Iterable[tuple[str, str, str]]) -> ConfigError:
    """The keys of groups have different types; ``found``: (table, column, type)."""
    listed = "; ".join(f"{column} of {table} is {type_}" for table, column, type_ in found)
    return ConfigError(
        f"ip_changed_groups() in {model} gets keys of different types.\n"
        "  Expected: a key of one type in the relation, in those whose changes choose the groups, and in the model's "
        "table, so that the same groups are meant everywhere.\n"
        f"  Found: {listed}.\n"
        "  What to do: cast the column where it comes from, or leave it as it is in the model's SQL."
    )


def no_staged_checkpoint(history: History, model: str) -> ConcurrentRunError:
    """The statement that was to carry the checkpoint made no snapshot with it."""
    return ConcurrentRunError(
        f"The rows of {model} were not published: the last commit that was staged for {history.table} carries no "
        "checkpoint.\n"
        "  Expected: a snapshot of this run with its checkpoint in the summary.\n"
        "  Nothing of this run was published. What to do: run the model again."
    )


def no_change_type(model: str, columns: Iterable[str]) -> ConfigError:
    """The strategy ``apply_changes`` got rows that do not say what to do with them."""
    return ConfigError(
        f"The rows of {model} do not say what to do with them.\n"
        f"  Expected: a column {CHANGE_TYPE}, as incremental_strategy 'apply_changes' needs it.\n"
        f"  Found: {', '.join(columns)}.\n"
        f"  What to do: read the source by ip_changelog() and pass {CHANGE_TYPE} on, or set another strategy."
    )


def must_not_rebuild(model: str, reason: str) -> CheckpointError:
    """A policy asks for a rebuild of a model that is configured ``full_refresh: false``."""
    return CheckpointError(
        f"{model} would have to be rebuilt, but it is configured with full_refresh: false.\n"
        f"  Found: {reason}\n"
        f"  What to do: remove full_refresh: false and run `dbt run --full-refresh --select {_short(model)}`; or, if "
        "the table is known to hold a source's rows up to a snapshot, go on from there: "
        f"`{_command('ip_set_checkpoint', model=_short(model), **_PLACEHOLDERS)}`."
    )


def missing_checkpoint(target: TableName, model: str, unproven: Checkpoint | None) -> CheckpointError:
    """The target exists, but no checkpoint is in force for it."""
    name = _short(model)
    found = "no checkpoint in the snapshots of the table or in its properties"
    command = (
        f"`{_command('ip_set_checkpoint', model=name, source='<catalog.schema.table>', snapshot_id='<snapshot id>')}`"
    )
    if unproven is not None:
        positions = ", ".join(f"{key} at {_position(position)}" for key, position in unproven.sources.items())
        found = (
            f"only the table property says one (epoch {unproven.epoch}, {positions}), and the table's snapshots have "
            "expired that would prove that its rows are those of that checkpoint, and not of a state before it"
        )
        commands = [
            f"`{_command('ip_set_checkpoint', model=name, source=key, snapshot_id=position.snapshot_id)}`"
            for key, position in unproven.sources.items()
            if position.snapshot_id is not None
        ]
        command = " and ".join(commands) or command
    return CheckpointError(
        f"{target} exists, but there is no checkpoint that says up to where {model} has read its sources.\n"
        f"  Expected: a table that this model built, with its checkpoint.\n"
        f"  Found: {found}.\n"
        "  What to do, one of:\n"
        f"    1. rebuild it: `dbt run --full-refresh --select {name}`\n"
        f"    2. if its rows are known to be complete up to a snapshot, take that up: {command}\n"
        "    3. to rebuild by itself in such a case: on_missing_checkpoint: full_refresh"
    )


def other_model(target: TableName, model: str, checkpoint: Checkpoint) -> CheckpointError:
    """The target's checkpoint names another model."""
    return CheckpointError(
        f"The checkpoint of {target} is not one of {model}.\n"
        f"  Expected: a table that {model} built.\n"
        f"  Found: epoch {checkpoint.epoch} of {checkpoint.model}.\n"
        f"  What to do: if the model was renamed, `{_command('ip_set_checkpoint', model=_short(model))}` takes the "
        f"table over as it is; otherwise give the model an alias of its own, or rebuild the table with "
        f"`dbt run --full-refresh --select {_short(model)}`."
    )


def new_source(source: TableName, model: str, checkpoint: Checkpoint) -> CheckpointError:
    """The model's SQL reads the changes of a source that its checkpoint does not know."""
    name = _short(model)
    known = ", ".join(checkpoint.sources) or "none"
    return CheckpointError(
        f"{model} reads the changes of {source}, but its checkpoint has no position in it.\n"
        f"  Expected: one of the sources of its last commit: {known}.\n"
        "  Found: a source that is new in the model's SQL, or renamed.\n"
        "  What to do, one of:\n"
        f"    1. rebuild the model with it: `dbt run --full-refresh --select {name}`\n"
        "    2. begin with what is committed after a snapshot of it: " + set_checkpoint_command(name, source, None)
    )


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


def set_checkpoint_command(model: str, source: TableName, snapshot_id: int | None) -> str:
    """The command that sets the position of a model in a source."""
    shown = "<snapshot id>" if snapshot_id is None else snapshot_id
    return f"`{_command('ip_set_checkpoint', model=model, source=str(source), snapshot_id=shown)}`"


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


def checkpoint_set(target: TableName, checkpoint: Checkpoint) -> str:
    """What ``ip_set_checkpoint`` says when it is done."""
    positions = "\n".join(f"  {source}: {_position(position)}" for source, position in checkpoint.sources.items())
    return (
        f"{target} goes on as epoch {checkpoint.epoch} of {checkpoint.model}; the next run reads what was committed "
        f"after:\n{positions}"
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


def no_ledger(target: TableName, model: str) -> CheckpointError:
    """There is no commit of a model to account for."""
    return CheckpointError(
        f"{target} has no checkpoint, so there is nothing to account for.\n"
        f"  Expected: a table that {model} built.\n"
        "  What to do: run the model first."
    )


def unknown_epoch(target: TableName, epoch: int, known: Sequence[int]) -> ConfigError:
    """An epoch was asked for that the table's history does not have."""
    return ConfigError(
        f"{target} has no commit of epoch {epoch} in its history.\n"
        f"  Expected: one from {known[0]} to {known[-1]}, as ip_ledger lists them.\n"
        "  What to do: choose one of these."
    )


def nothing_to_replay(epoch: int) -> CheckpointError:
    """An epoch read no range of commits."""
    return CheckpointError(
        f"Epoch {epoch} read no range of commits.\n"
        "  Expected: the epoch of a build, or of a run that applied what was committed.\n"
        "  Found: a position that was set by hand or only moved, or a window of event time that was processed again.\n"
        "  What to do: choose another epoch."
    )


def not_replayable(source: str, snapshot_id: int | None) -> CheckpointError:
    """What an earlier run read is not there any more."""
    return CheckpointError(
        f"What was read of {source} cannot be shown again.\n"
        f"  Expected: snapshot {snapshot_id} in its history.\n"
        "  Found: it has expired, or the table was replaced or rolled back since.\n"
        "  What to do: choose a later epoch; keep snapshots longer by history.expire.max-snapshot-age-ms."
    )


def ledger_broken(text: str, wrong: Line | None, broken: Totals | None) -> CheckpointError:
    """The ledger does not prove that each commit was consumed once."""
    found = []
    if wrong is not None:
        found.append(
            f"{'' if wrong.finding is None else wrong.finding.value} at epoch {wrong.epoch} in {wrong.source}: it went "
            f"on from {wrong.from_snapshot_id}, which is not where the commit before it ended"
        )
    if broken is not None:
        found.append(f"at epoch {broken.epoch}, the row counts of snapshot {broken.broken_at} do not follow")
    return CheckpointError(
        f"{text}\nThe ledger does not add up.\n"
        "  Expected: each commit's range begins where the one before it ended.\n"
        f"  Found: {'; '.join(found)}.\n"
        "  What to do: if rows may be missing or double, rebuild the model with --full-refresh."
    )


def addition_beside_deletes(commit: Snapshot, source: TableName, model: str) -> RewriteError:
    """An INSERT OVERWRITE of an empty partition cannot be read, for what else is in the table."""
    return RewriteError(
        f"What {described(commit)} added to {source} cannot be read by {model}.\n"
        "  Expected: an append; or an overwrite that only added rows, in a table without delete files, or with the "
        "columns that it had then.\n"
        "  Found: an overwrite, delete files, and columns that were changed since.\n"
        f"  What to do: rebuild the model with `dbt run --full-refresh --select {_short(model)}`, or use "
        "ip_changelog() or on_source_rewrite: upserts."
    )


def no_window(model: str, policy: Policy, *, full_refresh: bool) -> ConfigError:
    """A window was given to a run that cannot process it again."""
    found = "--full-refresh, which builds the whole table" if full_refresh else f"'{policy.strategy.value}'"
    return ConfigError(
        f"{model} cannot process an event-time window again.\n"
        "  Expected: --event-time-start and --event-time-end with incremental_strategy 'merge' or 'insert_overwrite', "
        "which replace the rows that the table has already, and without --full-refresh.\n"
        f"  Found: {found}.\n"
        "  What to do: leave these options out, or rebuild the model, or read a range of commits again by rewinding it "
        "with ip_set_checkpoint."
    )


def window_cuts_partitions(window: EventWindow, model: str, event_time: str, partition_by: object) -> ConfigError:
    """With insert_overwrite a window does not consist of whole partitions."""
    return ConfigError(
        f"The window {window} does not consist of whole partitions of {model}.\n"
        f"  Expected: with insert_overwrite, a partition_by that divides the model's event_time, {event_time}, and a "
        "window that begins and ends where partitions do; else rows outside of the window would be overwritten.\n"
        f"  Found: partition_by {partition_by!r}.\n"
        "  What to do: widen the window to whole partitions, or use incremental_strategy 'merge'."
    )


def window_of_itself(model: str) -> ConfigError:
    """A window was given to a model that adds to what its own table has."""
    return ConfigError(
        f"{model} cannot process an event-time window again, since its SQL reads its own table.\n"
        "  Expected: SQL whose result does not depend on what the table has, which has the window's rows already: they "
        "would be counted twice.\n"
        "  Found: the name of the table in the compiled SQL.\n"
        "  What to do: compute whole groups by ip_changed_groups(), or rebuild the model with "
        f"`dbt run --full-refresh --select {_short(model)}`."
    )


def other_event_times(model: str, event_time: str, others: Iterable[str]) -> ConfigError:
    """With insert_overwrite, a window is told by other columns of the sources than of the model."""
    return ConfigError(
        f"{model} cannot overwrite the partitions of an event-time window.\n"
        f"  Expected: with insert_overwrite, the model's event_time, {event_time}, on every source that has one: "
        "only so are all rows of a partition read again.\n"
        f"  Found: {', '.join(sorted(others))}.\n"
        "  What to do: set the same event_time, or use incremental_strategy 'merge'."
    )


def no_event_time(source: TableName, model: str) -> ConfigError:
    """A source of a window does not say which of its columns is the event time."""
    return ConfigError(
        f"{model} is to process an event-time window again, but {source} has no event_time.\n"
        "  Expected: the config event_time on every source and model that it reads the changes of.\n"
        "  What to do: set event_time in its properties, as for dbt's microbatch, or rewind the model by "
        "ip_set_checkpoint."
    )


def outside_window(window: EventWindow, event_time: str) -> str:
    """What is said where the model's SQL gives rows outside of the window."""
    return f"The model gives rows whose {event_time} is outside of the window {window}: their partitions are not whole"


def window_is_gone(source: TableName, model: str, position: Position) -> HistoryBreakError:
    """The state of a source that a window is read at is gone."""
    return HistoryBreakError(
        f"{model} cannot process a window of {source} again as it has consumed it.\n"
        f"  Expected: {_position(position)}, which its checkpoint names.\n"
        "  Found: that snapshot has expired, or the table was replaced or rolled back since.\n"
        f"  What to do: run the model without a window first (`dbt run --select {_short(model)}`), then again with it."
    )


def partial_build(target: TableName, model: str) -> CheckpointError:
    """A table that was built under ``--empty`` or ``--sample`` cannot be given a checkpoint."""
    return CheckpointError(
        f"{target} was built under --empty or --sample, so it holds no rows to go on from.\n"
        f"  Expected: a table with all rows of a source up to a snapshot.\n"
        f"  What to do: run {_short(model)}; its next run builds the whole table by itself."
    )


def reads_itself(macro: str, model: str) -> ConfigError:
    """A model captures its own table, whose every commit would be new to its next run."""
    return ConfigError(
        f"{macro}() was called in {model} on the model's own table.\n"
        "  Expected: another table, whose commits drive the model.\n"
        "  What to do: write {{ this }} without the macro."
    )


def not_built_by(target: TableName, model: str, found: str) -> CheckpointError:
    """What stands in the target's place is a table of another format."""
    return CheckpointError(
        f"{target} exists, but as a table of format {found}, which {model} did not build.\n"
        "  Expected: no table, or an Iceberg table that this model built.\n"
        "  What to do, one of:\n"
        f"    1. replace it, rows and all: `dbt run --full-refresh --select {_short(model)}`\n"
        "    2. keep it: give the model an alias of its own\n"
        "    3. keep its rows: migrate it to Iceberg first (CALL <catalog>.system.migrate), then adopt it with "
        "`dbt run-operation ip_set_checkpoint`"
    )


def other_partitioning(target: TableName, model: str, configured: Sequence[str], found: Sequence[str]) -> ConfigError:
    """A table is partitioned in another way than its model's insert_overwrite takes it to be."""
    return ConfigError(
        f"{target} is not partitioned as {model} is configured: insert_overwrite would replace other rows than "
        "meant.\n"
        f"  Expected: partition_by {', '.join(configured)}.\n"
        f"  Found: {', '.join(found) or 'no partitions'}.\n"
        f"  What to do: rebuild it with `dbt run --full-refresh --select {_short(model)}`, or set partition_by to what "
        "the table has."
    )


def too_many_additions(source: TableName, model: str, found: int, limit: int) -> RewriteError:
    """The range holds more separate overwrites that only added rows than one statement can name."""
    return RewriteError(
        f"{source} has {found} separate overwrites that only added rows since {model} last read it.\n"
        f"  Expected: at most {limit}, which one statement can tell apart.\n"
        f"  What to do: rebuild the model with `dbt run --full-refresh --select {_short(model)}`, and then run it "
        "more often."
    )


def target_gone(target: TableName, model: str) -> ConcurrentRunError:
    """The target was dropped under the run."""
    return ConcurrentRunError(
        f"{target} was dropped while {model} was building.\n"
        "  Expected: the table that this run builds or continues.\n"
        "  Found: no table of this name.\n"
        "  What to do: find out who drops it, and run the model again."
    )


def _command(operation: str, **arguments: object) -> str:
    listed = ", ".join(f"{key}: {_yaml(value)}" for key, value in arguments.items())
    return f"dbt run-operation {operation} --args {shlex.quote(f'{{{listed}}}')}"


def _yaml(value: object) -> str:
    text = str(value)
    plain = text.replace("_", "").replace(".", "").isalnum() or (text.startswith("<") and text.endswith(">"))
    return text if plain else json.dumps(text, ensure_ascii=False)


def _full_refresh_way(name: str, may_rebuild: bool) -> str:
    command = f"rebuild the model from the source as it is now: `dbt run --full-refresh --select {name}`"
    return command if may_rebuild else command + " (its config has full_refresh: false: remove that first)"


def _numbered(ways: Sequence[str]) -> list[str]:
    return [f"    {number}. {way}" for number, way in enumerate(ways, 1)]


def _short(model: str) -> str:
    return model.rsplit(".", maxsplit=1)[-1]


def _position(position: Position) -> str:
    if position.snapshot_id is None:
        return "the empty table"
    return _described(position.snapshot_id, position.sequence_number, position.timestamp_ms)


def described(snapshot: Snapshot | None) -> str:
    """A snapshot by id, time and sequence number."""
    if snapshot is None:
        return "the empty table"
    return _described(snapshot.snapshot_id, snapshot.sequence_number, snapshot.timestamp_ms)


def _described(snapshot_id: int, sequence_number: int | None, timestamp_ms: int | None) -> str:
    parts = []
    if timestamp_ms is not None:
        parts.append(instant(timestamp_ms))
    if sequence_number is not None:
        parts.append(f"sequence number {sequence_number}")
    return f"snapshot {snapshot_id}" + (f" ({', '.join(parts)})" if parts else "")


def instant(timestamp_ms: int) -> str:
    """A point in time, in UTC."""
    return datetime.fromtimestamp(timestamp_ms / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def age(milliseconds: int) -> str:
    """A span of time in its largest unit."""
    seconds = max(milliseconds, 0) // 1000
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return _counted(seconds // length, unit)
    return _counted(seconds, "second")

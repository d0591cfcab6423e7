"""How snapshots and commands are written wherever people read them, and the log lines of a run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..errors import IncrementalError
from ..plan.breaks import Break
from ..plan.changes import Rewritten
from ..plan.event_window import EventWindow
from ..plan.ranges import Nothing, Range, Windowed
from ..quantities import counted, instant, rows_text, size_text
from ..table.checkpoint import Checkpoint, Position
from ..table.commits import Effect, added, effect
from ..table.history import Snapshot, TableName
from .caller import by_caller, is_dbt


def again() -> str:
    """How to repeat a run."""
    return by_caller(
        "run the model again", "run the job again", "call capture again, and write its rows to the new branch"
    )


def run_again() -> str:
    """What to do after a run of which nothing was published."""
    return f"Nothing of this run was published. To fix: {again()}"


def alone() -> str:
    """The advice against runs that overtake one another."""
    who = by_caller("a model", "a job", "a job")
    return f"let only one run of {who} be active at a time"


def captured(ranges: Iterable[Range], readings: Mapping[TableName, str]) -> str:
    """The log line of a capture, for example ``captured lake.ops.flights: 3 snapshots, 12 files, …``.

    ``readings``: what the net changes of a table are read by.
    """
    return "; ".join(
        f"captured {planned.table}: {_contents(planned, readings.get(planned.table))}" for planned in ranges
    )


def left_out(name: str, sources: Iterable[str]) -> str:
    """The warning that a run does not read sources of the last one, whose positions its commit does not keep."""
    listed = ", ".join(sources)
    return (
        f"The last run of {name} also read {listed}, and this one does not. Its commit drops that position: a later "
        "run that names the source again has to rebuild the table. To keep it, abort, and capture with all sources."
    )


def not_of_window(model: str, window: EventWindow) -> str:
    """The log line of a model that an invocation with an event-time window runs as usual."""
    return f"{model} has no event_time: it continues from its checkpoint, and does not process {window} again."


def _contents(planned: Range, reading: str | None) -> str:
    end = None if planned.end is None else planned.end.snapshot_id
    if isinstance(planned, Windowed):
        return f"the rows with {planned.window}, as they were consumed (window) {_abbreviated(end)}"
    waiting = ""
    if planned.waiting:
        waiting = f", and {counted(planned.waiting, 'snapshot')} left for the next runs by the model's limits"
    if isinstance(planned, Nothing):
        return f"nothing new{waiting}" if end is not None else "nothing, it has no snapshot yet"
    start = None if planned.start is None else planned.start.snapshot_id
    counts = planned.counts
    kind = planned.kind.value if reading is None else f"{planned.kind.value}, read by {reading}"
    return (
        f"{counted(counts.snapshots, 'snapshot')}, {counted(counts.files, 'file')}, "
        f"{rows_text(counts.records, counts.at_most)}, {size_text(counts.size)} ({kind}) "
        f"{_abbreviated(start)}→{_abbreviated(end)}{waiting}"
    )


def _abbreviated(snapshot_id: int | None) -> str:
    return "" if snapshot_id is None else f"{str(snapshot_id)[:3]}…"


def argument(value: object) -> str:
    """What a macro was given, for an error: ``'events', of type str``, or ``nothing``."""
    if value is None or not str(value):  # as what Jinja does not know is written
        return "nothing"
    return f"{str(value)[:80]!r}, of type {type(value).__name__}"


def command(operation: str, **arguments: object) -> str:
    """An operation as it is typed in a shell."""
    listed = ", ".join(f"{key}: {_yaml(value)}" for key, value in arguments.items())
    return f"dbt run-operation {operation} --args {shlex.quote(f'{{{listed}}}')}"


def _yaml(value: object) -> str:
    text = str(value)
    plain = text.replace("_", "").replace(".", "").isalnum() or (text.startswith("<") and text.endswith(">"))
    return text if plain else json.dumps(text, ensure_ascii=False)


def full_refresh(model: str) -> str:
    """What rebuilds a table, given the model's name or unique id."""
    return by_caller(
        f"`dbt run --full-refresh --select {short(model)}`",
        "`job.run(full_refresh=True)`",
        "`iceberg-incremental capture --full-refresh`, with all sources",
    )


def rebuild(model: str) -> str:
    """The advice to rebuild a table, given the model's name or unique id."""
    return f"rebuild the {by_caller('model', 'table', 'table')} with {full_refresh(model)}"


def full_refresh_way(name: str, may_rebuild: bool) -> str:
    """How to rebuild a model, and what to remove first if its config forbids that."""
    what = by_caller("model", "table", "table")
    command = f"rebuild the {what} from the source as it is now: {full_refresh(name)}"
    return command if may_rebuild else command + " (its config has full_refresh: false: remove that first)"


def numbered(ways: Sequence[str]) -> str:
    """A numbered list of what to do."""
    return "\n".join(f"    {number}. {way}" for number, way in enumerate(ways, 1))


def short(model: str) -> str:
    """A model as dbt's --select takes it, given its unique id."""
    return model.rsplit(".", maxsplit=1)[-1]


def described(at: Snapshot | Position | None) -> str:
    """A snapshot, or the position of a checkpoint in a source, by id, time and sequence number."""
    if at is None or at.snapshot_id is None:
        return "the empty table"
    parts = [] if at.timestamp_ms is None else [instant(at.timestamp_ms)]
    parts += [] if at.sequence_number is None else [f"sequence number {at.sequence_number}"]
    return f"snapshot {at.snapshot_id}" + (f" ({', '.join(parts)})" if parts else "")


def set_checkpoint_command(
    model: str, source: TableName | str = "<catalog.schema.table>", snapshot_id: int | str = "<snapshot id>"
) -> str:
    """The command that sets the position of a model in a source."""
    return f"`{command('ip_set_checkpoint', model=model, source=source, snapshot_id=snapshot_id)}`"


def set_checkpoint_ways(condition: str, commands: str) -> list[str]:
    """The way to set a position by hand: none without dbt, whose operation does it."""
    return [f"{condition}: {commands}"] if is_dbt() else []


def checkpoint_set(target: TableName, checkpoint: Checkpoint) -> str:
    """What ``ip_set_checkpoint`` says when it is done."""
    positions = "\n".join(f"  {source}: {described(position)}" for source, position in checkpoint.sources.items())
    return (
        f"{target} continues as epoch {checkpoint.epoch} of {checkpoint.model}; the next run reads what was committed "
        f"after:\n{positions}"
    )


def reads_again(model: str, source: str, before: Position) -> str:
    """The warning that a model without a key was set back: it writes rows that it has written before."""
    back = command("ip_set_checkpoint", model=short(model), source=source, snapshot_id=before.snapshot_id)
    return (
        f"This is before {described(before)} of {source}, up to which the model has read. The next run reads the "
        "rows in between again, and adds them to those that the table has: delete them there first. "
        f"To undo it: `{back}`"
    )


def skips(model: str, source: str, before: Position, commits: Sequence[Snapshot] | None) -> str:
    """What ``ip_set_checkpoint`` says of a position that was moved forward.

    ``commits``: those that touched rows in between; None where they are not known.
    """
    back = command("ip_set_checkpoint", model=short(model), source=source, snapshot_id=before.snapshot_id)
    undo = "" if before.snapshot_id is None else f" To undo it: `{back}`"
    if commits is None:
        return (
            f"Skipped of {source}: unknown, because its history does not lead from {described(before)} to the new "
            f"position. No run of {short(model)} will read what lies in between.{undo}"
        )
    if not commits:
        return f"Skipped of {source}: nothing, since no commit in between touched rows."
    files, rows, size = (sum(counts) for counts in zip(*map(added, commits), strict=True))
    rewriting = sum(effect(commit) is Effect.REWRITE for commit in commits)
    rewrote = f", of which {rewriting:,} changed or deleted rows" if rewriting else ""
    return (
        f"Skipped of {source}: {counted(len(commits), 'snapshot')} after {described(before)}{rewrote}, with "
        f"{counted(files, 'added file')}, {counted(rows, 'row')}, {size_text(size)}. No run of {short(model)} will "
        f"read them.{undo}"
    )


def not_held(source: TableName, model: str, error: IncrementalError) -> str:
    """A source's tag could not be made, or dropped."""
    return (
        f"{model} does not hold its position in {source}.\n"
        "  Expected: a tag in the source, as the config `hold_source` asks for.\n"
        f"  Found: {error.msg.strip()}\n"
        "  To fix: let dbt's user alter this table, or remove `hold_source`. The run goes on; without the tag, an "
        "expiry of the source's snapshots can take away what is not read yet, and the next run then says so."
    )


def changes_not_told_apart(model: str) -> str:
    """The warning that a model takes each row of a changelog for a row of its source."""
    return (
        f"{model} reads ip_changelog(), and its SQL does not look at _change_type: rows that were deleted, and the old "
        "versions of those that were updated, count as rows. To follow the source, give _change_type to "
        "incremental_strategy: apply_changes; or filter by it."
    )


def appends_whole_tables(model: str) -> str:
    """The warning that a model appends all rows of its sources in each run."""
    return (
        f"{model} reads its sources by ip_as_of() only, and incremental_strategy is append: each run with new commits "
        "appends all rows of the sources again. To append the new rows only, read the source by ip_changes(); to "
        "replace all rows in each run, use materialized: table."
    )


def overwrites_by_new_rows(model: str) -> str:
    """The warning that new rows take the place of whole partitions."""
    return (
        f"{model} reads its sources by ip_changes() only, and incremental_strategy is insert_overwrite: a partition "
        "that gets new rows loses the rows that it has. To keep them, use append or merge, or read whole partitions by "
        "ip_range() and ip_as_of(). If each partition arrives in one run, set aggregates_of_changes: allow."
    )


def config_without_effect(config: str, models: Sequence[str]) -> str:
    """The warning that models of other materializations set a config of this package."""
    more = f" and {len(models) - 5} more" if len(models) > 5 else ""
    return (
        f"{config} has no effect on {', '.join(models[:5])}{more}: only materialized: iceberg_incremental_snapshot "
        "reads it."
    )


def reason_text(broken: Break) -> str:
    """Why the history does not lead on, and why the rows since cannot be recovered."""
    if broken.obstacle is None:
        return broken.reason.value
    columns = f"{', '.join(broken.columns)} " if broken.columns else ""
    return f"{broken.reason.value}, and {columns}{broken.obstacle.value}"


def rewrites(found: Rewritten) -> str:
    """How many commits changed or deleted rows."""
    return f"{counted(len(found.rewrites), 'commit')} changed or deleted rows"


def duplicates(found: Sequence[tuple[str, int, int]]) -> str:
    """Some of the keys that occur more than once, from (key, how often, how many such keys there are)."""
    return _keys(found, lambda times: f"{times} times")


def keys(found: Sequence[tuple[str, int, int]]) -> str:
    """Some keys, from (key, how often it occurs, how many such keys there are)."""
    return _keys(found, lambda times: counted(times, "row"))


def _keys(found: Sequence[tuple[str, int, int]], shown: Callable[[int], str]) -> str:
    named, all_keys = ", ".join(f"{key} ({shown(times)})" for key, times, _ in found), found[0][2]
    return named if all_keys == len(found) else f"{named}, and others: {counted(all_keys, 'key')} in all"

"""The wording of snapshots, commands, fixes and log lines."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..plan.breaks import Break
from ..plan.changes import Rewritten
from ..plan.ranges import Nothing, Range, Windowed
from ..quantities import counted, instant, rows_text, size_text
from ..table.checkpoint import Position
from ..table.commits import Effect, added, effect
from ..table.history import Snapshot, TableName
from .caller import by_caller, is_dbt


def again() -> str:
    """The advice to repeat a run."""
    return by_caller(
        "run the model again", "run the job again", "call capture again, and write the job's rows to the new branch"
    )


def one_run_at_a_time() -> str:
    """The advice to avoid concurrent runs."""
    who = by_caller("a model", "a job", "a job")
    return f"make sure that only one run of {who} is active at a time"


def captured(ranges: Iterable[Range], readings: Mapping[TableName, str]) -> str:
    """The log line of a capture, for example ``captured lake.ops.flights: 3 snapshots, 12 files, …``.

    ``readings``: the methods by which the net changes of tables are read.
    """
    return "; ".join(
        f"captured {planned.table}: {_contents(planned, readings.get(planned.table))}" for planned in ranges
    )


def keys_compared(snapshot: str, keys: int) -> str:
    """The log line of a dbt snapshot whose run compares only some keys."""
    return f"{snapshot}: compares the rows of {counted(keys, 'changed key')}"


def _contents(planned: Range, reading: str | None) -> str:
    end = None if planned.end is None else planned.end.snapshot_id
    if isinstance(planned, Windowed):
        return f"the rows with {planned.window}, at the snapshot that was already read (window) {_abbreviated(end)}"
    waiting = ""
    if planned.waiting:
        waiting = f", and {counted(planned.waiting, 'snapshot')} left for later runs by the model's limits"
    if isinstance(planned, Nothing):
        return f"nothing new{waiting}" if end is not None else "nothing: the table has no snapshot yet"
    start = None if planned.start is None else planned.start.snapshot_id
    counts = planned.counts
    kind = planned.kind.value if reading is None else f"{planned.kind.value}, read {reading}"
    return (
        f"{counted(counts.snapshots, 'snapshot')}, {counted(counts.files, 'file')}, "
        f"{rows_text(counts.records, counts.at_most)}, {size_text(counts.size)} ({kind}) "
        f"{_abbreviated(start)}→{_abbreviated(end)}{waiting}"
    )


def _abbreviated(snapshot_id: int | None) -> str:
    return "" if snapshot_id is None else f"{str(snapshot_id)[:3]}…"


def argument(value: object) -> str:
    """An argument of a macro as text for an error: ``'events', of type str``, or ``nothing``."""
    if value is None or not str(value):  # an undefined Jinja variable renders as an empty string
        return "nothing"
    return f"{str(value)[:80]!r}, of type {type(value).__name__}"


def command(operation: str, **arguments: object) -> str:
    """The shell command of an operation."""
    listed = ", ".join(f"{key}: {_yaml(value)}" for key, value in arguments.items())
    return f"dbt run-operation {operation} --args {shlex.quote(f'{{{listed}}}')}"


def _yaml(value: object) -> str:
    text = str(value)
    plain = text.replace("_", "").replace(".", "").isalnum() or (text.startswith("<") and text.endswith(">"))
    return text if plain else json.dumps(text, ensure_ascii=False)


def full_refresh(model: str) -> str:
    """The command that rebuilds a table, given the model's name or unique id."""
    return by_caller(
        f"`dbt run --full-refresh --select {short(model)}`",
        "`job.run(full_refresh=True)`",
        "`iceberg-incremental capture --full-refresh`, with all sources",
    )


ANOTHER_HISTORY = "keep the table, and start another history table in a model with another name"


def rebuild(model: str) -> str:
    """The advice to rebuild a table, given the model's name or unique id."""
    return f"rebuild the {by_caller('model', 'table', 'table')} with {full_refresh(model)}"


def full_refresh_way(name: str, may_rebuild: bool) -> str:
    """The advice to rebuild a model, and to first remove the config that forbids it."""
    what = by_caller("model", "table", "table")
    command = f"rebuild the {what} from the source as it is now: {full_refresh(name)}"
    return command if may_rebuild else command + " (first remove full_refresh: false from its config)"


DETERMINISTIC = "compute these values from columns of the row, for example sha2(id, 256) instead of uuid()"
"""The advice to make SQL deterministic."""


def calls(functions: Sequence[str]) -> str:
    """Calls of two or more functions, as a list in a sentence."""
    *most, last = (f"{function}()" for function in functions)
    return f"{', '.join(most)} and {last}"


def short(model: str) -> str:
    """A model's name for dbt's --select, given its unique id."""
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
    """The fix that sets a position manually. Empty without dbt, because only a dbt operation can set positions."""
    return [f"{condition}: {commands}"] if is_dbt() else []


def skips(model: str, source: str, before: Position, commits: Sequence[Snapshot] | None) -> str:
    """The report of ``ip_set_checkpoint`` for a position that was moved forward.

    ``commits``: the commits in between that changed rows; None if they are unknown.
    """
    back = command("ip_set_checkpoint", model=short(model), source=source, snapshot_id=before.snapshot_id)
    undo = "" if before.snapshot_id is None else f" To undo this: `{back}`"
    if commits is None:
        return (
            f"Skipped in {source}: unknown, because its history does not lead from {described(before)} to the new "
            f"position. No run of {short(model)} will read the commits in between. To include their rows, rebuild the "
            f"table with {full_refresh(short(model))}."
        )
    if not commits:
        return f"Skipped in {source}: nothing, since no commit in between changed rows."
    files, rows, size = (sum(counts) for counts in zip(*map(added, commits), strict=True))
    rewriting = sum(effect(commit) is Effect.REWRITE for commit in commits)
    rewrote = f", of which {rewriting:,} changed or deleted rows" if rewriting else ""
    return (
        f"Skipped in {source}: {counted(len(commits), 'snapshot')} after {described(before)}{rewrote}, with "
        f"{counted(files, 'added file')}, {counted(rows, 'row')}, {size_text(size)}. No run of {short(model)} will "
        f"read them.{undo}"
    )


def appends_whole_tables(model: str) -> str:
    """The warning that a model or job appends all rows of its sources in each run."""
    in_job = "as_of(), and appends", "run.changes()", "start it with job.run(full_refresh=True)"
    in_dbt = "ip_as_of(), and incremental_strategy is append", "ip_changes()", "use materialized: table"
    how, new, whole = in_dbt if is_dbt() else in_job
    return (
        f"{model} reads its sources only with {how}. Each run with new commits appends all rows of the sources again. "
        f"To append only the new rows, read the source with {new}. To replace all rows in each run, {whole}."
    )


def reason_text(broken: Break) -> str:
    """The reason for the break of a history, and the obstacle to recovering the rows since the break."""
    if broken.obstacle is None:
        return broken.reason.value
    columns = f"{', '.join(broken.columns)} " if broken.columns else ""
    return f"{broken.reason.value}, and {columns}{broken.obstacle.value}"


def rewrites(found: Rewritten) -> str:
    """The number of commits that changed or deleted rows, as text."""
    return f"{counted(len(found.rewrites), 'commit')} changed or deleted rows"


def duplicates(found: Sequence[tuple[str, int, int]]) -> str:
    """Some duplicate keys as text. ``found``: (key, number of its rows, total number of duplicate keys)."""
    return _keys(found, lambda times: f"{times} times")


def keys(found: Sequence[tuple[str, int, int]]) -> str:
    """Some keys as text. ``found``: (key, number of its rows, total number of such keys)."""
    return _keys(found, lambda times: counted(times, "row"))


def _keys(found: Sequence[tuple[str, int, int]], shown: Callable[[int], str]) -> str:
    named, all_keys = ", ".join(f"{key} ({shown(times)})" for key, times, _ in found), found[0][2]
    return named if all_keys == len(found) else f"{named}, and others: {counted(all_keys, 'key')} in all"

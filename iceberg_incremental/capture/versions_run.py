"""The start state of a run of a history table, and what the run records. Pure functions of its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..errors import CheckpointError
from ..explain import history_errors
from ..metadata import MetadataReader
from ..plan.policy import OnRewrite
from ..plan.ranges import PerCommit, Range
from ..plan.versions_config import HistoryConfig
from ..sql import plain_name
from ..table.checkpoint import KEY, Checkpoint, UnreadableCheckpoint
from ..table.checkpoint_state import checkpoint_state
from ..table.history import History, TableName
from ..table.recorded_history import RecordedHistory
from .run_plan import Action, Read, RunPlan
from .target_checkpoint import target_checkpoint

_CHECK_COLS, _KEY, _SEQUENCE = "check_cols", "unique_key", "sequence_by"
_CURRENT_END = "the value of dbt_valid_to_current"


@dataclass(frozen=True)
class CommitTime:
    """A commit whose changes a run applies, and the time at which its versions begin, in ms since the epoch."""

    snapshot_id: int
    time_ms: int


def commits_of(plan: RunPlan, clock_ms: int = 0) -> tuple[CommitTime, ...]:
    """The commits whose changes a run applies, in order.

    Their times never decrease, so that no version ends before it begins. A commit's time is at least that of earlier
    commits, ``clock_ms``, and the time that earlier runs have recorded. For a source without a snapshot, the result is
    one commit without an id.
    """
    planned = source_of(plan)[1]
    ends = [planned.end] if not isinstance(planned, PerCommit) else [each.commit for each in planned.commits]
    time, found = max(clock_ms, _recorded_ms(plan)), list[CommitTime]()
    for commit in ends:
        time = time if commit is None else max(time, commit.timestamp_ms)
        found.append(CommitTime(0 if commit is None else commit.snapshot_id, time))
    return tuple(found)


def source_of(plan: RunPlan) -> tuple[TableName, Range]:
    """The source whose history a model keeps, and the range that is read.

    Raises ConfigError unless the model's SQL reads the changelog of exactly one source, and no other changes.
    """
    per_commit, signed = (plan.read_as(each).keys() for each in (Read.PER_COMMIT, Read.SIGNED))
    found, twice = plan.net, plan.changelogs.keys() & per_commit
    others = {*plan.read_as(Read.CHANGES), *signed, *(plan.groups.relations if plan.groups is not None else ())}
    if len(found) != 1 or twice or others or not plan.read_as(Read.CHANGELOG).keys() >= plan.changelogs.keys():
        raise history_errors.not_one_changelog(plan.model, sorted(map(str, {*found, *others})))
    return next(iter(found.items()))


def require_log(plan: RunPlan) -> None:
    """Raise ConfigError unless the SQL of a history with ``sequence_by`` reads events, and no other changes."""
    events = plan.read_as(Read.CHANGES)
    others = {*plan.net, *(plan.groups.relations if plan.groups is not None else ())}
    if not events or others:
        raise history_errors.not_a_log(plan.model, sorted(map(str, {*events, *others})))


def next_history(plan: RunPlan, clock_ms: int, current_end: str | None = None) -> RecordedHistory | None:
    """What the checkpoint of a run records about its history. Unchanged if no rows are written.

    ``current_end``: as in ``require_same_end``.
    """
    config = plan.policy.history
    if config is None:
        return None
    before = None if plan.checkpoint is None else plan.checkpoint.history
    if config.is_from_log:
        return _next_of_log(plan, config, before, current_end)
    if plan.action not in (Action.REBUILD, Action.APPLY):
        return before
    latest = [each.time_ms for each in commits_of(plan, clock_ms)]
    return _ending(recorded(config, max([clock_ms, _recorded_ms(plan), *latest])), current_end)


def _next_of_log(
    plan: RunPlan, config: HistoryConfig, before: RecordedHistory | None, current_end: str | None
) -> RecordedHistory | None:
    """What the checkpoint of a run from a log records. If commits were skipped, the log may no longer be complete."""
    if plan.action is Action.REBUILD:
        return replace(_ending(recorded(config, 0), current_end), has_whole_log=True)
    takes_all = plan.policy.on_source_rewrite in (OnRewrite.FAIL, OnRewrite.FULL_REFRESH)
    is_whole = before is not None and before.has_whole_log and takes_all
    found = before if plan.action is not Action.APPLY else _ending(recorded(config, 0), current_end)
    return None if found is None else replace(found, has_whole_log=is_whole)


def _ending(history: RecordedHistory, current_end: str | None) -> RecordedHistory:
    return history if current_end is None else replace(history, marks={**history.marks, _CURRENT_END: current_end})


def recorded(config: HistoryConfig, latest_ms: int) -> RecordedHistory:
    """The configs of a history table, as a checkpoint records them."""
    names = config.names
    marks = {
        "dbt_valid_to_current": config.valid_to_current or "",
        "hard_deletes": config.hard_deletes.value,
        _SEQUENCE: "" if config.sequence_by is None else plain_name(config.sequence_by).lower(),
        **{name: str(getattr(names, name)) for name in vars(names)},
    }
    return RecordedHistory(_lower(config.unique_key), _lower(config.check_cols), marks, latest_ms)


def require_same_history(plan: RunPlan, checkpoint: Checkpoint | None, *, compares: bool) -> None:
    """Raise ConfigError if the table is a history and the model is not, or if it was built with other configs.

    Raises CheckpointError if a history of a log would continue other versions, whose hidden events are unknown.
    ``compares``: whether the run compares the valid versions with the whole source, so that ``check_cols`` may differ.
    """
    config, before = plan.policy.history, None if checkpoint is None else checkpoint.history
    if before is None:
        if config is not None and config.is_from_log and not compares:
            raise history_errors.not_from_a_log(plan.name, plan.model)
        return
    if config is None:
        found = f"incremental_strategy: {plan.policy.strategy.value}"
        raise history_errors.would_drop_history(plan.name, plan.model, found)
    now = recorded(config, 0)
    differing: dict[str, tuple[str, str]] = {}
    if now.key != before.key:
        differing[_KEY] = (", ".join(before.key), ", ".join(now.key))
    if now.check_cols != before.check_cols and not compares:
        differing[_CHECK_COLS] = (", ".join(before.check_cols) or "all", ", ".join(now.check_cols) or "all")
    differing |= _other_marks(before.marks, now.marks)
    if differing:
        # Only a log contains all versions, so only a log can rebuild them.
        both = config.is_from_log and bool(before.marks.get(_SEQUENCE))
        raise history_errors.other_history(plan.name, plan.model, differing, from_log=both)


def require_same_end(plan: RunPlan, current_end: str) -> None:
    """Raise ConfigError if the value of ``dbt_valid_to_current`` differs from earlier runs.

    The run would then find no valid version. ``current_end``: the value as text. The value of an expression can depend
    on the time zone.
    """
    known = plan.checkpoint or plan.replaced
    marks = {} if known is None or known.history is None else known.history.marks
    before = marks.get(_CURRENT_END, current_end)
    if before != current_end:
        raise history_errors.other_history(plan.name, plan.model, {_CURRENT_END: (before, current_end)})


def _other_marks(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The changed configs on which existing rows depend, with their old and new values.

    A change of ``hard_deletes`` counts if ``new_record`` is one of the values, because this value creates versions for
    deletions. For a log, every change counts, because ignored deletions are not recorded.
    """
    found = {}
    for name, value in now.items():
        was = before.get(name, "" if name == _SEQUENCE else value)
        if was != value and (name != "hard_deletes" or "new_record" in (was, value) or now[_SEQUENCE]):
            found[name] = (was or "NULL", value or "NULL")
    return found


def _recorded_ms(plan: RunPlan) -> int:
    known = plan.checkpoint or plan.replaced
    return 0 if known is None or known.history is None else known.history.latest_ms


def _lower(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(plain_name(name).lower() for name in names))


def holds_history(target: History, reader: MetadataReader, has_its_columns: Callable[[], bool]) -> bool:
    """Whether a table's checkpoint shows that its rows are the versions of a history.

    If the current metadata has no checkpoint, older metadata files are read. This is skipped for tables that have
    neither a checkpoint in a property nor, by ``has_its_columns``, the columns of a history.
    """
    try:
        found = checkpoint_state(target)
        is_known = found.checkpoint or found.partial or found.has_whole_history
        if not is_known and (KEY in target.properties or has_its_columns()):
            found = target_checkpoint(target, reader)
    except (UnreadableCheckpoint, CheckpointError):
        return has_its_columns()
    # An unproven checkpoint in the property does not count, because it survives CREATE OR REPLACE TABLE.
    return found.checkpoint is not None and found.checkpoint.history is not None

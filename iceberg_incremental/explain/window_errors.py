"""The errors of event-time windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import ConfigError, HistoryBreakError
from ..plan.event_window import EventWindow
from ..plan.policy import Policy, Strategy
from ..table.checkpoint import Position
from ..table.history import TableName
from .wording import described, full_refresh, short

_OPTIONS = "--event-time-start and --event-time-end"


def no_window(model: str, policy: Policy, *, full_refresh: bool) -> ConfigError:
    """A run with an event-time window cannot reprocess it."""
    if full_refresh:
        found, way = "--full-refresh, which builds the whole table", f"omit {_OPTIONS}, or --full-refresh"
    elif policy.strategy is Strategy.AUTO:
        found, way = "incremental_strategy 'auto'", f"omit {_OPTIONS}, since each run keeps all rows equal to the SQL"
    else:
        found, way = f"incremental_strategy '{policy.strategy.value}'", f"omit {_OPTIONS}, or change the strategy"
    return ConfigError(
        f"{model} cannot reprocess an event-time window.",
        expected="--event-time-start and --event-time-end with incremental_strategy 'merge' or 'insert_overwrite', "
        "which replace existing rows, and without --full-refresh.",
        found=f"{found}.",
        fix=f"{way}.",
    ).named("no-window")


def window_cuts_partitions(window: EventWindow, model: str, event_time: str, partition_by: object) -> ConfigError:
    """With ``insert_overwrite``, the window does not consist of whole partitions."""
    return ConfigError(
        f"The window {window} does not consist of whole partitions of {model}.",
        expected=f"with insert_overwrite, a partition_by on the model's event_time, {event_time}, and a window that "
        "starts and ends at partition boundaries. Otherwise, rows outside the window would be overwritten.",
        found=f"partition_by {partition_by!r}.",
        fix="widen the window to whole partitions, or use incremental_strategy 'merge'.",
    ).named("window-cuts-partitions")


def window_of_itself(model: str) -> ConfigError:
    """A model that reads its own table was run with an event-time window."""
    return ConfigError(
        f"{model} cannot reprocess an event-time window, since its SQL reads its own table.",
        expected="SQL that does not read the model's own table. Rows of the window that are already there would count "
        "twice.",
        found="the name of the table in the compiled SQL.",
        fix=f"recompute whole groups with ip_changed_groups(), or rebuild the model with {full_refresh(model)}.",
    ).named("window-of-itself")


def other_event_times(model: str, event_time: str, others: Iterable[str]) -> ConfigError:
    """With ``insert_overwrite``, sources have a different ``event_time`` from the model's."""
    return ConfigError(
        f"{model} cannot overwrite the partitions of an event-time window.",
        expected="with insert_overwrite, each source with an event_time has the same event_time as the model, "
        f"{event_time}, so that all rows of a partition are read again.",
        found=f"{', '.join(sorted(others))}.",
        fix="set the same event_time on the model and its sources, or use incremental_strategy 'merge'.",
    ).named("other-event-times")


def rows_without_key(model: str, keys: Sequence[str]) -> ConfigError:
    """A window has rows with NULL in the ``unique_key``."""
    return ConfigError(
        f"{model} cannot reprocess an event-time window, since rows of the window have NULL in unique_key "
        f"({', '.join(keys)}).",
        expected="a value in each of these columns. A row with NULL replaces no row, so the table would have it twice.",
        fix=f"filter these rows out, replace NULL in the SQL, or rebuild the model with {full_refresh(model)}.",
    ).named("rows-without-key")


def no_event_time(source: TableName, model: str) -> ConfigError:
    """A source has no ``event_time``, which a run with an event-time window requires."""
    return ConfigError(
        f"{model} cannot reprocess an event-time window: {source} has no event_time.",
        expected="the config event_time on every source and model whose changes it reads.",
        fix="set event_time in its properties, as for dbt's microbatch, or set the model back with ip_set_checkpoint.",
    ).named("no-event-time")


def window_is_gone(source: TableName, model: str, position: Position) -> HistoryBreakError:
    """The source snapshot at which the event-time window must be read no longer exists."""
    return HistoryBreakError(
        f"{model} cannot reprocess a window of {source}, because the snapshot that it has read no longer exists.",
        expected=f"{described(position)}, the position in the model's checkpoint.",
        found="the snapshot has expired, or the table was replaced or rolled back since.",
        fix=f"run the model without a window first (`dbt run --select {short(model)}`), then again with it.",
    ).named("window-is-gone")

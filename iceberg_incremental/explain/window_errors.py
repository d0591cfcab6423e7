"""The errors of windows of event time."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import ConfigError, HistoryBreakError
from ..plan.event_window import EventWindow
from ..plan.policy import Policy
from ..table.checkpoint import Position
from ..table.history import TableName
from .entries import indexed
from .wording import described, full_refresh, short


@indexed
def no_window(model: str, policy: Policy, *, full_refresh: bool) -> ConfigError:
    """A window was given to a run that cannot process it again."""
    found = "--full-refresh, which builds the whole table" if full_refresh else f"'{policy.strategy.value}'"
    return ConfigError(
        f"{model} cannot process an event-time window again.\n"
        "  Expected: --event-time-start and --event-time-end with incremental_strategy 'merge' or 'insert_overwrite', "
        "which replace rows that the table already has, and without --full-refresh.\n"
        f"  Found: {found}.\n"
        "  To fix: leave these options out, or rebuild the model, or read a range of commits again by rewinding it "
        "with ip_set_checkpoint."
    )


@indexed
def window_cuts_partitions(window: EventWindow, model: str, event_time: str, partition_by: object) -> ConfigError:
    """With insert_overwrite, the window does not consist of whole partitions."""
    return ConfigError(
        f"The window {window} does not consist of whole partitions of {model}.\n"
        f"  Expected: with insert_overwrite, a partition_by that divides the model's event_time, {event_time}, and a "
        "window that begins and ends where partitions do; otherwise rows outside the window would be overwritten.\n"
        f"  Found: partition_by {partition_by!r}.\n"
        "  To fix: widen the window to whole partitions, or use incremental_strategy 'merge'."
    )


@indexed
def window_of_itself(model: str) -> ConfigError:
    """A window was given to a model that adds to its own table."""
    return ConfigError(
        f"{model} cannot process an event-time window again, since its SQL reads its own table.\n"
        "  Expected: SQL whose result does not depend on the model's own table, which already holds the window's rows: "
        "they would be counted twice.\n"
        "  Found: the name of the table in the compiled SQL.\n"
        f"  To fix: compute whole groups with ip_changed_groups(), or rebuild the model with {full_refresh(model)}."
    )


@indexed
def other_event_times(model: str, event_time: str, others: Iterable[str]) -> ConfigError:
    """With insert_overwrite, sources have another event_time than the model."""
    return ConfigError(
        f"{model} cannot overwrite the partitions of an event-time window.\n"
        f"  Expected: with insert_overwrite, the model's event_time, {event_time}, on every source that has one: "
        "only then are all rows of a partition read again.\n"
        f"  Found: {', '.join(sorted(others))}.\n"
        "  To fix: set the same event_time, or use incremental_strategy 'merge'."
    )


@indexed
def no_event_time(source: TableName, model: str) -> ConfigError:
    """A source of a window has no event_time."""
    return ConfigError(
        f"{model} cannot process an event-time window again: {source} has no event_time.\n"
        "  Expected: the config event_time on every source and model whose changes it reads.\n"
        "  To fix: set event_time in its properties, as for dbt's microbatch, or rewind the model "
        "with ip_set_checkpoint."
    )


def outside_window(window: EventWindow, event_time: str) -> str:
    """The message for a model whose SQL returns rows outside the window."""
    return f"The model returns rows whose {event_time} is outside the window {window}: their partitions are not whole"


@indexed
def window_is_gone(source: TableName, model: str, position: Position) -> HistoryBreakError:
    """The snapshot at which a window of a source is read is gone."""
    return HistoryBreakError(
        f"{model} cannot process a window of {source} again as it was consumed.\n"
        f"  Expected: {described(position)}, the position in the model's checkpoint.\n"
        "  Found: that snapshot has expired, or the table was replaced or rolled back since.\n"
        f"  To fix: run the model without a window first (`dbt run --select {short(model)}`), then again with it."
    )

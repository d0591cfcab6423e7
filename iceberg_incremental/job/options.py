"""Converts the options of a job to the engine's policies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import TypeVar

from ..explain import job_errors
from ..plan.policy import DEFAULT_ON_BREAK, ON_SCHEMA_CHANGE, Cause, OnBreak, OnRewrite, Policy
from ..plan.ranges import PER_COMMIT, PER_RANGE
from ..table.history import TableName

_Option = TypeVar("_Option", bound=Enum)


def policy(
    on_source_rewrite: str,
    on_history_break: str | Mapping[str, str] | None,
    on_missing_checkpoint: str,
    max_snapshots_per_run: int | None,
    max_bytes_per_run: int | None,
    hold_source: timedelta | None,
) -> Policy:
    """The policy of a job, without its strategy. Raises ConfigError for an unknown value."""
    return Policy(
        on_source_rewrite=_choice("on_source_rewrite", on_source_rewrite, OnRewrite),
        on_history_break=_on_history_break(on_history_break),
        on_missing_checkpoint=_choice("on_missing_checkpoint", on_missing_checkpoint, OnBreak),
        max_snapshots=_positive("max_snapshots_per_run", max_snapshots_per_run),
        max_bytes=_positive("max_bytes_per_run", max_bytes_per_run),
        hold=hold_source,
    )


def table(what: str, text: str) -> TableName:
    """Parse a table name of three parts. Raises ConfigError for other texts."""
    found = TableName.written(text)
    if found is None:
        raise job_errors.not_a_table_name(what, text)
    return found


def schema_policy(value: str) -> str:
    """The value of the option ``on_schema_change``. Raises ConfigError if it is unknown."""
    if value not in ON_SCHEMA_CHANGE:
        raise job_errors.wrong_option("on_schema_change", value, ON_SCHEMA_CHANGE)
    return value


def require_per(value: object) -> None:
    """Raise ConfigError for an unknown value of ``per``."""
    if value not in (PER_RANGE, PER_COMMIT):
        raise job_errors.wrong_option("per", value, [PER_RANGE, PER_COMMIT])


def _choice(name: str, value: object, kind: type[_Option]) -> _Option:
    try:
        return kind(value)
    except ValueError:
        raise job_errors.wrong_option(name, value, [str(each.value) for each in kind]) from None


def _on_history_break(value: str | Mapping[str, str] | None) -> Mapping[Cause, OnBreak]:
    if value is None:
        return DEFAULT_ON_BREAK
    if isinstance(value, str):
        return dict.fromkeys(Cause, _choice("on_history_break", value, OnBreak))
    given = {
        _choice("on_history_break", cause, Cause): _choice("on_history_break", then, OnBreak)
        for cause, then in value.items()
    }
    return {**DEFAULT_ON_BREAK, **given}


def _positive(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise job_errors.wrong_option(name, value, ["a whole number above 0", "None"])
    return value

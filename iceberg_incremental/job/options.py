"""Converts the options of a job to the engine's policies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from enum import Enum
from typing import TypeVar

from ..durations import EXAMPLES, duration
from ..explain import job_errors
from ..plan.policy import DEFAULT_ON_BREAK, ON_SCHEMA_CHANGE, Cause, OnBreak, OnRewrite, Policy
from ..plan.ranges import PER_COMMIT, PER_RANGE
from ..sql import plain_name
from ..table.history import TableName

_Option = TypeVar("_Option", bound=Enum)


def policy(
    on_source_rewrite: str,
    on_history_break: str | Mapping[str, str] | None,
    on_missing_checkpoint: str,
    max_snapshots_per_run: int | None,
    max_bytes_per_run: int | None,
    hold_source: timedelta | str | None,
) -> Policy:
    """The policy of a job, without its strategy. Raises ConfigError for an unknown value."""
    return Policy(
        on_source_rewrite=_choice("on_source_rewrite", on_source_rewrite, OnRewrite),
        on_history_break=_on_history_break(on_history_break),
        on_missing_checkpoint=_choice("on_missing_checkpoint", on_missing_checkpoint, OnBreak),
        max_snapshots=_positive("max_snapshots_per_run", max_snapshots_per_run),
        max_bytes=_positive("max_bytes_per_run", max_bytes_per_run),
        hold=_hold(hold_source),
    )


def table(what: str, text: object) -> TableName:
    """Parse a table name of three parts. Raises ConfigError for any other value."""
    found = TableName.written(text) if isinstance(text, str) else None
    if found is None:
        raise job_errors.not_a_table_name(what, text)
    return found


def columns(name: str, given: object) -> list[str]:
    """The plain names of one or several columns. Raises ConfigError for any other value."""
    listed = [given] if isinstance(given, str) else given
    found = None if isinstance(listed, (bytes, Mapping)) or not isinstance(listed, Collection) else list(listed)
    if found is None or not all(isinstance(each, str) and each.strip() for each in found):
        raise job_errors.wrong_argument(name, given, "the name of a column, or a list of names")
    return [plain_name(each) for each in found]


def column(name: str, given: object) -> str:
    """The plain name of a column. Raises ConfigError for any other value."""
    if not isinstance(given, str) or not given.strip():
        raise job_errors.wrong_argument(name, given, "the name of a column")
    return plain_name(given)


def tables(name: str, given: object) -> list[TableName]:
    """Parse the names of one or several tables. Raises ConfigError for any other value."""
    if isinstance(given, str):
        return [table("source", given)]
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Collection):
        raise job_errors.wrong_argument(name, given, "the name of a table, or a list of names")
    return [table("source", each) for each in given]


def require_frame(method: str, given: object) -> None:
    """Raise ConfigError unless rows to write are a DataFrame of PySpark."""
    from pyspark.sql import DataFrame

    if not isinstance(given, DataFrame):
        raise job_errors.not_a_frame(method, type(given))


def sources(given: object) -> list[TableName]:
    """Parse the tables that a run reads. Raises ConfigError unless they are in a list."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Collection):
        example = given if isinstance(given, str) and TableName.written(given) else "lake.ops.flights"
        raise job_errors.wrong_argument("sources", given, f"a list of tables, such as [{example!r}]")
    return [table("source", each) for each in given]


def flag(name: str, value: object) -> bool:
    """Return a boolean. Raises ConfigError for any other value: a text such as "false" would count as true."""
    if not isinstance(value, bool):
        raise job_errors.wrong_argument(name, value, "true or false, as a boolean of Python")
    return value


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


def _hold(value: object) -> timedelta | None:
    found = duration(value) if isinstance(value, str) else value
    if found is None and value is None:
        return None
    if not isinstance(found, timedelta) or found <= timedelta():
        raise job_errors.wrong_argument(
            "hold_source", value, f"a duration above 0: a timedelta, or a text {EXAMPLES}; or None"
        )
    return found

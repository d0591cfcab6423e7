"""Checks the options of a job, and the arguments of its methods."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

from ..explain import job_errors, model_errors
from ..plan.configs import COLUMN, COLUMNS, Kind, ModelConfigs
from ..sql import plain_name
from ..table.history import TableName

_Value = TypeVar("_Value")


def configs(job: str, **given: object) -> ModelConfigs:
    """The options of a job that are configs of models. Raises a ConfigError that lists all invalid values."""
    are_set = {name: value for name, value in given.items() if value is not None}
    found = ModelConfigs({"on_schema_change": "fail", **are_set})
    found.check()
    if found.wrong:
        raise model_errors.invalid_config(job, found.wrong)
    return found


def accepted(name: str, value: object, kind: Kind[_Value]) -> _Value:
    """The value of an argument. Raises ConfigError for a value of another kind."""
    found = kind.parse(value)
    if found is None:
        raise job_errors.wrong_argument(name, value, kind.expected)
    return found


def text(name: str, given: object) -> str:
    """A text. Raises ConfigError for any other value."""
    if not isinstance(given, str) or not given.strip():
        raise job_errors.wrong_argument(name, given, "a SELECT")
    return given


def table(what: str, text: object) -> TableName:
    """Parse a table name of three parts. Raises ConfigError for any other value."""
    found = TableName.written(text) if isinstance(text, str) else None
    if found is None:
        raise job_errors.not_a_table_name(what, text)
    return found


def columns(name: str, given: object) -> list[str]:
    """The plain names of one or several columns. Raises ConfigError for any other value."""
    return [plain_name(each) for each in accepted(name, given, COLUMNS)]


def column(name: str, given: object) -> str:
    """The plain name of a column. Raises ConfigError for any other value."""
    return plain_name(accepted(name, given, COLUMN))


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

"""The rows of a history table, from changes or from a log: their columns, and which versions are valid."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...capture.run import Run
from ...capture.versions_run import require_same_end
from ...errors import StatementError
from ...explain import column_errors
from ...expose.same_key import same_key
from ...plan.versions_config import HardDeletes, HistoryConfig
from ...spark.port import Spark
from ...sql import sql_name
from ...table.types import as_written
from ..columns.comparable import comparable_sql
from ..columns.table_columns import Typed, key_columns
from ..order.sequence import JSON_OPTIONS
from ..strategies.merge import SOURCE, TARGET

_TIMES = ("date", "timestamp", "string", "void")
"""The types of the ends of valid versions: texts are converted, and NULL is dbt's default."""
_ERROR_CLASS = re.compile(r"\[[A-Z_]+(\.[A-Z_]+)*\].*")
"""Spark's message for SQL that it rejects."""


@dataclass(frozen=True)
class VersionedRows:
    """The rows of one run of a history table. ``columns``: the model's columns, with the table's types."""

    config: HistoryConfig
    columns: tuple[Typed, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that identify a row of the source."""
        return tuple(key_columns(self.columns, self.config.unique_key))

    @property
    def key_types(self) -> tuple[str, ...]:
        """The Spark types of the keys."""
        types = {column.name: str(column.dtype) for column in self.columns}
        return tuple(types[key] for key in self.keys)

    @property
    def tracked(self) -> tuple[Typed, ...]:
        """The columns whose changes create a version."""
        chosen = {name.lower() for name in key_columns(self.columns, self.config.check_cols, "check_cols")}
        return tuple(each for each in self.columns if not chosen or each.name.lower() in chosen)

    @property
    def names(self) -> list[str]:
        """The names of the model's columns."""
        return [column.name for column in self.columns]

    @property
    def all_names(self) -> list[str]:
        """The names of the table's columns."""
        return [*self.names, *(name for name, _ in self.config.meta_columns())]

    @property
    def time_type(self) -> str:
        """The Spark type of the times at which versions begin and end."""
        return "timestamp"

    @property
    def current_end(self) -> str:
        """The end of a valid version."""
        return f"cast({self.config.valid_to_current or 'null'} as {self.time_type})"

    def is_valid(self, alias: str = "") -> str:
        """The condition for a valid version."""
        end = (f"{alias}." if alias else "") + sql_name(self.config.names.dbt_valid_to)
        if self.config.valid_to_current is None:
            return f"{end} is null"
        return f"({end} is null or {end} = {self.current_end})"

    @property
    def is_same_version(self) -> str:
        """The condition for a version of the table (``TARGET``) and a changed version (``SOURCE``) to be the same.

        Their keys are compared as well, because another writer may have copied a version of another key with its id.
        """
        scd_id = sql_name(self.config.names.dbt_scd_id)
        same = same_key(TARGET, SOURCE, self.keys, self.key_types, nulls=True)
        return f"{TARGET}.{scd_id} = {SOURCE}.{scd_id} and {same}"

    def scd_id(self, named: str, *texts: str) -> str:
        """The id of a key's version. ``named``: names and values that identify the version, for ``named_struct``.

        ``texts``: those of the values that are strings. JSON has U+FFFD in place of bytes that are not UTF-8, so such
        strings are added in hexadecimal.
        """
        values = "".join(f"'{place}', {sql_name(key)}, " for place, key in enumerate(self.keys))
        json = f"to_json(named_struct({values}{named}), {JSON_OPTIONS})"
        keys = [sql_name(key) for key, type_ in zip(self.keys, self.key_types, strict=True) if type_ == "string"]
        others = [
            f"coalesce(if(is_valid_utf8({text}), null, concat('|{place}:', hex({text}))), '')"
            for place, text in enumerate((*keys, *texts))
        ]
        return f"md5(concat({', '.join([json, *others])}))"

    @property
    def has_deleted(self) -> bool:
        """Whether a deletion creates a version."""
        return self.config.hard_deletes is HardDeletes.NEW_RECORD

    @property
    def is_row(self) -> str:
        """The condition for a version of a row, as opposed to a version that marks a deletion."""
        if not self.has_deleted:
            return "true"
        return f"coalesce(lower({sql_name(self.config.names.dbt_is_deleted)}), 'false') <> 'true'"


def compared(columns: Sequence[Typed]) -> str:
    """The values of columns in a form that can be compared."""
    return ", ".join(comparable_sql(sql_name(each.name), as_written(str(each.dtype))) for each in columns)


def current_end_sql(rows: VersionedRows) -> str:
    """The query for the end of valid versions, as text that is the same in all time zones."""
    if rows.time_type == "timestamp":
        return f"select concat(unix_micros({rows.current_end}), ' microseconds since 1970 in UTC')"
    return f"select string({rows.current_end})"


def require_end(spark: Spark, model: str, end: str) -> None:
    """Raise ConfigError if ``dbt_valid_to_current`` is not the SQL of a time, for example a date without quotes."""
    try:
        types = [type_ for _, type_ in spark.columns(f"select {end} as valid_to")]
    except StatementError as error:
        if (found := _ERROR_CLASS.search(error.msg)) is None:  # such as a lost connection
            raise
        raise column_errors.no_end(model, end, found[0]) from error
    if len(types) != 1 or not types[0].startswith(_TIMES):
        raise column_errors.no_end(model, end, f"a value of type {', '.join(types)}")


def note_end(run: Run, spark: Spark, rows: VersionedRows) -> None:
    """Record in the checkpoint the end of valid versions, if they have one.

    Raises ConfigError if it differs from earlier runs.
    """
    if rows.config.valid_to_current is not None and run.state.current_end is None:
        if run.plan.is_rebuild and rows.time_type.startswith(("date", "timestamp")):  # a log may have other sequences
            require_end(spark, run.plan.model, rows.config.valid_to_current)
        ((end,),) = spark.rows(current_end_sql(rows))
        run.state.current_end = str(end)
        require_same_end(run.plan, str(end))

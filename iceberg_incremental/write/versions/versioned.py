"""The rows of a table of versions: their columns, and which versions are valid."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...capture.run import Run
from ...capture.versions_run import require_same_end
from ...errors import StatementError
from ...explain import column_errors
from ...expose.groups import broadcast
from ...expose.same_key import same_key
from ...plan.versions_config import HardDeletes, HistoryConfig
from ...spark.port import Spark
from ...sql import sql_name, sql_names
from ...table.types import as_written
from ..columns.comparable import comparable_sql
from ..columns.table_columns import Typed, key_columns
from ..order.sequence import JSON_OPTIONS
from ..strategies.changelog import Summary
from ..strategies.merge import SOURCE, TARGET

_TIMES = ("date", "timestamp", "string", "void")
"""The types of the ends of valid versions: texts are converted, and NULL is dbt's default."""
_ERROR_CLASS = re.compile(r"\[[A-Z_]+(\.[A-Z_]+)*\].*")
"""Spark's message for SQL that it rejects."""


def valid_sql(config: HistoryConfig, current_end: str, alias: str = "") -> str:
    """The condition for a valid version. ``current_end``: the end of such a version, as SQL."""
    end = (f"{alias}." if alias else "") + sql_name(config.names.dbt_valid_to)
    return f"{end} is null" if config.valid_to_current is None else f"({end} is null or {end} = {current_end})"


@dataclass(frozen=True)
class VersionedRows(ABC):
    """The rows of one run of a history table.

    ``columns``: the model's columns, with the table's types. ``model``: the unique id, for errors. ``reads_ended``:
    whether a run also reads and changes versions that have ended.
    """

    config: HistoryConfig
    columns: tuple[Typed, ...]
    model: str = ""
    reads_ended: ClassVar[bool] = False

    @property
    @abstractmethod
    def order(self) -> str:
        """The column that orders the events of a key, as SQL."""

    @property
    def in_order(self) -> str:
        """The window over a key's events, in order."""
        return f"over (partition by {sql_names(self.keys)} order by {self.order})"

    def before(self, value: str) -> str:
        """The value of a key's previous event."""
        return f"lag({value}) {self.in_order}"

    def differs(self, value: str) -> str:
        """The condition for an event to have another value than the key's previous event."""
        return f"not ({self.before(value)} <=> {value})"

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
        return [*self.names, *self.meta_names]

    @property
    def meta_names(self) -> list[str]:
        """The names of the columns that the table has in addition to the model's columns."""
        return [name for name, _ in self.config.meta_columns()]

    def listed(self, values: str, *meta: str) -> str:
        """The values of the table's columns, for a SELECT.

        ``values``: the prefix of the model's columns. ``meta``: the values of ``HistoryConfig.meta_columns``. The last
        one, which marks deletions, is left out if the table has no such column.
        """
        found = [f"{values}{sql_name(name)} as {sql_name(name)}" for name in self.names]
        found += [f"{value} as {sql_name(name)}" for name, value in zip(self.meta_names, meta, strict=False)]
        return ", ".join(found)

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
        return valid_sql(self.config, self.current_end, alias)

    def of_events(self, events: str, found: Summary) -> str:
        """The condition for a row of a relation (``TARGET``) whose key has events.

        ``events``: their view. ``found``: the summary of this view.
        """
        same = same_key(TARGET, SOURCE, self.keys, self.key_types, nulls=found.has_nulls)
        keys, hint = sql_names(self.keys), broadcast(SOURCE, found.keys, self.key_types)
        exists = f"exists (select {hint}1 from (select distinct {keys} from {events}) as {SOURCE} where {same})"
        return " and ".join([*(bound.sql for bound in found.bounds), exists])

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


UNKNOWN = Summary(0, 0, 0, 0, 0, has_nulls=True, digest="")
"""The summary of events that have not been read."""


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

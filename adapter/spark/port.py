"""The engine's interface to Spark, over dbt's connection for this thread."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.errors import StatementError
from iceberg_incremental.metadata.catalog_properties import is_redacted
from iceberg_incremental.plan.session_settings import SUMMARY_SETTING
from iceberg_incremental.spark.port import TIME_ZONE, ExactScans
from iceberg_incremental.spark.session import settings_of
from iceberg_incremental.spark.table_commits import TableCommits
from iceberg_incremental.sql import sql_name
from iceberg_incremental.table.history import TableName

from .connections import SparkIcebergConnectionManager

_UNDEFINED = "<undefined>"
"""What SET shows for a setting without a value."""


class DbtSpark:
    """Implements ``iceberg_incremental.spark.port.Spark``. dbt executes the statements, with its comments and log."""

    def __init__(self, adapter: SparkAdapter, connections: SparkIcebergConnectionManager) -> None:
        self._adapter = adapter
        self._connections = connections
        self._before: dict[str, str] = {}

    @property
    def scans(self) -> ExactScans | None:
        """The reader of individual data files. None if Spark's driver is not in this process."""
        session = self._connections.own_session()
        return session.scans if session else None

    @property
    def commits(self) -> TableCommits | None:
        """The object that commits several changes of a table at once. None if Spark's driver is not in this process."""
        session = self._connections.own_session()
        return session.commits if session else None

    @property
    def computes_once(self) -> bool:
        """Whether held rows are always computed once."""
        return self._connections.holds_rows()

    @property
    def version(self) -> str:
        """The version of Spark. A server needs a statement."""
        if session := self._connections.own_session():
            return session.session.version
        with _statement():
            return str(self._connections.rows("select version()")[0][0])

    def executor_seconds(self) -> float | None:
        """The CPU time in s that executors have spent for this connection so far. None if Spark is not in process."""
        session = self._connections.own_session()
        return session.executor_seconds() if session else None

    def send(self, sql: str) -> None:
        """Execute a statement, and discard its rows."""
        with _statement():
            self._adapter.execute(sql, auto_begin=False, fetch=False)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a SELECT. dbt executes it as a statement of the model."""
        with _statement():
            _, table = self._adapter.execute(sql, auto_begin=False, fetch=True)
            return [tuple(row) for row in table.rows]

    def columns(self, query: str) -> list[tuple[str, str]]:
        """The names and SQL types of a SELECT's columns. The query is not executed."""
        if session := self._connections.own_session():
            with _statement():
                return session.columns(query)
        return [(str(name), str(type_)) for name, type_, *_ in self.rows(f"describe query {query}")]

    def settings(self, keys: Collection[str], *, prefixes: tuple[str, ...] = ()) -> Mapping[str, str]:
        """The current values of settings of the session, as in the protocol. A server needs a statement or two."""
        if session := self._connections.own_session():
            of_session = settings_of(session.session, keys)
            if prefixes:
                of_session |= {key: value for key, value in session.settings().items() if key.startswith(prefixes)}
            return of_session
        with _statement():
            rows = {str(key): str(value) for key, value, *_ in self._connections.rows("set")}
            found = {key: value for key, value in rows.items() if key in keys or key.startswith(prefixes)}
            if TIME_ZONE in keys and TIME_ZONE not in found:
                found[TIME_ZONE] = str(self._connections.rows("select current_timezone()")[0][0])
            return found

    def refresh(self, table: TableName) -> None:
        """Do nothing, because the catalogs of dbt's connections do not cache tables."""

    def configure(self, key: str, value: str | None) -> None:
        """Set a setting of the session. None restores the value that it had when it was first set here.

        A summary property had no value before, because a run refuses one.
        """
        if session := self._connections.own_session():
            with _statement():
                session.configure(key, value)
            return
        if value is None:
            value = self._before.pop(key, None)
        elif not key.startswith(SUMMARY_SETTING) and key not in self._before:
            before = str(self.rows(f"SET {sql_name(key)}")[0][1])
            if before != _UNDEFINED and not is_redacted(before):
                self._before[key] = before
        self.send(f"RESET {sql_name(key)}" if value is None else f"SET {sql_name(key)} = {sql_name(value)}")

    def hold(self, view: str, sql: str) -> None:
        """Create a temporary view of a SELECT whose rows Spark holds until they are released."""
        with _statement():
            self._connections.hold(view, sql)

    def release_view(self, view: str) -> None:
        """Release the rows of a view."""
        with _statement():
            self._connections.release_view(view)


@contextmanager
def _statement() -> Iterator[None]:
    try:
        yield
    except DbtRuntimeError as error:
        raise StatementError(error.msg) from error

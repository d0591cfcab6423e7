"""The port of the engine to Spark, by the connection that dbt has for this thread."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.errors import StatementError
from iceberg_incremental.spark.scans import ExactScans
from iceberg_incremental.spark.table_commits import TableCommits
from iceberg_incremental.sql import sql_name

from .connections import SparkIcebergConnectionManager


class DbtSpark:
    """Implements ``iceberg_incremental.spark.port.Spark``: statements go through dbt, which comments and logs them."""

    def __init__(self, adapter: SparkAdapter, connections: SparkIcebergConnectionManager) -> None:
        self._adapter = adapter
        self._connections = connections

    @property
    def scans(self) -> ExactScans | None:
        """What reads data files by themselves; None where Spark's driver is elsewhere."""
        session = self._connections.own_session()
        return session.scans if session else None

    @property
    def commits(self) -> TableCommits | None:
        """What commits several changes of a table at once; None where Spark's driver is elsewhere."""
        session = self._connections.own_session()
        return session.commits if session else None

    @property
    def computes_once(self) -> bool:
        """Whether rows that are held are computed once, whatever they come from."""
        return self._connections.holds_rows()

    def send(self, sql: str) -> None:
        """Run a statement whose rows, if it has any, are not wanted."""
        with _statement():
            self._adapter.execute(sql, auto_begin=False, fetch=False)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a SELECT, which is sent as a statement of the model."""
        with _statement():
            _, table = self._adapter.execute(sql, auto_begin=False, fetch=True)
            return [tuple(row) for row in table.rows]

    def settings(self, keys: Collection[str]) -> Mapping[str, str]:
        """Which of some settings the session has now, with their values; of a server, by one statement."""
        if session := self._connections.own_session():
            found = {key: session.setting(key) for key in keys}
            return {key: value for key, value in found.items() if value is not None}
        with _statement():
            return {str(key): str(value) for key, value, *_ in self._connections.rows("set") if key in keys}

    def configure(self, key: str, value: str | None) -> None:
        """Give a setting of the session a value, or with None the value that it had before."""
        if session := self._connections.own_session():
            with _statement():
                session.configure(key, value)
        else:
            self.send(f"RESET {sql_name(key)}" if value is None else f"SET {sql_name(key)} = {sql_name(value)}")

    def hold(self, view: str, sql: str) -> None:
        """Make a temporary view of a SELECT whose rows Spark keeps until they are let go."""
        with _statement():
            self._connections.hold(view, sql)

    def let_go(self, view: str) -> None:
        """Let go of the rows of a view."""
        with _statement():
            self._connections.let_go(view)


@contextmanager
def _statement() -> Iterator[None]:
    try:
        yield
    except DbtRuntimeError as error:
        raise StatementError(error.msg) from error

"""Connections: this package's own for session and connect, and dbt-spark's for thrift, http and odbc."""

from __future__ import annotations

import copy
from collections.abc import Generator, Hashable
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dbt.adapters.contracts.connection import AdapterRequiredConfig, AdapterResponse, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from iceberg_incremental.sql import sql_name

from ..profile.credentials import Method, SparkIcebergCredentials
from ..progress import Display
from . import checks
from .interrupt import CANCELLED
from .messages import cause, clean, describe
from .own_session import OwnSession
from .python_models import PythonModel
from .thrift import ThriftConnection

if TYPE_CHECKING:
    import agate

logger = AdapterLogger("Spark")

_SETTING = "set:hiveconf:"


class SparkIcebergConnectionManager(SparkConnectionManager):
    """Opens connections, and converts Spark's errors to clear messages."""

    TYPE = "spark_iceberg"

    def __init__(self, profile: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(profile, mp_context)
        self._ended_by: Hashable | None = None
        self._display = Display(getattr(profile, "args", None))

    @classmethod
    def _rollback_handle(cls, connection: Connection) -> None:
        """Do nothing, because Spark has no transactions. dbt's own method would open the connection."""

    def cancel_open(self) -> list[str]:
        """Cancel the running statements of all other threads, and refuse their later statements."""
        self._ended_by = self.get_thread_identifier()
        own, names = self.get_if_exists(), []
        with self.lock:
            others = [each for each in self.thread_connections.values() if each is not own]
        for connection in others:
            # The state is checked first, because accessing the handle would open the connection.
            if connection.state == ConnectionState.OPEN:
                self.cancel(connection)
            names.append(str(connection.name))
        return names

    def add_query(self, *args: Any, **kwargs: Any) -> tuple[Connection, Any]:
        """Execute a statement. Raises DbtRuntimeError if dbt has cancelled this thread's work."""
        with self._shown():
            return super().add_query(*args, **kwargs)

    def execute(self, *args: Any, **kwargs: Any) -> tuple[AdapterResponse, agate.Table]:
        """Execute a statement, and fetch its rows if requested. Raises the errors of ``add_query``."""
        with self._shown():
            return super().execute(*args, **kwargs)

    def _shown(self) -> AbstractContextManager[None]:
        """Show this thread's statement in the progress line, if it runs for long."""
        self._require_own_thread()
        # Accessing the handle opens the connection. A cancellation before that is detected by the second check.
        connection = self.get_thread_connection()
        handle = connection.handle
        self._require_own_thread()
        return self._display.statement(str(connection.name), handle)

    def own_session(self) -> OwnSession | None:
        """The Spark session of this thread's connection. None for a connection that has only a cursor."""
        handle = self.get_thread_connection().handle
        return handle if isinstance(handle, OwnSession) else None

    def catalog_file(self, catalog: str) -> Path | None:
        """The SQLite file with the names of a catalog's tables, which can be read without a session. None without one.

        Raises DbtRuntimeError if the file cannot be read.
        """
        credentials = cast(SparkIcebergCredentials, self.profile.credentials)
        if credentials.method != Method.SESSION or catalog != credentials.catalog:
            return None
        from .in_process.session import opened_file

        return opened_file(credentials)

    def holds_rows(self) -> bool:
        """Whether ``hold`` guarantees that rows are computed only once."""
        return self.own_session() is not None

    def create_view(self, view: str, sql: str) -> None:
        """Create a temporary view of a SELECT.

        In a session of its own, it is a view of a DataFrame. Spark analyzes a view of SQL again in each statement that
        reads it.
        """
        is_frame = self.own_session() is not None
        statement = sql if is_frame else f"create or replace temporary view {sql_name(view)} as\n{sql}"
        _, cursor = self.add_query(self._add_query_comment(statement), auto_begin=False)
        if is_frame:
            cursor.frame.createOrReplaceTempView(sql_name(view))

    def hold(self, view: str, sql: str) -> None:
        """Create a temporary view of a SELECT. Spark holds its rows until they are released."""
        name = sql_name(view)
        if self.holds_rows():
            self._require_own_thread()
            with self.exception_handler(sql):
                self.get_thread_connection().handle.hold(view, sql)
        else:
            for statement in (
                f"create or replace temporary view {name} as\n{sql}",
                f"cache lazy table {name} options ('storageLevel' 'MEMORY_AND_DISK')",
            ):
                self.add_query(statement, auto_begin=False)

    def release_view(self, view: str) -> None:
        """Release the rows of a view, also after dbt has cancelled this thread's work."""
        handle = self.get_thread_connection().handle
        with self.exception_handler(view):
            if self.holds_rows():
                handle.release_view(view)
            else:  # dropping the view also removes its rows from the cache
                tidy = handle.tidy if isinstance(handle, ThriftConnection) else handle.cursor().execute
                tidy(f"drop view if exists {sql_name(view)}")

    def run_python(self, model: PythonModel, view: str, *, once: bool) -> None:
        """Run a Python model in this connection's Spark session, and create a temporary view of its result.

        ``once``: whether the rows of the result are computed once, by the first statement that reads them. Raises
        DbtRuntimeError.
        """
        session = self.own_session()
        if session is None:
            raise checks.no_python(model.name, str(cast(SparkIcebergCredentials, self.profile.credentials).method))
        self._require_own_thread()
        with self.exception_handler(model.name):
            session.run_python(model, view, once=once)
        self._require_own_thread()

    def _require_own_thread(self) -> None:
        if self._ended_by not in (None, self.get_thread_identifier()):
            raise DbtRuntimeError(CANCELLED)

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a connection. Raises FailedToConnectError."""
        if connection.state == ConnectionState.OPEN:
            return connection
        credentials = cast(SparkIcebergCredentials, connection.credentials)
        try:
            if credentials.has_own_session:
                connection.handle = open_own_session(credentials)
                connection.state = ConnectionState.OPEN
            else:
                cls._open_remote(connection, credentials)
                if _turn_caches_off(connection.handle, credentials):
                    # Connecting may have opened the default catalog, on which later settings have no effect.
                    connection.handle.close()
                    connection.state = ConnectionState.INIT
                    cls._open_remote(connection, credentials)
        except DbtDatabaseError as error:
            raise FailedToConnectError(clean(error.msg)) from cause(error)
        return connection

    @classmethod
    def _open_remote(cls, connection: Connection, credentials: SparkIcebergCredentials) -> None:
        """Open a connection to a server with dbt-spark. A Thrift server's session receives the profile's settings."""
        connection.credentials = sent = copy.copy(credentials)
        if credentials.method in (Method.THRIFT, Method.HTTP):
            settings = credentials.server_side_parameters
            # Spark's Thrift server ignores plain names, but supports the notation of Hive's drivers.
            sent.server_side_parameters = {**settings, **{_SETTING + key: value for key, value in settings.items()}}
        try:
            super().open(connection)
        finally:
            connection.credentials = credentials
        if credentials.method in (Method.THRIFT, Method.HTTP):
            connection.handle = ThriftConnection(connection.handle)

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        """Convert Spark's errors to DbtDatabaseError, and remove stack traces. Other errors of dbt are not changed."""
        try:
            yield
        except DbtRuntimeError as error:
            if isinstance(error, DbtDatabaseError) and error.msg != (message := clean(error.msg)):
                raise DbtDatabaseError(message) from cause(error)
            raise
        except Exception as error:  # noqa: BLE001 (raised as dbt's own)
            logger.debug(f"Error while running:\n{sql}")
            raise DbtDatabaseError(describe(error)) from cause(error)

    @classmethod
    def data_type_code_to_name(cls, type_code: type | str) -> str:  # type: ignore[override]
        """The Spark SQL name of a cursor's type. PyHive uses names such as ``BIGINT_TYPE``."""
        name: str = super().data_type_code_to_name(type_code)
        return name[:-5].lower() if name.endswith("_TYPE") else name

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query, as returned by the driver."""
        with self._shown(), self.exception_handler(sql):
            _, cursor = self.add_query(sql, auto_begin=False)
            return [tuple(row) for row in cursor.fetchall() or []]


def open_own_session(credentials: SparkIcebergCredentials) -> OwnSession:
    """Open a session for the method ``session`` or ``connect``. Raises DbtRuntimeError if it cannot be opened."""
    if credentials.method == Method.CONNECT:
        from .connect.session import open_connect

        return open_connect(credentials)
    from .in_process.session import open_session

    return open_session(credentials)


def _turn_caches_off(handle: SparkConnectionWrapper, credentials: SparkIcebergCredentials) -> bool:
    """Add settings to the profile that turn off the cache of every catalog of the server, for later connections.

    Returns whether settings were added. Executed once per profile. Raises DbtRuntimeError for a server whose
    connections share one session.
    """
    if credentials.catalogs_known:
        return False
    cursor = handle.cursor()
    cursor.execute("set")
    settings = {str(row[0]): str(row[1]) for row in cursor.fetchall() or []}
    try:
        checks.require_own_sessions(settings)
    except DbtRuntimeError:
        handle.close()
        raise
    caches = {f"spark.sql.catalog.{name}.cache-enabled" for name in checks.catalogs(settings)}
    new = {key for key in caches - credentials.server_side_parameters.keys() if settings.get(key) != "false"}
    credentials.server_side_parameters |= dict.fromkeys(new, "false")
    credentials.catalogs_known = True
    return bool(new)

"""Connections: our own for the methods session and connect, dbt-spark's for thrift, http and odbc."""

from __future__ import annotations

import copy
from collections.abc import Generator, Hashable
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.context import SpawnContext
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
    """Opens connections, and turns what Spark raises into one clear message."""

    TYPE = "spark_iceberg"

    def __init__(self, profile: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(profile, mp_context)
        self._ended_by: Hashable | None = None
        self._display = Display(getattr(profile, "args", None))

    def cancel_open(self) -> list[str]:
        """Stop what runs on the other threads' connections, and what these threads are about to run."""
        self._ended_by = self.get_thread_identifier()
        own, names = self.get_if_exists(), []
        with self.lock:
            others = [each for each in self.thread_connections.values() if each is not own]
        for connection in others:
            # The state first: asking for the handle would open the connection.
            if connection.state == ConnectionState.OPEN:
                self.cancel(connection)
            names.append(str(connection.name))
        return names

    def add_query(self, *args: Any, **kwargs: Any) -> tuple[Connection, Any]:
        """Run a statement; raises DbtRuntimeError where dbt has cancelled this thread's work."""
        with self._shown():
            return super().add_query(*args, **kwargs)

    def execute(self, *args: Any, **kwargs: Any) -> tuple[AdapterResponse, agate.Table]:
        """Run a statement and fetch its rows, if they are asked for; raises as ``add_query`` does."""
        with self._shown():
            return super().execute(*args, **kwargs)

    def _shown(self) -> AbstractContextManager[None]:
        """Show what this thread runs meanwhile, if it takes long."""
        self._require_own_thread()
        # Open from here on: what ends the command either finds the connection to cancel it, or is seen here.
        connection = self.get_thread_connection()
        handle = connection.handle
        self._require_own_thread()
        return self._display.statement(str(connection.name), handle)

    def own_session(self) -> OwnSession | None:
        """The Spark session of this thread's connection; None where all there is of it is a server's cursor."""
        handle = self.get_thread_connection().handle
        return handle if isinstance(handle, OwnSession) else None

    def holds_rows(self) -> bool:
        """Whether ``hold`` computes rows once, whatever they come from, and not as often as Spark sees fit."""
        return self.own_session() is not None

    def hold(self, view: str, sql: str) -> None:
        """Make a temporary view of a SELECT, and have Spark keep its rows until it is let go."""
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

    def let_go(self, view: str) -> None:
        """Let go of the rows of a view, also where dbt has cancelled this thread's work."""
        handle = self.get_thread_connection().handle
        with self.exception_handler(view):
            if self.holds_rows():
                handle.let_go(view)
            else:  # this takes them from the cache, too
                tidy = handle.tidy if isinstance(handle, ThriftConnection) else handle.cursor().execute
                tidy(f"drop view if exists {sql_name(view)}")

    def run_python(self, model: PythonModel, view: str, *, once: bool) -> None:
        """Run a model in Python in this connection's Spark session, and make a temporary view of its result.

        ``once``: the rows of the result are computed once, by what reads them first. Raises DbtRuntimeError.
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
        """Open a connection; raises FailedToConnectError."""
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
                    # Connecting may have opened the default catalog: settings that follow would come too late for it.
                    connection.handle.close()
                    connection.state = ConnectionState.INIT
                    cls._open_remote(connection, credentials)
        except DbtDatabaseError as error:
            raise FailedToConnectError(clean(error.msg)) from cause(error)
        return connection

    @classmethod
    def _open_remote(cls, connection: Connection, credentials: SparkIcebergCredentials) -> None:
        """Open a connection to a server by dbt-spark's own, with settings that reach a Thrift server's session."""
        connection.credentials = sent = copy.copy(credentials)
        if credentials.method in (Method.THRIFT, Method.HTTP):
            settings = credentials.server_side_parameters
            # Spark's server passes over bare names; this is how Hive's own drivers name them.
            sent.server_side_parameters = {**settings, **{_SETTING + key: value for key, value in settings.items()}}
        try:
            super().open(connection)
        finally:
            connection.credentials = credentials
        if credentials.method in (Method.THRIFT, Method.HTTP):
            connection.handle = ThriftConnection(connection.handle)

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        """Raise what Spark says as a DbtDatabaseError, without stack traces; dbt's own errors pass."""
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
        """A cursor's type as Spark SQL names it; PyHive says ``BIGINT_TYPE``."""
        name: str = super().data_type_code_to_name(type_code)
        return name[:-5].lower() if name.endswith("_TYPE") else name

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query, as the driver gives them."""
        with self._shown(), self.exception_handler(sql):
            _, cursor = self.add_query(sql, auto_begin=False)
            return [tuple(row) for row in cursor.fetchall() or []]


def open_own_session(credentials: SparkIcebergCredentials) -> OwnSession:
    """A session of its own, for the methods that have one. Raises DbtRuntimeError where it cannot be opened."""
    if credentials.method == Method.CONNECT:
        from .connect.session import open_connect

        return open_connect(credentials)
    from .in_process.session import open_session

    return open_session(credentials)


def _turn_caches_off(handle: SparkConnectionWrapper, credentials: SparkIcebergCredentials) -> bool:
    """Have later connections turn off the cache of every catalog that the server knows; whether that is anything new.

    Asked once for a profile: what is found joins the settings that every connection opens with.
    Raises DbtRuntimeError for a server whose connections share one session.
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

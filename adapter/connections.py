"""Connections: our own for ``method: session``, dbt-spark's for thrift, http and odbc."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionMethod, SparkConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from . import checks
from .credentials import SparkIcebergCredentials
from .messages import clean, describe

logger = AdapterLogger("Spark")


class SparkIcebergConnectionManager(SparkConnectionManager):
    """Opens connections, and turns what Spark raises into one clear message."""

    TYPE = "spark_iceberg"

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a connection; raises FailedToConnectError."""
        if connection.state == ConnectionState.OPEN:
            return connection
        credentials = cast(SparkIcebergCredentials, connection.credentials)
        try:
            if credentials.method == SparkConnectionMethod.SESSION:
                from .session import open_session

                connection.handle = open_session(credentials)
                connection.state = ConnectionState.OPEN
            else:
                super().open(connection)
                if _turn_caches_off(connection.handle, credentials):
                    # A server's session takes the settings on connecting only.
                    connection.handle.close()
                    connection.state = ConnectionState.INIT
                    super().open(connection)
        except DbtDatabaseError as error:
            raise FailedToConnectError(clean(error.msg)) from error
        return connection

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        """Raise what Spark says as a DbtDatabaseError, without stack traces; dbt's own errors pass."""
        try:
            yield
        except DbtRuntimeError as error:
            if isinstance(error, DbtDatabaseError) and error.msg != (message := clean(error.msg)):
                raise DbtDatabaseError(message) from error
            raise
        except Exception as error:
            logger.debug(f"Error while running:\n{sql}")
            raise DbtDatabaseError(describe(error)) from error

    @classmethod
    def data_type_code_to_name(cls, type_code: type | str) -> str:  # type: ignore[override]
        """A cursor's type as Spark SQL names it; PyHive says ``BIGINT_TYPE``."""
        name: str = super().data_type_code_to_name(type_code)
        return name[:-5].lower() if name.endswith("_TYPE") else name

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query, as the driver gives them."""
        _, cursor = self.add_query(sql, auto_begin=False)
        with self.exception_handler(sql):
            return [tuple(row) for row in cursor.fetchall() or []]


def _turn_caches_off(handle: SparkConnectionWrapper, credentials: SparkIcebergCredentials) -> bool:
    """Have later connections turn off the cache of every catalog that the server knows; whether that is anything new.

    Asked once for a profile: what is found joins the settings that every connection opens with.
    """
    if credentials.catalogs_known:
        return False
    cursor = handle.cursor()
    cursor.execute("set")
    settings = {str(row[0]): str(row[1]) for row in cursor.fetchall() or []}
    caches = {f"spark.sql.catalog.{name}.cache-enabled" for name in checks.catalogs(settings)}
    new = {key for key in caches - credentials.server_side_parameters.keys() if settings.get(key) != "false"}
    credentials.server_side_parameters |= dict.fromkeys(new, "false")
    credentials.catalogs_known = True
    return bool(new)

"""Sessions on a Spark Connect server: each dbt connection has one, with its own settings, views and catalogs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dbt_common.exceptions import DbtDatabaseError

from .. import checks
from ..__version__ import version
from ..messages import cause, describe
from ..own_session import OwnSession, configure, load_jdbc
from . import errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..credentials import SparkIcebergCredentials
    from .remote import Remote

_lock = threading.Lock()
_USER_AGENT = f"dbt-spark-iceberg/{version}"
# Calls are made again 8 times in some 25 s, until a connection that broke counts as lost.
_TIMES, _PAUSE, _FACTOR = 8, 50, 4.0


def open_connect(credentials: SparkIcebergCredentials) -> ConnectSession:
    """A new session on the profile's server.

    Raises DbtRuntimeError, naming the fix, where the server is not reached, refuses this client, or lacks the catalog.
    """
    checks.require_connect()
    from . import client

    remote = credentials.remote_server
    session = client.connect(remote.url(_USER_AGENT))
    opened = ConnectSession(session)
    try:
        client.call_again(session, credentials.connect_retries, credentials.connect_timeout * 1000)
        checks.require_spark(_version(session, remote))
        client.call_again(session, _TIMES, _PAUSE, _FACTOR)
        settings = configure(session, credentials.server_side_parameters)
        checks.require_catalog(credentials.catalog, settings)
        checks.require_extension(settings)
        with _lock:
            load_jdbc(session, credentials.catalog, settings)
    except BaseException:
        opened.close()
        raise
    return opened


def _version(session: SparkSession, remote: Remote) -> str:
    """Spark's version, as the server answers to the first call."""
    try:
        return session.version
    except Exception as error:  # noqa: BLE001 (raised as dbt's own)
        code = getattr(error, "getGrpcStatusCode", None)
        if code is None or code().name not in errors.LOST:
            raise DbtDatabaseError(describe(error)) from cause(error)
        found = errors.details(str(error))
        raise DbtDatabaseError(errors.unreachable(remote.address, remote.use_ssl, found)) from cause(error)


class ConnectSession(OwnSession):
    """A session on a server."""

    def __init__(self, session: SparkSession) -> None:
        from pyspark.errors import PySparkException

        super().__init__(session)
        self.gone = (PySparkException, OSError)

    def starting(self, sql: str) -> None:
        """Nothing: whatever the session runs is cancelled by its session."""

    def stop_jobs(self) -> None:
        """Stop what the session is running, from another thread."""
        self.session.interruptAll()

    def release(self, held: DataFrame) -> None:
        """Nothing: without a view and a reference from here, the rows go with the server's next garbage collection."""

    def end(self) -> None:
        """End the session on the server."""
        from . import client

        client.close(self.session)

"""Sessions on a Spark Connect server. Each dbt connection has one, with its own settings, views and catalogs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from traceback import FrameSummary
from typing import TYPE_CHECKING, Protocol

from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.sql import sql_name

from ...__version__ import version
from ...profile.credentials import Method
from ...progress.jobs import Stage, total
from .. import checks
from ..messages import cause, describe
from ..own_session import OwnSession, configure, load_jdbc, quiet_loggers
from ..session_factory import forget, given_session, own_settings
from . import errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ...profile.credentials import SparkIcebergCredentials
    from ...progress import Work

_lock = threading.Lock()
_USER_AGENT = f"dbt-spark-iceberg/{version}"
# Calls are retried 8 times in about 25 s before a broken connection counts as lost.
_TIMES, _PAUSE, _FACTOR = 8, 50, 4.0
_WITHOUT_TASKS = 5
"""The time in seconds after which a session without tasks is interrupted."""


def open_connect(credentials: SparkIcebergCredentials) -> ConnectSession:
    """A new session on the profile's server.

    Raises DbtRuntimeError, with the fix, if the server is unreachable, refuses this client, or lacks the catalog.
    """
    checks.require_connect()
    from . import client

    quiet_loggers()
    factory, remote = credentials.session_factory, credentials.remote_server
    given = None if factory is None else given_session(factory, Method.CONNECT)
    if given is None:
        session, address, use_ssl = client.connect(remote.url(_USER_AGENT)), remote.address, remote.use_ssl
    else:
        session, address, use_ssl = client.beside(given), client.address_of(given), False
    opened = ConnectSession(session, address)
    try:
        client.call_again(session, credentials.connect_retries, credentials.connect_timeout * 1000)
        checks.require_spark(_version(session, address, use_ssl=use_ssl))
        client.call_again(session, _TIMES, _PAUSE, _FACTOR)
        settings = dict(session.conf.getAll)
        inherited = {} if given is None else own_settings(dict(given.conf.getAll), settings)
        settings = configure(session, {**inherited, **credentials.server_side_parameters}, settings)
        checks.require_catalog(credentials.catalog, settings)
        checks.require_extension(settings)
        with _lock:
            name = sql_name(credentials.catalog)
            # Spark loads the catalog to look up the function. Nothing is executed.
            load_jdbc(credentials.catalog, settings, lambda: session.sql(f"select {name}.system.iceberg_version()"))
    except BaseException:
        opened.close()
        if factory is not None:
            forget(factory)
        raise
    return opened


def _version(session: SparkSession, address: str, *, use_ssl: bool) -> str:
    """Spark's version, from the server's response to the first call."""
    try:
        return session.version
    except Exception as error:  # noqa: BLE001 (raised as dbt's own)
        code = getattr(error, "getGrpcStatusCode", None)
        if code is None or code().name not in errors.LOST:
            raise DbtDatabaseError(describe(error)) from cause(error)
        found = errors.details(str(error))
        raise DbtDatabaseError(errors.unreachable(address, use_ssl, found)) from cause(error)


class ConnectSession(OwnSession):
    """A session on a server."""

    def __init__(self, session: SparkSession, address: str) -> None:
        from pyspark.errors import PySparkException

        super().__init__(session)
        self.gone = (PySparkException, OSError)
        self._address = f"sc://{address}"
        self._tasks = 0
        self._work: Work | None = None
        self._asked_to_stop: float | None = None
        session.registerProgressHandler(self._progress)

    def starting(self, sql: str) -> None:
        """Make the session the active session of this thread, to which Spark's client assigns results."""
        from . import client

        client.activate(self.session)

    @contextmanager
    def active(self, file: str) -> Iterator[Callable[[], FrameSummary | None]]:
        """Make the session PySpark's active session in this thread, and record the lines of a file."""
        from . import client, lines

        with client.chosen(self.session, self._address), lines.noted(file) as refused:
            yield refused

    def settings(self) -> dict[str, str]:
        """The session's settings. The server hides values that look like secrets, but returns their keys."""
        cursor = self.cursor()
        cursor.execute("set")
        return {str(row[0]): str(row[1]) for row in cursor.fetchall()}

    def stop_jobs(self) -> None:
        """Cancel the session's statements, once they have tasks, or after some time without tasks.

        A statement that is interrupted earlier may still start a job in another thread of the server, which can then no
        longer be cancelled. Called from another thread.
        """
        now = time.monotonic()
        self._asked_to_stop = self._asked_to_stop or now
        if self._tasks or now - self._asked_to_stop > _WITHOUT_TASKS:
            self.session.interruptAll()

    def progress(self) -> Work | None:
        """The progress of the session, as last reported by the server. Called from another thread."""
        return self._work

    def _progress(self, stages: Iterable[StageReport], inflight_tasks: int, done: bool, **_: object) -> None:
        """Called by Spark's client with the server's report about the running statement, every 2 s."""
        self._tasks = 0 if done else inflight_tasks
        self._work = None if done else work_of_stages(stages)

    def release(self, held: DataFrame) -> None:
        """Does nothing, because the server's next garbage collection frees rows without a view and a reference."""

    def end(self) -> None:
        """End the session on the server."""
        from . import client

        client.close(self.session)


class StageReport(Protocol):
    """A stage of a statement's job, as in Spark's client: ``StageInfo`` in pyspark/sql/connect/shell/progress.py."""

    stage_id: int
    num_tasks: int
    num_completed_tasks: int
    num_bytes_read: int
    done: bool


def work_of_stages(reports: Iterable[StageReport]) -> Work | None:
    """The progress of a statement. None if no job has started."""
    return total([_stage(each) for each in sorted(reports, key=lambda each: each.stage_id)])


def _stage(report: StageReport) -> Stage:
    """Convert a stage. The server counts every attempt of a task, and does not report whether a stage has started."""
    done = min(report.num_completed_tasks, report.num_tasks)
    status = "COMPLETE" if report.done else "ACTIVE" if done else "PENDING"
    return Stage(status, done, report.num_tasks, bytes=report.num_bytes_read)

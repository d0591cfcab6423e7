"""The handle of a dbt connection that has a Spark session: methods ``session`` and ``connect``.

Settings and temporary views of one dbt thread never affect another thread. Each session has its own instance of every
catalog. It reads current metadata, because Iceberg's catalog cache is turned off before the catalog's first use.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from traceback import FrameSummary
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.sql import sql_value

from . import checks
from .exact_pandas import exact_integers
from .messages import cause, describe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from iceberg_incremental.spark.port import ExactScans
    from iceberg_incremental.spark.table_commits import TableCommits

    from .python_models import PythonModel

logger = AdapterLogger("Spark")

_python_lock = threading.Lock()
_static: set[str] = set()  # settings that no session can change; refusing one takes Spark longer than opening a session
_CANCEL_INTERVAL = 0.2
"""The interval of cancellations in seconds."""

CursorDescription = list[tuple[str, str, None, None, None, None, bool]]


def quiet_loggers() -> None:
    """Prevent PySpark from printing each error of SQL or of a DataFrame as JSON with Java's stack trace."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def configure(session: SparkSession, wanted: Mapping[str, str], settings: dict[str, str]) -> dict[str, str]:
    """Apply the profile's settings to a new session, turn off the cache of every catalog, and return all settings.

    ``settings``: those of the session, which are changed. Raises DbtRuntimeError for a value that Spark rejects.
    """
    from pyspark.errors import AnalysisException

    changes = {key: value for key, value in wanted.items() if settings.get(key) != value}
    for key in checks.catalogs({**settings, **wanted}):
        cache = f"spark.sql.catalog.{key}.cache-enabled"
        if cache not in wanted and settings.get(cache) != "false":
            changes[cache] = "false"
    for key, value in changes.items():
        if key.startswith("spark.sql.") and key not in _static:
            try:
                session.conf.set(key, value)
                settings[key] = value
            except AnalysisException as error:
                # This is a static setting, which cannot change after Spark has started.
                _static.add(key)
                logger.debug(f"{key} stays {settings.get(key)}: {describe(error)}")
            except Exception as error:  # noqa: BLE001 (raised as dbt's own)
                raise checks.refused_setting(key, describe(error)) from cause(error)
    return settings


def load_jdbc(catalog: str, settings: Mapping[str, str], load: Callable[[], object]) -> None:
    """Load a jdbc catalog, which creates or upgrades its tables. Only one session at a time may do this.

    Other catalogs are loaded by the first statement that uses them. ``load``: loads the catalog in the session.
    """
    if settings.get(f"spark.sql.catalog.{catalog}.type") != "jdbc":
        return
    try:
        load()
    except Exception as error:  # noqa: BLE001 (raised as dbt's own)
        raise checks.unreachable(catalog, describe(error)) from cause(error)


class OwnSession(ABC):
    """The Spark session of one dbt connection."""

    scans: ExactScans | None = None
    """The reader of individual data files. None if Spark's driver is not in this process."""

    commits: TableCommits | None = None
    """The object that commits several changes of a table at once. None if Spark's driver is not in this process."""

    gone: tuple[type[Exception], ...] = (OSError,)
    """The types of errors that calls raise after Spark has ended."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._before: dict[str, str | None] = {}
        self._held: dict[str, DataFrame] = {}
        self._result: str | None = None
        self._closed = threading.Event()

    def cursor(self) -> SessionCursor:
        """A cursor of this session."""
        return SessionCursor(self.session, self.starting)

    @abstractmethod
    def starting(self, sql: str) -> None:
        """Called in the thread that is about to execute a statement."""

    @abstractmethod
    def active(self, file: str) -> AbstractContextManager[Callable[[], FrameSummary | None]]:
        """Make this session PySpark's active session for the code of a file.

        Yields a function that returns the line whose DataFrame Spark rejects, or None if the error is raised in that
        line itself.
        """

    @abstractmethod
    def stop_jobs(self) -> None:
        """Cancel the session's running jobs. Called from another thread."""

    @abstractmethod
    def release(self, held: DataFrame) -> None:
        """Let Spark drop held rows."""

    def shown(self, held: DataFrame) -> DataFrame:
        """The DataFrame of held rows that statements read."""
        return held

    def executor_seconds(self) -> float | None:
        """The CPU time in s that executors have spent on the session's statements so far. None if unknown."""
        return None

    @abstractmethod
    def end(self) -> None:
        """End the session. Spark continues to run."""

    def settings(self) -> dict[str, str]:
        """The session's settings."""
        return dict(self.session.conf.getAll)

    def configure(self, key: str, value: str | None) -> None:
        """Set a setting. None restores the value that the setting had before this method first changed it.

        Raises DbtDatabaseError.
        """
        conf = self.session.conf
        try:
            if value is not None:
                self._before.setdefault(key, conf.get(key, None))
                conf.set(key, value)
            elif (before := self._before.pop(key, None)) is not None:
                conf.set(key, before)
            else:
                conf.unset(key)
        except Exception as error:  # noqa: BLE001 (raised as dbt's own)
            raise DbtDatabaseError(describe(error)) from cause(error)

    def columns(self, query: str) -> list[tuple[str, str]]:
        """The names and SQL types of a SELECT's columns. Spark only analyzes the query. Raises DbtDatabaseError.

        Spark would execute an INSERT at once. Within parentheses, it is a syntax error.
        """
        cursor = self.cursor()
        cursor.execute(f"select * from (\n{query}\n)")
        return [(name, type_) for name, type_, *_ in cursor.description]

    def hold(self, view: str, sql: str) -> None:
        """Create a temporary view of a SELECT whose rows are computed once, by the first statement that reads it.

        If an executor with some of the rows is lost, statements that read the view fail. Raises DbtDatabaseError.
        """
        cursor = self.cursor()
        cursor.execute(sql)
        self._keep(view, held(cursor.frame))

    def run_python(self, model: PythonModel, view: str, *, once: bool) -> None:
        """Create a temporary view of a Python model's result. ``once``: whether its rows are computed once.

        The rows are kept until the next model runs. Models run one after another, because pandas-on-Spark and other
        libraries use the process's active session. Raises DbtRuntimeError.
        """
        if self._result is not None:
            self.release_view(self._result)
        with _python_lock, self.active(model.file) as refused, exact_integers(self.session):
            self.starting(model.name)
            frame = model.run(self.session, refused)
        if once:
            self._keep(view, held(frame))
            self._result = view
        else:
            frame.createOrReplaceTempView(view)

    def _keep(self, view: str, frame: DataFrame) -> None:
        self._held[view] = frame
        self.shown(frame).createOrReplaceTempView(view)

    def release_view(self, view: str) -> None:
        """Release the rows of a view."""
        held = self._held.pop(view, None)
        if held is not None:
            self.session.catalog.dropTempView(view)
            self.release(held)

    def cancel(self) -> None:
        """Cancel the session's running jobs, and all jobs that it starts later. Called from another thread."""
        threading.Thread(target=self._stop_until_closed, name="cancel", daemon=True).start()

    def _stop_until_closed(self) -> None:
        # A statement starts several jobs, and the next one may start after a cancellation.
        with suppress(*self.gone):
            while not self._closed.wait(_CANCEL_INTERVAL):
                self.stop_jobs()

    def close(self) -> None:
        """Release all rows, and end the session."""
        self._closed.set()
        with suppress(*self.gone):  # Spark may have ended when dbt is interrupted
            for view in list(self._held):
                self.release_view(view)
        self.end()

    def rollback(self) -> None:  # noqa: B027 (not abstract, because it is correct for all sessions)
        """Spark has no transactions."""


def held(frame: DataFrame) -> DataFrame:
    """A DataFrame whose rows Spark holds after it has computed them once. Raises DbtDatabaseError."""
    try:
        return frame.localCheckpoint(eager=False)
    except Exception as error:  # noqa: BLE001 (raised as dbt's own)
        raise DbtDatabaseError(describe(error)) from cause(error)


class SessionCursor:
    """A DB-API cursor on a Spark session. Statements run immediately; rows are fetched on demand."""

    def __init__(self, session: SparkSession, starting: Callable[[str], None]) -> None:
        self._session = session
        self._starting = starting
        self._frame: DataFrame | None = None
        self._rows: list[Any] | None = None

    def __enter__(self) -> SessionCursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def description(self) -> CursorDescription:
        """The names and SQL types of the result's columns. Empty for a statement without a result."""
        if self._frame is None:
            return []
        return [
            (f.name, f.dataType.simpleString(), None, None, None, None, f.nullable) for f in self._frame.schema.fields
        ]

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Execute a statement. ``%s`` is replaced by the bindings, if there are any.

        Raises DbtDatabaseError with Spark's message, without its stack trace.
        """
        if bindings:
            sql = sql % tuple(sql_value(value) for value in bindings)
        sql = sql.strip().rstrip(";")
        self._rows = None
        try:
            self._starting(sql)
            self._frame = self._session.sql(sql)
        except Exception as error:  # noqa: BLE001 (raised as dbt's own)
            raise DbtDatabaseError(describe(error)) from cause(error)

    @property
    def frame(self) -> DataFrame:
        """The result."""
        assert self._frame is not None
        return self._frame

    def fetchall(self) -> list[Any]:
        """All remaining rows."""
        rows = self._fetch()
        self._rows = []
        return rows

    def fetchmany(self, size: int) -> list[Any]:
        """The next rows, at most ``size``. If this is the first fetch, Spark computes only these rows."""
        if self._rows is None and self._frame is not None:
            self._frame = self._frame.limit(size)
        rows = self._fetch()
        self._rows = rows[size:]
        return rows[:size]

    def fetchone(self) -> Any:
        """The next row, or None."""
        rows = self._fetch()
        self._rows = rows[1:]
        return rows[0] if rows else None

    def close(self) -> None:
        """Release the result."""
        self._frame = None
        self._rows = None

    def _fetch(self) -> list[Any]:
        if self._rows is None:
            try:
                # A command without columns has no rows, but Spark would run a query to collect them.
                self._rows = [] if self._frame is None or not self._frame.columns else self._frame.collect()
            except Exception as error:  # noqa: BLE001 (raised as dbt's own)
                raise DbtDatabaseError(describe(error)) from cause(error)
        return self._rows

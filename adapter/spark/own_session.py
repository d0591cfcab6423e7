"""What dbt holds as a connection's handle where it has a Spark session of its own: methods ``session`` and ``connect``.

Settings and temporary views of one dbt thread never reach another. Each session has its own instance of every catalog,
which reads fresh, as the Iceberg catalog cache is turned off before the catalog's first use.
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

from iceberg_incremental.sql import sql_name, sql_value

from . import checks
from .exact_pandas import exact_integers
from .messages import cause, describe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from iceberg_incremental.spark.scans import ExactScans
    from iceberg_incremental.spark.table_commits import TableCommits

    from .python_models import PythonModel

logger = AdapterLogger("Spark")

_python_lock = threading.Lock()
_CANCEL_INTERVAL = 0.2
"""Seconds."""

CursorDescription = list[tuple[str, str, None, None, None, None, bool]]


def quiet_loggers() -> None:
    """Keep PySpark from printing each error of SQL or of a DataFrame as JSON, with Java's stack trace."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def configure(session: SparkSession, wanted: Mapping[str, str]) -> dict[str, str]:
    """Give a fresh session the profile's settings, turn every catalog's cache off, and return all settings.

    Raises DbtRuntimeError for a value that Spark refuses.
    """
    from pyspark.errors import AnalysisException

    settings = dict(session.conf.getAll)
    changes = {key: value for key, value in wanted.items() if settings.get(key) != value}
    for key in checks.catalogs({**settings, **wanted}):
        cache = f"spark.sql.catalog.{key}.cache-enabled"
        if cache not in wanted and settings.get(cache) != "false":
            changes[cache] = "false"
    for key, value in changes.items():
        if key.startswith("spark.sql."):
            try:
                session.conf.set(key, value)
                settings[key] = value
            except AnalysisException as error:
                # Static: it was settled when Spark started, by someone else then.
                logger.debug(f"{key} stays {settings.get(key)}: {describe(error)}")
            except Exception as error:  # noqa: BLE001 (raised as dbt's own)
                raise checks.refused_setting(key, describe(error)) from cause(error)
    return settings


def load_jdbc(session: SparkSession, catalog: str, settings: Mapping[str, str]) -> None:
    """Load a jdbc catalog, which so makes or upgrades its tables: two sessions must not do that at once.

    Catalogs of other kinds are loaded by the first statement that names them.
    """
    if settings.get(f"spark.sql.catalog.{catalog}.type") != "jdbc":
        return
    try:
        # Spark loads the catalog to look the function up; nothing runs.
        session.sql(f"select {sql_name(catalog)}.system.iceberg_version()")
    except Exception as error:  # noqa: BLE001 (raised as dbt's own)
        raise checks.unreachable(catalog, describe(error)) from cause(error)


class OwnSession(ABC):
    """One Spark session, of one dbt connection."""

    scans: ExactScans | None = None
    """What reads data files by themselves; None where Spark's driver is out of reach."""

    commits: TableCommits | None = None
    """What commits several changes of a table at once; None where Spark's driver is out of reach."""

    gone: tuple[type[Exception], ...] = (OSError,)
    """What a call raises where Spark is not there any more."""

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
        """Called on the thread that is about to run a statement."""

    @abstractmethod
    def active(self, file: str) -> AbstractContextManager[Callable[[], FrameSummary | None]]:
        """Have what asks PySpark for the active session get this one, for the code of a file.

        It gives what finds the line whose DataFrame Spark refuses, where an error does not come from that line itself.
        """

    @abstractmethod
    def stop_jobs(self) -> None:
        """Stop what the session is running, from another thread."""

    @abstractmethod
    def release(self, held: DataFrame) -> None:
        """Have Spark drop rows that were held."""

    def shown(self, held: DataFrame) -> DataFrame:
        """Rows that were held, as statements get to see them."""
        return held

    @abstractmethod
    def end(self) -> None:
        """End the session; Spark itself continues."""

    def settings(self) -> dict[str, str]:
        """The session's settings."""
        return dict(self.session.conf.getAll)

    def setting(self, key: str) -> str | None:
        """The value of a setting; None where it has none."""
        value: str | None = self.session.conf.get(key, None)
        return value

    def configure(self, key: str, value: str | None) -> None:
        """Give a setting a value, or with None the one that it had when it was last given one here.

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

    def hold(self, view: str, sql: str) -> None:
        """Make a temporary view of a SELECT whose rows are computed once, by what reads it first.

        A row that Spark has lost since, with an executor, fails what reads the view. Raises DbtDatabaseError.
        """
        cursor = self.cursor()
        cursor.execute(sql)
        self._keep(view, held(cursor.frame))

    def run_python(self, model: PythonModel, view: str, *, once: bool) -> None:
        """Make a temporary view of what a model in Python returns; ``once``: its rows are computed once.

        They are kept until the next model runs. The code of one model runs after that of another: pandas-on-Spark,
        among others, takes the session that is active. Raises DbtRuntimeError.
        """
        if self._result is not None:
            self.let_go(self._result)
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

    def let_go(self, view: str) -> None:
        """Let go of the rows of a view."""
        held = self._held.pop(view, None)
        if held is not None:
            self.session.catalog.dropTempView(view)
            self.release(held)

    def cancel(self) -> None:
        """Stop what the session is running, from another thread, and whatever it starts from then on."""
        threading.Thread(target=self._stop_until_closed, name="cancel", daemon=True).start()

    def _stop_until_closed(self) -> None:
        # A statement starts one job after the other, and may be at work on its plan just now.
        with suppress(*self.gone):
            while not self._closed.wait(_CANCEL_INTERVAL):
                self.stop_jobs()

    def close(self) -> None:
        """Let go of all rows, and end the session."""
        self._closed.set()
        with suppress(*self.gone):  # Spark may be gone when dbt is interrupted
            for view in list(self._held):
                self.let_go(view)
        self.end()

    def rollback(self) -> None:  # noqa: B027 (not abstract: it is right for all)
        """Spark has no transactions."""


def held(frame: DataFrame) -> DataFrame:
    """A result of which Spark keeps the rows once it has computed them. Raises DbtDatabaseError."""
    try:
        return frame.localCheckpoint(eager=False)
    except Exception as error:  # noqa: BLE001 (raised as dbt's own)
        raise DbtDatabaseError(describe(error)) from cause(error)


class SessionCursor:
    """A DB-API cursor on a Spark session. Statements run when executed; rows are fetched on demand."""

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
        """Names and SQL types of the result's columns; empty for a statement without a result."""
        if self._frame is None:
            return []
        return [
            (f.name, f.dataType.simpleString(), None, None, None, None, f.nullable) for f in self._frame.schema.fields
        ]

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement; ``%s`` stands for the bindings, if there are any.

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
        """All rows that have not been fetched yet."""
        rows = self._fetch()
        self._rows = []
        return rows

    def fetchmany(self, size: int) -> list[Any]:
        """The next rows, at most ``size``; nothing beyond them is computed if nothing has been fetched yet."""
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
        """Let go of the result."""
        self._frame = None
        self._rows = None

    def _fetch(self) -> list[Any]:
        if self._rows is None:
            try:
                # Spark runs a query to collect even the result of a command without columns, which has no rows.
                self._rows = [] if self._frame is None or not self._frame.columns else self._frame.collect()
            except Exception as error:  # noqa: BLE001 (raised as dbt's own)
                raise DbtDatabaseError(describe(error)) from cause(error)
        return self._rows

"""The connection method ``session``: Spark in this process.

One root SparkSession serves the process; every dbt connection gets a ``newSession()`` of it, so that settings and
temporary views of one dbt thread never reach another. Each session has its own instance of every catalog, which reads
fresh, as the Iceberg catalog cache is turned off before the catalog's first use, and is closed with the connection.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError

from . import catalog_file, checks, jars, not_null
from .messages import cause, describe
from .sql import sql_name, sql_value
from .staged_scans import StagedScans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .credentials import SparkIcebergCredentials
    from .incremental.table.history import TableName
    from .python_models import PythonModel

logger = AdapterLogger("Spark")

# Unless the profile says otherwise: dbt shows errors itself, and prints its own progress.
_START = {"spark.app.name": "dbt", "spark.log.level": "FATAL", "spark.ui.showConsoleProgress": "false"}

_lock = threading.Lock()
_python_lock = threading.Lock()
_job_groups = itertools.count(1)
_CANCEL_INTERVAL = 0.2
"""Seconds."""

Description = list[tuple[str, str, None, None, None, None, bool]]


def open_session(credentials: SparkIcebergCredentials) -> SessionConnection:
    """A new session of the process's Spark, which is started on the first call.

    Raises DbtRuntimeError, naming the fix, where Spark cannot be started or cannot reach the profile's catalog.
    """
    checks.require_pyspark()
    import pyspark

    wanted = credentials.spark_confs(pyspark.__version__)
    checks.make_warehouse(credentials.folder)
    with _lock, _first_alone(credentials, wanted):
        if credentials.catalog_file is not None:
            catalog_file.require_name(credentials.catalog_file, credentials.catalog)
        root = _root(wanted, credentials)
        session = root.newSession()
        settings = _configure(session, wanted)
        checks.require_catalog(credentials.catalog, settings)
        _load_jdbc(session, credentials.catalog, settings)
    return SessionConnection(session)


def root_settings(credentials: SparkIcebergCredentials) -> dict[str, str]:
    """Every setting that a new session for this profile has."""
    connection = open_session(credentials)
    try:
        return connection.settings()
    finally:
        connection.close()


def _first_alone(credentials: SparkIcebergCredentials, wanted: Mapping[str, str]) -> AbstractContextManager[None]:
    """Whoever starts first on an embedded lakehouse fetches the jars and makes the catalog, while others wait."""
    from pyspark import SparkContext

    file = credentials.catalog_file
    fetches = SparkContext._active_spark_context is None and jars.missing(wanted)
    if file is None or (catalog_file.is_made(file) and not fetches):
        return nullcontext()
    return catalog_file.alone(file.parent)


def _load_jdbc(session: SparkSession, catalog: str, settings: Mapping[str, str]) -> None:
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


def _root(wanted: Mapping[str, str], credentials: SparkIcebergCredentials) -> SparkSession:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    _quiet_python_logger()
    if SparkContext._active_spark_context is None:
        try:
            _start({**_START, **wanted}, credentials)
        except Exception as error:
            raise checks.start_error(error, _log_file(credentials.folder)) from error
    root = SparkSession.builder.getOrCreate()
    checks.require_iceberg(root)
    return root


def _start(confs: Mapping[str, str], credentials: SparkIcebergCredentials) -> None:
    """Start Spark's JVM; the embedded lakehouse keeps what it prints, such as downloads of jars, in a file."""
    from pyspark import SparkConf, SparkContext, __version__
    from pyspark.java_gateway import launch_gateway

    # pandas-on-Spark asks for it, before Spark starts its Python
    os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "1")
    log = _log_file(credentials.folder)
    logger.info(_waiting_for(__version__, jars.missing(confs), log))
    began = time.monotonic()
    own = credentials.server_side_parameters
    conf = SparkConf().setAll(list(jars.in_place(confs, own, os.environ).items()))
    if log is None:
        SparkContext(conf=conf)
    else:
        with log.open("ab") as output:
            output.write(f"\n{checks.START_MARK}: {datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC\n".encode())
            output.flush()
            gateway = launch_gateway(conf, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
            SparkContext(conf=conf, gateway=gateway)
    logger.info(f"Spark is up after {time.monotonic() - began:.0f} seconds")


def _waiting_for(version: str, fetched: Sequence[str], log: Path | None) -> str:
    said = f"Starting Spark {version}"
    if not fetched:
        return said
    count = "1 jar" if len(fetched) == 1 else f"{len(fetched)} jars"
    progress = "" if log is None else f"; progress is in {log}"
    return f"{said} and downloading {count}, once: {', '.join(fetched)}{progress}"


def _log_file(folder: Path | None) -> Path | None:
    return None if folder is None else folder / "spark.log"


def _quiet_python_logger() -> None:
    """Keep PySpark from printing each SQL error's Java stack trace as JSON."""
    from pyspark.logger import PySparkLogger

    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)


def _configure(session: SparkSession, wanted: Mapping[str, str]) -> dict[str, str]:
    """Give a fresh session the profile's settings, turn every catalog's cache off, and return all settings."""
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
    return settings


@contextmanager
def _active(session: SparkSession) -> Iterator[None]:
    """Have pandas-on-Spark, among others, find this session, which takes the one that is active.

    PySpark has one for the whole process, so that the code of one model runs after that of another.
    """
    from pyspark.sql import SparkSession

    java = session._jvm.org.apache.spark.sql.classic.SparkSession  # type: ignore[union-attr]
    with _python_lock:
        before = SparkSession._activeSession
        SparkSession._activeSession = session
        java.setActiveSession(session._jsparkSession)
        try:
            yield
        finally:
            SparkSession._activeSession = before
            java.clearActiveSession()


class SessionConnection:
    """What dbt holds as a connection's handle: one Spark session."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._group = f"dbt-{next(_job_groups)}"
        self._before: dict[str, str | None] = {}
        self._held: dict[str, DataFrame] = {}
        self._result: str | None = None
        self._closed = threading.Event()
        self.scans = StagedScans(session)

    def cursor(self) -> SessionCursor:
        """A cursor of this session."""
        return SessionCursor(self.session, self._group)

    def settings(self) -> dict[str, str]:
        """The session's settings."""
        return dict(self.session.conf.getAll)

    def setting(self, key: str) -> str | None:
        """The value of a setting; None where it has none."""
        value: str | None = self.session.conf.get(key, None)
        return value

    def configure(self, key: str, value: str | None) -> None:
        """Give a setting a value, or with None the one that it had when it was last given one here."""
        conf = self.session.conf
        if value is not None:
            self._before.setdefault(key, conf.get(key, None))
            conf.set(key, value)
        elif (before := self._before.pop(key, None)) is not None:
            conf.set(key, before)
        else:
            conf.unset(key)

    def hold(self, view: str, sql: str) -> None:
        """Make a temporary view of a SELECT whose rows are computed once, by what reads it first.

        A row that Spark has lost since, with an executor, fails what reads the view. Raises DbtDatabaseError.
        """
        cursor = self.cursor()
        cursor.execute(sql)
        self._keep(view, held(cursor.frame))

    def require_columns(self, table: TableName, columns: Collection[str]) -> None:
        """Make columns NOT NULL, of a table that was just made. Raises DbtDatabaseError."""
        try:
            not_null.require_columns(self.session, table, columns)
        except Exception as error:  # noqa: BLE001 (raised as dbt's own)
            raise DbtDatabaseError(describe(error)) from cause(error)

    def run_python(self, model: PythonModel, view: str, *, once: bool) -> None:
        """Make a temporary view of what a model in Python returns; ``once``: its rows are computed once.

        They are kept until the next model runs. Raises DbtRuntimeError.
        """
        if self._result is not None:
            self.let_go(self._result)
        with _active(self.session):
            self.session.sparkContext.setJobGroup(self._group, model.name)
            frame = model.run(self.session)
        if once:
            self._keep(view, held(frame))
            self._result = view
        else:
            frame.createOrReplaceTempView(view)

    def _keep(self, view: str, frame: DataFrame) -> None:
        self._held[view] = frame
        frame.createOrReplaceTempView(view)

    def let_go(self, view: str) -> None:
        """Let go of the rows of a view."""
        held = self._held.pop(view, None)
        if held is not None:
            self.session.catalog.dropTempView(view)
            held._jdf.queryExecution().logical().rdd().unpersist(False)

    def cancel(self) -> None:
        """Stop what the session is running, from another thread, and whatever it starts from then on."""
        threading.Thread(target=self._cancel_jobs, name=f"cancel {self._group}", daemon=True).start()

    def _cancel_jobs(self) -> None:
        from py4j.protocol import Py4JError

        # A statement starts one job after the other, and may be at work on its plan just now.
        with suppress(Py4JError, OSError):  # the JVM may end before
            while not self._closed.wait(_CANCEL_INTERVAL):
                self.session.sparkContext.cancelJobGroup(self._group)

    def close(self) -> None:
        """Close the session's catalogs, which hold connections of their own; Spark itself continues."""
        from py4j.protocol import Py4JError

        self._closed.set()
        self.scans.close()
        with suppress(Py4JError, OSError):  # the JVM may be gone when dbt is interrupted
            for view in list(self._held):
                self.let_go(view)
        _close_catalogs(self.session)

    def rollback(self) -> None:
        """Spark has no transactions."""


def _close_catalogs(session: SparkSession) -> None:
    from py4j.protocol import Py4JError

    try:
        manager = session._jsparkSession.sessionState().catalogManager()
        loaded = manager.listCatalogs(session._jvm.scala.Option.empty())  # type: ignore[union-attr]
        for i in range(loaded.size()):
            catalog = manager.catalog(loaded.apply(i))
            if catalog.getClass().getName() == "org.apache.iceberg.spark.SparkCatalog":
                inner = catalog.icebergCatalog()
                if session._jvm.java.lang.Class.forName("java.io.Closeable").isInstance(inner):  # type: ignore[union-attr]
                    inner.close()
    except (Py4JError, OSError) as error:
        # The JVM may be gone when dbt is interrupted; there is nothing left to close then.
        logger.debug(f"Closing the session's catalogs: {describe(error)}")


def held(frame: DataFrame) -> DataFrame:
    """A result of which Spark keeps the rows once it has computed them. Raises DbtDatabaseError."""
    try:
        return frame.localCheckpoint(eager=False)
    except Exception as error:  # noqa: BLE001 (raised as dbt's own)
        raise DbtDatabaseError(describe(error)) from cause(error)


class SessionCursor:
    """A DB-API cursor on a Spark session. Statements run when executed; rows are fetched on demand."""

    def __init__(self, session: SparkSession, group: str) -> None:
        self._session = session
        self._group = group
        self._frame: DataFrame | None = None
        self._rows: list[Any] | None = None

    def __enter__(self) -> SessionCursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def description(self) -> Description:
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
        context = self._session.sparkContext
        context.setJobGroup(self._group, sql[:200])
        try:
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
                self._rows = [] if self._frame is None else self._frame.collect()
            except Exception as error:  # noqa: BLE001 (raised as dbt's own)
                raise DbtDatabaseError(describe(error)) from cause(error)
        return self._rows

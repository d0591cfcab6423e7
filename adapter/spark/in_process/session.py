"""The connection method ``session``: Spark in this process.

The process has one root SparkSession. Each dbt connection has a ``newSession()`` of this session. The catalogs of the
new session are closed with the connection.
"""

from __future__ import annotations

import itertools
import os
import pickle
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime, timezone
from pathlib import Path
from traceback import FrameSummary
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.jvm import jars, workload
from iceberg_incremental.jvm.launch import active_context, open_gateway
from iceberg_incremental.spark.java import active_in_thread, iceberg_table, java_class, known_as_one, load_catalog
from iceberg_incremental.spark.staged_scans import StagedScans
from iceberg_incremental.spark.table_commits import TableCommits
from iceberg_incremental.table.history import TableName

from ...as_dbt import dbt_error
from ...profile.credentials import Method
from ...progress.jobs import seconds_of_group, work_of_group
from .. import checks
from ..messages import cause, describe
from ..own_session import OwnSession, configure, load_jdbc, quiet_loggers
from ..session_factory import given_session, has_stopped, own_settings
from . import catalog_file

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark.sql import DataFrame, SparkSession

    from ...profile.credentials import SparkIcebergCredentials
    from ...progress import Work

logger = AdapterLogger("Spark")

# Default settings. dbt shows errors, and this package shows the progress.
_START = {"spark.app.name": "dbt", "spark.log.level": "FATAL", "spark.ui.showConsoleProgress": "false"}

_HADOOP = "spark.hadoop."
_SECRET = re.compile("secret|password|token|access[.]?key", re.IGNORECASE)

_lock = threading.Lock()
_job_groups = itertools.count(1)
runs_on = False
"""Whether this process runs dbt again and again, as ``watch`` does, so that its computations together are long."""
_opened_with: dict[str, str] = {}  # the settings of the profile for which the last session was opened
_started_with: dict[str, str] = {}  # the settings of the profile that started Spark; empty if another program did


def open_session(credentials: SparkIcebergCredentials) -> SessionConnection:
    """A new session of the process's Spark, which is started by the first call.

    Raises DbtRuntimeError, with the fix, if Spark cannot start or cannot access the profile's catalog.
    """
    wanted = wanted_confs(credentials)
    checks.make_warehouse(credentials.folder)
    with _lock, _first_alone(credentials, wanted):
        starts = active_context() is None
        if credentials.catalog_file is not None:
            if starts:  # checked once, because the check reads the whole file, and each dbt thread opens a session
                catalog_file.require_sound(credentials.catalog_file)
            catalog_file.require_name(credentials.catalog_file, credentials.catalog)
            catalog_file.begin_new(credentials.catalog_file, str(credentials.warehouse))
        factory = credentials.session_factory
        if factory is None and starts:
            _start_jvm(wanted, credentials)
        began = time.monotonic()  # from here on, Spark loads its SQL engine and Iceberg, which takes seconds
        root = _root(factory)
        _require_same_storage(wanted)
        session = root.newSession()
        _reset_others(session, wanted)
        settings = _settings(session)
        inherited = {} if factory is None else own_settings(_settings(root), settings)
        settings = configure(session, {**inherited, **wanted}, settings)
        checks.require_catalog(credentials.catalog, settings)
        load_jdbc(credentials.catalog, settings, lambda: load_catalog(session, credentials.catalog))
        _opened_with.clear()
        _opened_with.update(wanted)
        if starts:
            logger.info(f"The first session opened after {time.monotonic() - began:.0f} more seconds")
    return SessionConnection(session)


def opened_file(credentials: SparkIcebergCredentials) -> Path | None:
    """The embedded lakehouse's SQLite file, if this process has opened a session of the profile before.

    None if the next session may have to create the catalog, or may report an error of the profile.
    """
    file = credentials.catalog_file
    if file is None or active_context() is None or wanted_confs(credentials) != _opened_with:
        return None
    return file if catalog_file.is_made(file) else None


def wanted_confs(credentials: SparkIcebergCredentials) -> Mapping[str, str]:
    """The Spark settings of the profile, for the installed PySpark.

    Raises DbtRuntimeError, with the fix, if PySpark is missing, or if Iceberg has no runtime for it.
    """
    version = checks.require_pyspark()
    embedded = credentials.folder is not None
    checks.require_runtime(version, credentials.server_side_parameters, embedded=embedded)
    return credentials.spark_confs(version)


def _first_alone(credentials: SparkIcebergCredentials, wanted: Mapping[str, str]) -> AbstractContextManager[None]:
    """A lock with which the first process on an embedded lakehouse downloads jars and creates the catalog.

    Other processes wait.
    """
    file = credentials.catalog_file
    fetches = active_context() is None and jars.missing(wanted)
    if file is None or (catalog_file.is_made(file) and not fetches):
        return nullcontext()
    return catalog_file.alone(file.parent)


def _require_same_storage(wanted: Mapping[str, str]) -> None:
    """Raise DbtRuntimeError if Spark was started for a profile with other file-system settings.

    Such settings cannot change, so the tables would be read and written in the storage of the other profile. Secrets
    may differ, because they may be valid for a short time only.
    """
    known, now = (
        {key: value for key, value in each.items() if key.startswith(_HADOOP) and _SECRET.search(key) is None}
        for each in (_started_with, wanted)
    )
    if _started_with and known != now:
        names = sorted(key for key in known.keys() | now if known.get(key) != now.get(key))
        raise dbt_error(
            "The Spark session of this process cannot use the file-system settings of the profile.",
            expected="the values with which an earlier dbt command in this process started Spark, since they cannot "
            "change while Spark is running.",
            found=f"other values of {', '.join(names)}.",
            fix="run dbt in a separate process for each profile or target.",
        )


def _reset_others(session: SparkSession, wanted: Mapping[str, str]) -> None:
    """Reset the settings in a new session that only the profile which started Spark has."""
    from pyspark.errors import AnalysisException

    for key in _started_with.keys() - wanted.keys():
        if key.startswith("spark.sql."):
            with suppress(AnalysisException):  # a static setting, which cannot change
                session.conf.unset(key)


def _settings(session: SparkSession) -> dict[str, str]:
    """All settings of a session, with few calls of the JVM. PySpark makes one for each setting."""
    pickler = java_class(session, "net.razorvine.pickle.Pickler")()
    found: dict[str, str] = pickle.loads(pickler.dumps(session.conf._jconf.getAllAsJava()))  # noqa: S301 (of our JVM)
    return found


def _start_jvm(wanted: Mapping[str, str], credentials: SparkIcebergCredentials) -> None:
    try:
        _start({**_START, **wanted}, credentials)
    except Exception as error:
        raise checks.start_error(error, _log_file(credentials.folder)) from error
    _started_with.clear()
    _started_with.update(wanted)


def _root(factory: str | None) -> SparkSession:
    from pyspark.sql import SparkSession

    quiet_loggers()
    root = SparkSession._instantiatedSession if factory is None else given_session(factory, Method.SESSION)
    if root is None or has_stopped(root):  # `getOrCreate` also returns this session, but first looks for classes
        root = SparkSession.builder.getOrCreate()
    checks.require_iceberg(root)
    return root


def _start(confs: Mapping[str, str], credentials: SparkIcebergCredentials) -> None:
    """Start Spark's JVM. With the embedded lakehouse, a file receives its output, such as the downloads of jars."""
    log = _log_file(credentials.folder)
    logger.info(_waiting_for(checks.require_pyspark(), jars.missing(confs), log))
    began = time.monotonic()
    if jars.is_local(confs):
        # Spark's workers use the Python of this process. `python3` on the PATH may lack its packages.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = jars.in_place(confs, os.environ)
    with nullcontext() if log is None else log.open("ab") as output:
        if output is not None:
            output.write(f"\n{checks.START_MARK}: {datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC\n".encode())
            output.flush()
        file = None if credentials.folder is None or runs_on else credentials.folder / "task_seconds"
        gateway = open_gateway(settings, output, logger, workload.expected(file))
        from pyspark import SparkConf, SparkContext

        convert_only_numpy()
        conf = SparkConf(_jvm=gateway.jvm).setAll(list(settings.items()))
        for key in settings_of_sessions(confs, gateway):
            conf._jconf.remove(key)  # type: ignore[union-attr]
        context = SparkContext(conf=conf, gateway=gateway)
        if file is not None:
            workload.note_at_exit(file, context)
    logger.info(
        f"Spark is up after {time.monotonic() - began:.0f} seconds; opening the catalog `{credentials.catalog}`"
    )


class OnlyNumpy:
    """One of PySpark's converters for py4j, for values of NumPy's types alone.

    Py4J calls a converter for each argument of a Java method. Those of PySpark 4.1.4 check whether NumPy is installed
    by a module that also imports pandas, which takes a third of a second.
    """

    def __init__(self, converter: Any) -> None:
        self._converter = converter

    def can_convert(self, value: object) -> bool:
        """Whether the converter converts a value."""
        types = type(value).__mro__
        is_numpy = any(str(each.__module__).partition(".")[0] == "numpy" for each in types)
        return is_numpy and bool(self._converter.can_convert(value))

    def convert(self, value: object, client: Any) -> Any:
        """The value for py4j."""
        return self._converter.convert(value, client)


def convert_only_numpy() -> None:
    """Let PySpark's converters of NumPy values ignore all other values. Calls after the first one have no effect."""
    from py4j import protocol
    from pyspark.sql import types

    theirs = (types.NumpyScalarConverter, types.NumpyArrayConverter)
    known = protocol.INPUT_CONVERTER
    known[:] = [OnlyNumpy(each) if isinstance(each, theirs) else each for each in known]


def settings_of_sessions(settings: Mapping[str, str], gateway: JavaGateway) -> list[str]:
    """The settings that Spark checks when it opens a session, and that each session can change.

    ``configure`` sets them in each session, and names one whose value is invalid. If Spark started with an invalid
    value, no session could open, and PySpark would not end: to convert the exception, it reads a setting, which fails
    with the same exception.
    """
    known = gateway.jvm.org.apache.spark.sql.internal.SQLConf()
    return [
        key
        for key in settings
        if key.startswith("spark.sql.") and not key.startswith("spark.sql.catalog.") and known.isModifiable(key)
    ]


def _waiting_for(version: str, fetched: Sequence[str], log: Path | None) -> str:
    said = f"Starting Spark {version}"
    if not fetched:
        return said
    count = "1 jar" if len(fetched) == 1 else f"{len(fetched)} jars"
    progress = "" if log is None else f"; progress is in {log}"
    return f"{said} and downloading {count}, once: {', '.join(fetched)}{progress}"


def _log_file(folder: Path | None) -> Path | None:
    return None if folder is None else folder / "spark.log"


class SessionConnection(OwnSession):
    """A session of the Spark in this process."""

    def __init__(self, session: SparkSession) -> None:
        from py4j.protocol import Py4JError

        super().__init__(session)
        self._group = f"dbt-{next(_job_groups)}"
        self._spent: float | None = 0.0
        self.scans: StagedScans = StagedScans(session)
        self.commits = TableCommits(session)
        self.gone = (Py4JError, OSError)

    def settings(self) -> dict[str, str]:
        """See OwnSession."""
        return _settings(self.session)

    def starting(self, sql: str) -> None:
        """Assign the jobs of the statement to the session's group, so that they can be cancelled."""
        self.session.sparkContext.setJobGroup(self._group, sql[:200])

    @contextmanager
    def active(self, file: str) -> Iterator[Callable[[], FrameSummary | None]]:
        """Make the session PySpark's active session. A process has only one active session."""
        from pyspark.sql import SparkSession

        before = SparkSession._activeSession
        SparkSession._activeSession = self.session
        try:
            with active_in_thread(self.session):
                yield lambda: None  # an error is raised in the line that causes it
        finally:
            SparkSession._activeSession = before

    def require_columns(self, table: TableName, columns: Collection[str]) -> None:
        """Make columns of a new table NOT NULL. Raises DbtDatabaseError."""
        try:
            require_columns(self.session, table, columns)
        except Exception as error:  # noqa: BLE001 (raised as dbt's own)
            raise DbtDatabaseError(describe(error)) from cause(error)

    def stop_jobs(self) -> None:
        """Cancel the session's running jobs. Called from another thread."""
        self.session.sparkContext.cancelJobGroup(self._group)

    def release(self, held: DataFrame) -> None:
        """Let Spark drop held rows."""
        held._jdf.queryExecution().logical().rdd().unpersist(False)

    def shown(self, held: DataFrame) -> DataFrame:
        """Held rows. If they are in one partition, no statement shuffles them."""
        return known_as_one(held)

    def progress(self) -> Work | None:
        """The progress of the session. Called from another thread."""
        return work_of_group(self.session.sparkContext, self._group)

    def executor_seconds(self) -> float | None:
        """See OwnSession. The next statements have a new group of jobs, so that each job is counted once."""
        if self._spent is not None:  # otherwise, a measurement has failed, and the next one may take as long
            group, self._group = self._group, f"dbt-{next(_job_groups)}"
            spent = seconds_of_group(self.session.sparkContext, group)
            self._spent = None if spent is None else self._spent + spent
        return self._spent

    def end(self) -> None:
        """Close the session's catalogs, which have their own connections."""
        self.scans.close()
        _close_catalogs(self.session)


def _close_catalogs(session: SparkSession) -> None:
    from py4j.protocol import Py4JError

    try:
        manager = session._jsparkSession.sessionState().catalogManager()
        loaded = manager.listCatalogs(java_class(session, "scala.Option").empty())
        closeable = java_class(session, "java.lang.Class").forName("java.io.Closeable")
        for i in range(loaded.size()):
            catalog = manager.catalog(loaded.apply(i))
            if catalog.getClass().getName() == "org.apache.iceberg.spark.SparkCatalog":
                inner = catalog.icebergCatalog()
                if closeable.isInstance(inner):
                    inner.close()
    except (Py4JError, OSError) as error:
        # If dbt is interrupted, the JVM may have ended. There is then nothing to close.
        logger.debug(f"A catalog of the session could not be closed: {describe(error)}")


def require_columns(session: SparkSession, table: TableName, columns: Collection[str]) -> None:
    """Make columns NOT NULL in a table whose current snapshot is the one that created it.

    Spark's CREATE TABLE AS makes all columns nullable, and ALTER TABLE cannot change this. Iceberg's own API can, in a
    metadata commit. The query that created the table has rejected NULLs in these columns.

    A table with a later snapshot is not changed, because another writer may have added a NULL. Iceberg refuses the
    commit if there is another commit in between. Raises Py4JJavaError.
    """
    loaded = iceberg_table(session, table)
    current = loaded.currentSnapshot()
    if current is not None and current.parentId() is not None:
        return
    update = loaded.updateSchema().allowIncompatibleChanges().caseSensitive(False)
    for column in sorted(columns):
        update.requireColumn(column)
    update.commit()

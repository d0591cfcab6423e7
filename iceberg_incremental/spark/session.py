"""The engine's interface to Spark over a PySpark session, classic or Connect."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..errors import StatementError
from ..plan.session_settings import SUMMARY_SETTING
from ..table.history import TableName
from .java import known_as_one
from .port import TIME_ZONE, ExactScans
from .table_commits import TableCommits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .staged_scans import StagedScans


_locks: dict[int | str, threading.RLock] = {}


def settings_of(session: SparkSession, keys: Collection[str]) -> dict[str, str]:
    """The current values of a session's settings, as in ``port.Spark.settings``."""
    conf = session.conf
    found = {key: conf.get(key) if key == TIME_ZONE else conf.get(key, None) for key in keys}
    return {key: value for key, value in found.items() if value is not None}


class SessionSpark:
    """Implements ``port.Spark`` with the session of a job. Settings and views are shared with the job."""

    computes_once = True

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._before: dict[str, str | None] = {}
        self._held: dict[str, DataFrame] = {}
        self._scans: StagedScans | None = _staged_scans(session)
        self._commits = None if self._scans is None else TableCommits(session)

    @property
    def scans(self) -> ExactScans | None:
        """The reader of individual data files. None on Spark Connect, whose driver is not in this process."""
        return self._scans

    @property
    def commits(self) -> TableCommits | None:
        """Commits several changes of a table at once. None on Spark Connect."""
        return self._commits

    @property
    def version(self) -> str:
        """The version of Spark."""
        return self._session.version

    @property
    def is_in_process(self) -> bool:
        """Whether Spark's driver runs in this process, which can then access the same services."""
        return self._scans is not None

    def alone(self) -> AbstractContextManager[object]:
        """A lock of the session, which all jobs in its threads share. A setting of one job applies to all of them."""
        return _locks.setdefault(_identity(self._session), threading.RLock())

    def executor_seconds(self) -> float | None:
        """None, because the job's own statements run in the same session."""
        return None

    def send(self, sql: str) -> None:
        """Execute a statement, and discard its rows."""
        with _statement():
            self._session.sql(sql)

    def refresh(self, table: TableName) -> None:
        """Let the session read the current state of a table, which Iceberg's catalogs cache by default."""
        with suppress(StatementError):  # for a missing table, its first use raises the error
            self.send(f"refresh table {table.sql}")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a SELECT."""
        with _statement():
            return [tuple(row) for row in self._session.sql(sql).collect()]

    def columns(self, query: str) -> list[tuple[str, str]]:
        """The names and SQL types of the columns of a SELECT, which Spark only analyzes."""
        with _statement():
            return [(each.name, each.dataType.simpleString()) for each in self._session.sql(query).schema.fields]

    def plan_of(self, frame: DataFrame) -> str:
        """The text of a DataFrame's analyzed plan, which names the tables that it reads, also if Spark caches it."""
        with _statement():
            if self._scans is None:
                return str(frame._explain_string(extended=True))  # type: ignore[operator]
            return str(frame._jdf.queryExecution().analyzed().toString())

    def settings(self, keys: Collection[str], *, prefixes: tuple[str, ...] = ()) -> Mapping[str, str]:
        """The current values of settings of the session, as in the protocol."""
        found = settings_of(self._session, keys)
        if prefixes:
            found |= {key: value for key, value in self.all_settings().items() if key.startswith(prefixes)}
        return found

    def all_settings(self) -> Mapping[str, str]:
        """All settings of the session."""
        return dict(self._session.conf.getAll)

    def configure(self, key: str, value: str | None) -> None:
        """Set a setting. None restores the value that it had when it was last set here.

        A summary property had no value before, because a run refuses one. Another run must not restore it.
        """
        conf = self._session.conf
        with _statement():
            if value is not None:
                if not key.startswith(SUMMARY_SETTING):
                    self._before.setdefault(key, conf.get(key, None))
                conf.set(key, value)
            elif (before := self._before.pop(key, None)) is not None:
                conf.set(key, before)
            else:
                conf.unset(key)

    def hold(self, view: str, sql: str) -> None:
        """Create a temporary view of a SELECT whose rows are computed once, by the first statement that reads it."""
        with _statement():
            held = self._held[view] = self._session.sql(sql).localCheckpoint(eager=False)
            (held if self._scans is None else known_as_one(held)).createOrReplaceTempView(view)

    def release_view(self, view: str) -> None:
        """Release the rows of a view."""
        held = self._held.pop(view, None)
        with _statement():
            self._session.catalog.dropTempView(view)
            if held is not None and self._scans is not None:
                held._jdf.queryExecution().logical().rdd().unpersist(False)

    def close(self) -> None:
        """Release all held rows."""
        for view in list(self._held):
            self.release_view(view)
        if self._scans is not None:
            self._scans.close()


def _identity(session: Any) -> int | str:
    """A value that is the same for all Python objects of a session."""
    if hasattr(session, "_jvm"):
        return int(session._jvm.System.identityHashCode(session._jsparkSession))
    return str(session.session_id)  # Spark Connect


def _staged_scans(session: SparkSession) -> StagedScans | None:
    """The reader of individual data files. None if the session has no JVM in this process."""
    if not hasattr(session, "_jvm"):
        return None
    from .staged_scans import StagedScans

    return StagedScans(session)


@contextmanager
def _statement() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise StatementError(str(error)) from error

"""The port to Spark by a session of PySpark, classic or Connect."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import StatementError
from .one_partition import known_as_one
from .scans import ExactScans
from .table_commits import TableCommits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .staged_scans import StagedScans


class SessionSpark:
    """Implements ``port.Spark`` by the session that a job runs in, whose settings and views it shares."""

    computes_once = True

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._before: dict[str, str | None] = {}
        self._held: dict[str, DataFrame] = {}
        self._scans: StagedScans | None = _staged_scans(session)
        self._commits = None if self._scans is None else TableCommits(session)

    @property
    def scans(self) -> ExactScans | None:
        """What reads data files by themselves; None on Spark Connect, whose driver is elsewhere."""
        return self._scans

    @property
    def commits(self) -> TableCommits | None:
        """What commits several changes of a table at once; None on Spark Connect."""
        return self._commits

    @property
    def is_in_process(self) -> bool:
        """Whether Spark's driver runs in this process, which can then reach the same services."""
        return self._scans is not None

    def send(self, sql: str) -> None:
        """Run a statement whose rows, if it has any, are not wanted."""
        with _statement():
            self._session.sql(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a SELECT."""
        with _statement():
            return [tuple(row) for row in self._session.sql(sql).collect()]

    def settings(self, keys: Collection[str]) -> Mapping[str, str]:
        """Which of some settings the session has now, with their values."""
        found = {key: self._session.conf.get(key, None) for key in keys}
        return {key: value for key, value in found.items() if value is not None}

    def all_settings(self) -> Mapping[str, str]:
        """All settings of the session."""
        return dict(self._session.conf.getAll)

    def configure(self, key: str, value: str | None) -> None:
        """Give a setting a value, or with None the one that it had when it was last given one here."""
        conf = self._session.conf
        with _statement():
            if value is not None:
                self._before.setdefault(key, conf.get(key, None))
                conf.set(key, value)
            elif (before := self._before.pop(key, None)) is not None:
                conf.set(key, before)
            else:
                conf.unset(key)

    def hold(self, view: str, sql: str) -> None:
        """Make a temporary view of a SELECT whose rows are computed once, by what reads it first."""
        with _statement():
            held = self._held[view] = self._session.sql(sql).localCheckpoint(eager=False)
            (held if self._scans is None else known_as_one(held)).createOrReplaceTempView(view)

    def let_go(self, view: str) -> None:
        """Let go of the rows of a view."""
        held = self._held.pop(view, None)
        with _statement():
            self._session.catalog.dropTempView(view)
            if held is not None and self._scans is not None:
                held._jdf.queryExecution().logical().rdd().unpersist(False)

    def close(self) -> None:
        """Let go of all that is held."""
        for view in list(self._held):
            self.let_go(view)
        if self._scans is not None:
            self._scans.close()


def _staged_scans(session: SparkSession) -> StagedScans | None:
    """What reads data files by themselves, where the session has a JVM of its own; else None."""
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

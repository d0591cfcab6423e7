"""The port to Spark: all that the engine asks of a connection."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from ..errors import StatementError
from ..explain import model_errors
from ..plan import session_settings
from ..spark.scans import ExactScans
from ..spark.table_commits import TableCommits


class Spark(Protocol):
    """One connection to Spark, used by one thread. What runs SQL raises StatementError, whatever the connection raises.

    ``scans``: what reads data files by themselves, ``commits``: what commits several changes of a table at once; None
    where Spark's driver is elsewhere. ``computes_once``: whether rows that are held are computed once, whatever they
    come from, and not as often as Spark sees fit.
    """

    @property
    def scans(self) -> ExactScans | None:
        """See the class."""

    @property
    def commits(self) -> TableCommits | None:
        """See the class."""
        ...

    @property
    def computes_once(self) -> bool:
        """See the class."""

    def send(self, sql: str) -> None:
        """Run a statement whose rows, if it has any, are not wanted."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a SELECT."""

    def settings(self, keys: Collection[str]) -> Mapping[str, str]:
        """Which of some settings the session has now, with their values."""

    def configure(self, key: str, value: str | None) -> None:
        """Give a setting of the session a value, or with None the value that it had before."""

    def hold(self, view: str, sql: str) -> None:
        """Make a temporary view of a SELECT whose rows Spark keeps until they are let go."""

    def let_go(self, view: str) -> None:
        """Let go of the rows of a view."""


@contextmanager
def holding(spark: Spark, view: str, sql: str) -> Iterator[None]:
    """A temporary view of a SELECT whose rows Spark keeps meanwhile."""
    try:
        spark.hold(view, sql)
        yield
    finally:
        with suppress(StatementError):  # the first error is the one to show
            spark.let_go(view)


@contextmanager
def under(spark: Spark, settings: Mapping[str, str]) -> Iterator[None]:
    """Session settings for the statements inside; reset whatever happens there."""
    try:
        for key, value in settings.items():
            spark.configure(key, value)
        yield
    except BaseException:
        with suppress(StatementError):  # a lost connection takes its settings with it; show what lost it
            _reset(spark, settings)
        raise
    _reset(spark, settings)


def _reset(spark: Spark, settings: Mapping[str, str]) -> None:
    """Reset all of them, also where one cannot be; raises the first error then."""
    errors: list[StatementError] = []
    for key in settings:
        try:
            spark.configure(key, None)
        except StatementError as error:
            errors.append(error)
    if errors:
        raise errors[0]


def require_settings(spark: Spark, who: str, *, everywhere: bool = False) -> None:
    """Raise ConfigError under settings of the session with which our SQL would mean something else.

    ``who``: what would run under them. ``everywhere``: only those that also harm what is no incremental processing.
    """
    keys = [each.key for each in session_settings.REFUSED]
    found = session_settings.refused_in(spark.settings(keys), everywhere=everywhere)
    if found:
        raise model_errors.refused_settings(who, found)

"""The engine's interface to a Spark connection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..errors import StatementError
from ..explain import model_errors
from ..plan import session_settings
from ..spark.table_commits import TableCommits
from ..sql import sql_name
from ..table.history import TableName


@dataclass(frozen=True)
class Rows:
    """Rows of one end of a range, with the columns of the range's end.

    ``relation``: the relation for FROM. ``columns``: expressions for columns that the relation has in another form. A
    relation contains deleted rows only in statements that read ``_deleted``.
    """

    relation: str
    columns: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    """A condition must not be a single name, because Spark reads ``t WHERE (c)`` as aliases of a table and a column."""

    def where(self, *conditions: str | None) -> Rows:
        """The rows that also satisfy these conditions. None is ignored."""
        return replace(self, conditions=(*self.conditions, *(each for each in conditions if each is not None)))

    def select(self, names: Iterable[str], *more: str) -> str:
        """The SELECT of columns, by their names at the range's end, and of additional expressions."""
        listed = [
            f"{self.columns[name]} as {sql_name(name)}" if name in self.columns else sql_name(name) for name in names
        ]
        return f"select {', '.join([*listed, *more])} {self.clauses}"

    @property
    def clauses(self) -> str:
        """The FROM and WHERE clauses."""
        where = f" where {' and '.join(f'({each})' for each in self.conditions)}" if self.conditions else ""
        return f"from {self.relation}{where}"


class ExactScans(Protocol):
    """Reads individual data files."""

    def rows(
        self, table: TableName, snapshot_id: int, paths: Collection[str], *, columns_of: int, deleted: bool
    ) -> Rows | None:
        """The rows that a table has at a snapshot in these data files, once for each entry of a file.

        The rows have the columns at snapshot ``columns_of``, and the columns of row lineage or, with ``deleted``, those
        that locate deleted rows. None if the connection cannot read individual files, or if the table has none of them.
        """


TIME_ZONE = "spark.sql.session.timeZone"


class Spark(Protocol):
    """A connection to Spark, used by one thread. Methods that execute SQL convert all errors to StatementError.

    ``scans``: reads individual data files. ``commits``: commits several changes of a table at once. Both are None if
    Spark's driver is not in this process. ``computes_once``: whether held rows are always computed once, instead of as
    often as Spark decides. ``version``: the version of Spark, such as ``4.1.2``.
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

    @property
    def version(self) -> str:
        """See the class."""
        ...

    def executor_seconds(self) -> float | None:
        """The CPU time in s that executors have spent on this connection's statements so far. None if unknown."""

    def send(self, sql: str) -> None:
        """Execute a statement, and discard its rows."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a SELECT."""

    def columns(self, query: str) -> list[tuple[str, str]]:
        """The names and SQL types of the columns of a SELECT, which is not executed."""

    def settings(self, keys: Collection[str], *, prefixes: tuple[str, ...] = ()) -> Mapping[str, str]:
        """The current values of settings of the session. Settings without a value are omitted.

        ``TIME_ZONE`` always has a value, which is by default the time zone of the computer on which Spark runs.
        ``prefixes``: also returns the settings that the session or its configuration sets, if their names start with
        one of them.
        """

    def refresh(self, table: TableName) -> None:
        """Let the next statement read the current state of a table, if the connection's catalogs may cache it."""

    def configure(self, key: str, value: str | None) -> None:
        """Set a setting of the session. None restores its previous value."""

    def hold(self, view: str, sql: str) -> None:
        """Create a temporary view of a SELECT whose rows Spark holds until they are released."""

    def release_view(self, view: str) -> None:
        """Release the rows of a view."""


@contextmanager
def holding(spark: Spark, view: str, sql: str) -> Iterator[None]:
    """A temporary view of a SELECT whose rows Spark holds within the block."""
    try:
        spark.hold(view, sql)
        yield
    finally:
        with suppress(StatementError):  # the first error is the one to report
            spark.release_view(view)


@contextmanager
def under(spark: Spark, settings: Mapping[str, str]) -> Iterator[None]:
    """Session settings for the statements in the block. They are reset at its end, also after an error."""
    try:
        for key, value in settings.items():
            spark.configure(key, value)
        yield
    except BaseException:
        with suppress(StatementError):  # a lost connection has lost its settings; report the original error
            _reset(spark, settings)
        raise
    _reset(spark, settings)


def _reset(spark: Spark, settings: Mapping[str, str]) -> None:
    """Reset all settings, even if resetting one of them fails. Then raise the first error."""
    errors: list[StatementError] = []
    for key in settings:
        try:
            spark.configure(key, None)
        except StatementError as error:
            errors.append(error)
    if errors:
        raise errors[0]


def require_settings(spark: Spark, who: str, *, everywhere: bool = False) -> None:
    """Raise ConfigError if a session setting would change the meaning of this package's SQL.

    ``who``: the model or operation, for the error. ``everywhere``: checks only settings that also harm other
    materializations.
    """
    keys = [each.key for each in session_settings.REFUSED]
    found = session_settings.refused_in(spark.settings(keys), everywhere=everywhere)
    if found:
        raise model_errors.refused_settings(who, found)

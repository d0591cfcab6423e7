"""Several changes of a table's metadata in one commit, if Spark's driver is in this process.

In Spark SQL, each change is a statement, which loads the table, writes its metadata and is planned as a query.
Iceberg's API has a transaction for all changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import StatementError
from ..table.history import MAIN, TableName
from .java import iceberg_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TableCommits:
    """Commits to the tables in the catalogs of one session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def make_branch(self, table: TableName, branch: str) -> bool:
        """Create a branch at the current snapshot of main, or replace an existing one.

        Returns whether the table has the branch when it is read again. Raises StatementError.
        """
        with _refused():
            loaded = iceberg_table(self._session, table)
            references = loaded.manageSnapshots()  # refresh the table, in case its catalog caches it
            head = loaded.currentSnapshot()
            if head is None:
                references.createBranch(branch)
            elif loaded.refs().containsKey(branch):
                references.replaceBranch(branch, head.snapshotId())
            else:
                references.createBranch(branch, head.snapshotId())
            references.commit()
            loaded.refresh()  # a commit returns what the catalog was asked to do
            return bool(loaded.refs().containsKey(branch))

    def publish(self, table: TableName, branch: str, dropped: Iterable[str], properties: Mapping[str, str]) -> None:
        """Fast-forward main to a branch, drop branches, and set properties, in one atomic commit.

        Raises StatementError, for example if main is not an ancestor of the branch, or if another commit is made in
        between.
        """
        with _refused():
            loaded = iceberg_table(self._session, table)
            transaction, known = loaded.newTransaction(), loaded.refs()
            references = transaction.manageSnapshots().fastForwardBranch(MAIN, branch)
            for each in dropped:
                if known.containsKey(each) and known.get(each).isBranch():
                    references.removeBranch(each)
            references.commit()
            _set(transaction.updateProperties(), properties)
            transaction.commitTransaction()
            self._refresh(table)

    def set_properties(self, table: TableName, properties: Mapping[str, str]) -> None:
        """Set properties of a table. Raises StatementError."""
        with _refused():
            _set(iceberg_table(self._session, table).updateProperties(), properties)

    def _refresh(self, table: TableName) -> None:
        """Drop the table's rows from Spark's cache, as Spark's own statements do."""
        if not self._session._jsparkSession.sharedState().cacheManager().isEmpty():
            self._session.sql(f"refresh table {table.sql}")


@contextmanager
def _refused() -> Iterator[None]:
    """Convert Iceberg's errors, some of which PySpark translates, to StatementError."""
    try:
        yield
    except Exception as error:
        raise StatementError(_message(error)) from error


def _set(update: Any, properties: Mapping[str, str]) -> None:
    for key, value in properties.items():
        update.set(key, value)
    update.commit()


def _message(error: Exception) -> str:
    """The message of an Iceberg error, without Java's stack trace."""
    raised = getattr(error, "java_exception", None)
    return str(error) if raised is None else str(raised.toString())

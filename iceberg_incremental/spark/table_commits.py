"""Several changes of a table's metadata in one commit, where Spark's driver is in this process.

Spark SQL has a statement for each change, and each loads the table, writes its metadata and is planned as a query.
Iceberg's own API has a transaction for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import StatementError
from ..table.history import MAIN, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TableCommits:
    """Commits to the tables of one session's catalogs."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def make_branch(self, table: TableName, branch: str) -> None:
        """Make a branch at the head of main, in the place of one of its name. Raises StatementError."""
        with _refused():
            loaded = self._loaded(table)
            references = loaded.manageSnapshots()  # which reads the table again, if its catalog holds it
            head = loaded.currentSnapshot()
            if head is None:
                references.createBranch(branch)
            elif loaded.refs().containsKey(branch):
                references.replaceBranch(branch, head.snapshotId())
            else:
                references.createBranch(branch, head.snapshotId())
            references.commit()

    def publish(self, table: TableName, branch: str, dropped: Iterable[str], properties: Mapping[str, str]) -> None:
        """Forward main to the head of a branch, drop branches, and set properties: all of it, or nothing.

        Iceberg refuses it unless main is an ancestor of the branch, and where another commit comes between. Raises
        StatementError.
        """
        with _refused():
            loaded = self._loaded(table)
            transaction, known = loaded.newTransaction(), loaded.refs()
            references = transaction.manageSnapshots().fastForwardBranch(MAIN, branch)
            for each in dropped:
                if known.containsKey(each) and known.get(each).isBranch():
                    references.removeBranch(each)
            references.commit()
            update = transaction.updateProperties()
            for key, value in properties.items():
                update.set(key, value)
            update.commit()
            transaction.commitTransaction()
            self._read_anew(table)

    def _read_anew(self, table: TableName) -> None:
        """Drop the rows of the table that Spark caches, as its own statements do."""
        if not self._session._jsparkSession.sharedState().cacheManager().isEmpty():
            self._session.sql(f"refresh table {table.sql}")

    def _loaded(self, table: TableName) -> Any:
        spark = self._session._jvm.org.apache.iceberg.spark  # type: ignore[union-attr]
        return spark.Spark3Util.loadIcebergTable(self._session._jsparkSession, table.sql)


@contextmanager
def _refused() -> Iterator[None]:
    """Raise StatementError for what Iceberg raises, of which PySpark translates some into errors of its own."""
    try:
        yield
    except Exception as error:
        raise StatementError(_said(error)) from error


def _said(error: Exception) -> str:
    """What Iceberg says of an error, without Java's stack trace."""
    raised = getattr(error, "java_exception", None)
    return str(error) if raised is None else str(raised.toString())

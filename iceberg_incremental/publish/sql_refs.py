"""Branches and tags of tables by SQL statements, and the port through which a run publishes its branch.

Over REST, Nessie 0.99 accepts branches and tags, and creates none. A successful statement therefore proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Protocol

from ..errors import IncrementalError, StatementError
from ..metadata import MetadataReader
from ..spark.port import Spark
from ..sql import sql_name, sql_properties, sql_string
from ..table.history import TableName
from .commit_conflicts import MOST_OF_METADATA, attempts, is_commit_conflict


class RunCommits(Protocol):
    """The commits of a run besides those of its rows: ``TableCommits`` in Spark's driver, and ``SqlRefs`` elsewhere."""

    def make_branch(self, table: TableName, branch: str) -> bool:
        """Create a branch at the current snapshot of main, or replace an existing one.

        Returns whether the table has the branch when it is read again. Raises StatementError.
        """

    def publish(self, table: TableName, branch: str, dropped: Iterable[str], properties: Mapping[str, str]) -> None:
        """Fast-forward main to a branch, drop branches, and set properties. Raises StatementError if main is unchanged.

        Main is changed atomically. What follows is a part of the same commit, or may fail without an error.
        """

    def set_properties(self, table: TableName, properties: Mapping[str, str]) -> None:
        """Set properties of a table. Raises StatementError."""


class SqlRefs:
    """The branches and tags of the tables that a connection can alter."""

    def __init__(self, spark: Spark, reader: MetadataReader) -> None:
        self._spark = spark
        self._reader = reader

    def make_branch(self, table: TableName, branch: str) -> bool:
        """See RunCommits."""
        self._spark.send(f"ALTER TABLE {table.sql} CREATE OR REPLACE BRANCH {sql_name(branch)}")
        return self.has(table, branch)

    def publish(self, table: TableName, branch: str, dropped: Iterable[str], properties: Mapping[str, str]) -> None:
        """See RunCommits."""
        catalog = sql_name(table.catalog)
        self._spark.send(f"CALL {catalog}.system.fast_forward({sql_string(table.sql)}, 'main', '{branch}')")
        self.finish(table, dropped, properties)

    def finish(self, table: TableName, dropped: Iterable[str], properties: Mapping[str, str]) -> None:
        """Drop branches, and set properties, after the rows are published. Ignores errors.

        The next run drops a remaining branch. The checkpoint in the summary is authoritative.
        """
        with suppress(IncrementalError):
            for branch in dropped:
                self.drop_branch(table, branch)
        with suppress(IncrementalError):
            self.set_properties(table, properties)

    def drop_branch(self, table: TableName, branch: str) -> None:
        """Drop a branch if it exists. Raises StatementError."""
        self._spark.send(f"ALTER TABLE {table.sql} DROP BRANCH IF EXISTS {sql_name(branch)}")

    def set_properties(self, table: TableName, properties: Mapping[str, str]) -> None:
        """See RunCommits."""
        self._spark.send(f"ALTER TABLE {table.sql} SET TBLPROPERTIES {sql_properties(properties)}")

    def alter(self, statement: str) -> None:
        """Execute an idempotent statement that changes branches or tags.

        It is retried on conflicts with other commits, which Iceberg retries only for commits of rows. Raises
        StatementError for other errors, and for the conflict of the last attempt.
        """
        for is_last in attempts(MOST_OF_METADATA):
            try:
                self._spark.send(statement)
            except StatementError as error:
                if is_last or not is_commit_conflict(error):
                    raise
            else:
                return

    def has(self, table: TableName, name: str) -> bool:
        """Whether a table has a branch or a tag now. A statement is sent only if nothing else can read the metadata.

        Raises StatementError.
        """
        history = self._reader.load_without_statement(table)
        if history is not None:
            return name in history.refs
        self._spark.refresh(table)
        return bool(self._spark.rows(f"select 1 from {table.sql}.refs where name = {sql_string(name)}"))

"""NOT NULL columns in a table that was created from a query, if Spark's driver is in this process.

Spark's CREATE TABLE AS makes all columns nullable, and ALTER TABLE cannot change this. Iceberg's own API can, in a
metadata commit. The query that created the table has rejected NULLs in these columns, so no row violates the
constraint.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from iceberg_incremental.spark.java import iceberg_table
from iceberg_incremental.table.history import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def require_columns(session: SparkSession, table: TableName, columns: Collection[str]) -> None:
    """Make columns NOT NULL in a table whose current snapshot is the one that created it.

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

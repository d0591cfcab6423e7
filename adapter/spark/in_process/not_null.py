"""NOT NULL columns of a table that a query has made, where Spark's driver is in this process.

A CREATE TABLE AS of Spark makes all columns nullable, and no ALTER TABLE takes that back. Iceberg's own API does, by a
commit of metadata alone. The query that made the table has stopped NULLs in these columns, so no row contradicts it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from iceberg_incremental.table.history import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def require_columns(session: SparkSession, table: TableName, columns: Collection[str]) -> None:
    """Make columns NOT NULL, of a table whose current snapshot is the one that made it.

    Another writer may have added a NULL to a table with a later snapshot; it stays as it is. Iceberg refuses the commit
    where one comes between. Raises Py4JJavaError.
    """
    spark = session._jvm.org.apache.iceberg.spark  # type: ignore[union-attr]
    loaded = spark.Spark3Util.loadIcebergTable(session._jsparkSession, table.sql)
    current = loaded.currentSnapshot()
    if current is not None and current.parentId() is not None:
        return
    update = loaded.updateSchema().allowIncompatibleChanges().caseSensitive(False)
    for column in sorted(columns):
        update.requireColumn(column)
    update.commit()

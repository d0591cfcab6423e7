"""Actions of other writers with Iceberg's own library, for which there is no SQL statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def undo_deletes(session: Any, name: str) -> bool:
    """Remove the delete files of a table's last commit. False if the commit did anything other than delete in place."""
    table = session._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    last, io = table.currentSnapshot(), table.io()
    added, before = list(_each(last.addedDeleteFiles(io))), list(_each(last.removedDeleteFiles(io)))
    if not added or [*_each(last.addedDataFiles(io)), *_each(last.removedDataFiles(io))]:
        return False
    delta = table.newRowDelta().validateFromSnapshot(last.snapshotId())
    for file in added:
        delta.removeDeletes(file)
    for file in before:  # format v3 has one deletion vector per data file
        delta.addDeletes(file)
    delta.commit()
    return True


def delete_equal(session: Any, name: str, ids: Iterable[int], *, columns: Sequence[str] = ("id",)) -> bool:
    """Delete the rows with these ids with an equality delete, as streaming writers do. Spark writes no such deletes.

    The delete file has the format of a data file of a table with the compared columns, of which ``id`` is the first. It
    compares all ``columns``. Its values of the other columns are NULL.
    """
    keys = f"{name}_equal"
    session.sql(f"create or replace table {keys} (id int) using iceberg")
    session.sql(f"insert into {keys} select /*+ coalesce(1) */ explode(array({', '.join(map(str, ids))}))")
    ((path, size, records),) = session.sql(
        f"select file_path, file_size_in_bytes, record_count from {keys}.files"
    ).collect()
    iceberg, gateway = session._jvm.org.apache.iceberg, session.sparkContext._gateway
    table = iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    compared = gateway.new_array(gateway.jvm.int, len(columns))
    for place, column in enumerate(columns):
        compared[place] = table.schema().findField(column).fieldId()
    file = iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(compared).withFormat("PARQUET")
    file = file.withPath(path).withFileSizeInBytes(size).withRecordCount(records).build()
    table.newRowDelta().addDeletes(file).commit()
    return True


def add_moved(session: Any, name: str, rows: str) -> bool:
    """Add a file that another table of format v3 has rewritten. It contains the row ids of that table.

    ``rows``: the query of its rows, with the columns of the table in their order.
    """
    other = f"{name}_moved"
    session.sql(f"drop table if exists {other}")
    session.sql(
        f"create table {other} using iceberg tblproperties ('format-version'='3') as select * from {name} limit 0"
    )
    session.sql(f"insert into {other} select /*+ coalesce(1) */ * from ({rows})")
    catalog, _, table_name = other.partition(".")
    options = "map('rewrite-all', 'true')"
    session.sql(f"call {catalog}.system.rewrite_data_files(table => '{table_name}', options => {options})")
    ((path, size, records),) = session.sql(
        f"select file_path, file_size_in_bytes, record_count from {other}.files"
    ).collect()
    iceberg = session._jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    file = iceberg.DataFiles.builder(table.spec()).withFormat("PARQUET")
    file = file.withPath(path).withFileSizeInBytes(size).withRecordCount(records).build()
    table.newAppend().appendFile(file).commit()
    return True


def _each(files: Any) -> Iterator[Any]:
    found = files.iterator()
    while found.hasNext():
        yield found.next()

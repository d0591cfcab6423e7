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


def _each(files: Any) -> Iterator[Any]:
    found = files.iterator()
    while found.hasNext():
        yield found.next()

"""What other writers do by Iceberg's own library, for which SQL has no statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def undo_deletes(session: Any, name: str) -> bool:
    """Take the delete files of a table's last commit out again; False where it did anything but delete in place."""
    table = session._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    last, io = table.currentSnapshot(), table.io()
    added, before = list(_each(last.addedDeleteFiles(io))), list(_each(last.removedDeleteFiles(io)))
    if not added or [*_each(last.addedDataFiles(io)), *_each(last.removedDataFiles(io))]:
        return False
    delta = table.newRowDelta().validateFromSnapshot(last.snapshotId())
    for file in added:
        delta.removeDeletes(file)
    for file in before:  # of one data file, format v3 has one delete vector at a time
        delta.addDeletes(file)
    delta.commit()
    return True


def delete_equal(session: Any, name: str, ids: Iterable[int], *, columns: Sequence[str] = ("id",)) -> bool:
    """Delete the rows of these ids by an equality delete, as streaming writers do; Spark writes none.

    Such a file is like a data file of a table that has the compared columns, of which ``id`` is the first. It compares
    all ``columns``, of which it has NULL in the others.
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

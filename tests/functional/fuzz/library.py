"""What other writers do by Iceberg's own library, for which SQL has no statement."""

from __future__ import annotations

from collections.abc import Iterator
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


def _each(files: Any) -> Iterator[Any]:
    found = files.iterator()
    while found.hasNext():
        yield found.next()

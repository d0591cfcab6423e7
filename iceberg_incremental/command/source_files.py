"""Lists the data files that contain exactly the rows that a run reads from a source, for engines that read files.

A data file does not show which of its rows delete files have removed. An imported file may lack the partition columns,
or have other values in them than its partition. A file's column names differ from the table's if columns were renamed,
or if Parquet does not support a name. If any of this may apply, no files are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ..capture.cuts import Cuts
from ..metadata.pyiceberg_reader import PyIcebergReader
from ..plan.ranges import Appends, NetChanges, Nothing, Range, Whole
from ..plan.remaining import only_adds
from ..table.changed_files import DataFile, TableColumn
from ..table.commits import may_repeat_files, writes_new_files
from ..table.file_columns import NAME_MAPPING, readable_by_name
from ..table.history import History
from ..table.intervals import has_partition_values


class Omitted(str, Enum):
    """The reason for listing no files."""

    CHANGELOG = "a changelog also has rows that were changed or deleted"
    CHANGED_ROWS = "the range changes or deletes rows, or has moved them to other files"
    DELETE_FILES = "delete files apply to data files of the range"
    UNLISTED = "the data files cannot be listed"
    NOT_PARQUET = "not all data files are Parquet"
    COLUMNS = (
        "files may have other columns: names or types have changed, have defaults, or are not plain letters and digits"
    )
    IMPORTED = "files may have been imported with other values in their partition columns, or without these columns"


@dataclass(frozen=True)
class Listed:
    """``files``: the files to read. If it is None, ``omitted`` is the reason. ``columns``: the column names to read."""

    files: tuple[DataFile, ...] | None
    columns: tuple[str, ...] = ()
    omitted: Omitted | None = None


def files_of(reader: PyIcebergReader, cuts: Cuts, planned: Range) -> Listed:
    """The files of a range. Raises MetadataAccessError if the metadata is unreachable."""
    if isinstance(planned, Nothing):
        return Listed(())
    assert isinstance(planned, Whole | Appends | NetChanges)
    changed = planned.net.changed if isinstance(planned, NetChanges) else cuts.files_of(planned)
    if changed is None or changed.files is None:
        return Listed(None, omitted=Omitted.UNLISTED)
    files, names = changed.files.at_end, tuple(column.name for column in changed.end)
    omitted = _omitted(reader, planned, files, changed.end)
    return Listed(files if omitted is None else None, names, omitted)


def _omitted(
    reader: PyIcebergReader,
    planned: Whole | Appends | NetChanges,
    files: Sequence[DataFile],
    columns: Sequence[TableColumn],
) -> Omitted | None:
    """The reason why the files do not contain exactly the rows of the range. None if they do."""
    if isinstance(planned, NetChanges) and not only_adds(planned.net.changed):
        return Omitted.CHANGED_ROWS
    history = reader.load(planned.table)
    if history is None or planned.end.snapshot_id not in history.snapshots:
        return Omitted.UNLISTED
    if _has_deletes(reader, planned, history):
        return Omitted.DELETE_FILES
    if not all(file.path.endswith(".parquet") for file in files):
        return Omitted.NOT_PARQUET
    if not readable_by_name(reader.schemas(planned.table), columns, history.properties.get(NAME_MAPPING)):
        return Omitted.COLUMNS
    types = {column.field_id: column.type for column in columns}
    if all(has_partition_values(file, types) for file in files) or _are_written(planned, history):
        return None
    return Omitted.IMPORTED


def _has_deletes(reader: PyIcebergReader, planned: Whole | Appends | NetChanges, history: History) -> bool:
    """Whether delete files may apply to the files. As in Iceberg's append scan, they do not apply to appends."""
    if isinstance(planned, Appends):
        return False
    if isinstance(planned, NetChanges):
        return not planned.net.changed.without_deletes
    end = planned.end.snapshot_id
    return not reader.changed_files(history, end, end).without_deletes


def _are_written(planned: Whole | Appends | NetChanges, history: History) -> bool:
    """Whether an engine is known to have written the files for this table, so that they were not imported."""
    if not isinstance(planned, Appends):
        return not may_repeat_files(history, planned.end.snapshot_id)
    commits = [history.snapshots.get(each) for each in planned.brought_by]
    return all(commit is not None and writes_new_files(commit) for commit in commits)

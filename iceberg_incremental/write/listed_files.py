"""The data files of tables, by whose metadata a statement can skip files."""

from __future__ import annotations

from ..metadata import FilesAt, MetadataReader
from ..table.commits import total
from ..table.files import ChangedFiles
from ..table.history import History

_MOST_FILES = 10_000
"""The maximum number of files to list. If a table has more, bounds are assumed to avoid reading some of them."""


def files_at(reader: MetadataReader, history: History, snapshot_id: int | None) -> ChangedFiles | None:
    """The files of a table at a snapshot. None if there are too many to examine, or if they are unknown."""
    snapshot = None if snapshot_id is None else history.snapshots.get(snapshot_id)
    if snapshot is None or total(snapshot)[0] > _MOST_FILES:
        return None
    return reader.data_files(history, FilesAt(snapshot.snapshot_id))

"""Reading table metadata: the only module family that touches a catalog. Nothing here writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..table.changed_files import ChangedFiles
from ..table.history import History, TableName
from ..table.layout import Layout
from ..table.live_files import LiveFiles
from ..table.partitions import LiveSpec


@dataclass(frozen=True)
class FilesAt:
    """Which data files to list: all files at a snapshot, unless ``added_by`` or ``added_after`` is given.

    ``added_by``: snapshot ids of commits, to list every file that they added, even if it was removed since.
    ``added_after``: a sequence number, to list only the files that later commits added.
    ``since``: the snapshot whose columns become the columns of the start; by default, those of ``snapshot_id``.
    """

    snapshot_id: int
    added_by: Collection[int] | None = None
    added_after: int | None = None
    since: int | None = None


class MetadataReader(Protocol):
    """Loads the history of tables. Implementations are safe to call from several dbt threads at once.

    What has a body here is right for a reader that sends statements and lists no files.
    """

    def load(self, table: TableName) -> History | None:
        """The table's history as its catalog has it now, never from a cache; None where no such table or view exists.

        Raises NotIcebergError for a view or a table of another format, MetadataAccessError where the catalog or the
        metadata file cannot be reached.
        """

    def load_without_statement(self, table: TableName) -> History | None:
        """Load the history if this needs no Spark statement; None if it does, or if the table does not exist.

        Raises NotIcebergError as ``load`` does.
        """
        return None

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """Where each table's current metadata file is: another one after each commit. Reads no file where it can.

        A table that does not exist, or cannot be reached, is left out.
        """

    def folders(self, table: TableName) -> Sequence[str]:
        """Where a table's files are: its location, then the folders that its properties name for new ones.

        Nothing of a table that does not exist. Raises as ``load`` does.
        """

    def load_with_layout(self, table: TableName) -> tuple[History, Layout | None] | None:
        """What ``load`` gives, and what the table looks like; no layout where that is only known by DESCRIBE."""
        history = self.load(table)
        return None if history is None else (history, None)

    def older(self, history: History) -> Iterator[History]:
        """The table's earlier histories by its metadata log, newest first; files that are gone are passed over."""
        return iter(())

    def changed_files(self, history: History, start: int, end: int) -> ChangedFiles:
        """What differs between two snapshots of a table: columns, and data files where the reader can list them.

        Raises MetadataAccessError where the metadata cannot be reached, or do not have the columns of both.
        """

    def data_files(self, history: History, asked: FilesAt) -> ChangedFiles | None:
        """Data files of a table, as ``at_end``; None where the reader cannot list files.

        Raises MetadataAccessError where the metadata cannot be reached.
        """
        return None

    def live_specs(self, history: History, at: int) -> Sequence[LiveSpec]:
        """The partition specs that the live data files of a table are written in at a snapshot.

        Raises MetadataAccessError where the metadata cannot be reached.
        """

    def live_files(self, history: History) -> LiveFiles | None:
        """All files of a table at its head; None where the reader cannot list them, or there is no snapshot.

        Raises MetadataAccessError where the metadata cannot be reached.
        """

"""The readers of table metadata. Only this package reads catalogs, and it does not write to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..table.files import ChangedFiles, LiveFiles
from ..table.history import History, TableName
from ..table.layout import Layout, LiveSpec
from .views import View


@dataclass(frozen=True)
class FilesAt:
    """The data files to list: all files at a snapshot, unless ``added_by`` or ``added_after`` is set.

    ``added_by``: snapshot ids of commits. All files that they added are listed, even if they were removed since.
    ``added_after``: a sequence number. Only files that later commits added are listed. ``since``: the snapshot that
    determines the columns at the start. By default, this is ``snapshot_id``.
    """

    snapshot_id: int
    added_by: Collection[int] | None = None
    added_after: int | None = None
    since: int | None = None


class MetadataReader(Protocol):
    """Loads the history of tables. Implementations are thread-safe.

    The methods with a body are the defaults for readers that execute statements and cannot list files.
    """

    def load(self, table: TableName) -> History | None:
        """The table's current history from its catalog, never from a cache. None if the table or view does not exist.

        Raises NotIcebergError for a view or a table of another format, and MetadataAccessError if the catalog or the
        metadata file is unreachable.
        """

    def load_without_statement(self, table: TableName) -> History | None:
        """Load the history without a Spark statement. None if one would be needed, or if the table does not exist.

        Raises NotIcebergError as ``load`` does.
        """
        return None

    def layout_without_statement(self, table: TableName) -> Layout | None:
        """The table's layout without a Spark statement. None as for ``load_without_statement``."""
        return None

    def view(self, name: TableName) -> View | None:
        """The current definition of a view. None if only Spark can provide it, or if the view does not exist.

        Raises MetadataAccessError if the metadata is unreachable.
        """
        return None

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """The location of each table's current metadata file, which changes with each commit.

        For a view, a text that changes with its definition. Reads no file if possible. Omits what does not exist or is
        unreachable, and views that the reader cannot read.
        """

    def folders(self, table: TableName) -> Sequence[str]:
        """The folders of a table's files: its location, and the folders that its properties set for new files.

        Empty if the table does not exist. Raises the errors of ``load``.
        """

    def load_with_layout(self, table: TableName) -> tuple[History, Layout | None] | None:
        """The history as in ``load``, and the table's layout. The layout is None if only DESCRIBE can provide it."""
        history = self.load(table)
        return None if history is None else (history, None)

    def older(self, history: History) -> Iterator[History]:
        """The table's earlier histories from its metadata log, newest first. Files that no longer exist are skipped."""
        return iter(())

    def changed_files(self, history: History, start: int, end: int) -> ChangedFiles:
        """The difference between two snapshots of a table: columns, and data files if the reader can list them.

        Raises MetadataAccessError if the metadata is unreachable, or lacks the columns of either snapshot.
        """

    def data_files(self, history: History, asked: FilesAt) -> ChangedFiles | None:
        """The requested data files of a table, in ``files.at_end``. None if they cannot be listed.

        Raises MetadataAccessError if the metadata is unreachable.
        """
        return None

    def live_specs(self, history: History, at: int) -> Sequence[LiveSpec]:
        """The partition specs of the live data files at a snapshot.

        Raises MetadataAccessError if the metadata is unreachable.
        """

    def live_files(self, history: History) -> LiveFiles | None:
        """All files of a table's current snapshot. None if there is no snapshot, or if they cannot be listed.

        Raises MetadataAccessError if the metadata is unreachable.
        """

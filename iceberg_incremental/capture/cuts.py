"""Cuts: the snapshots up to which an invocation reads its sources, the same for all models and threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ..errors import IncrementalError
from ..metadata import FilesAt, MetadataReader
from ..plan.breaks import Break
from ..plan.ranges import Appends, NetChanges, Range, Whole
from ..plan.recovery import Recovered, completed
from ..table.checkpoint import Position
from ..table.commits import writes_new_files
from ..table.files import ChangedFiles
from ..table.history import History, Snapshot, TableName

_MOST_LOOKS = 5


@dataclass(frozen=True)
class Cut:
    """A source in an invocation: its history, and ``end``, the snapshot up to which it is read."""

    history: History
    end: Snapshot | None


class Cuts:
    """The cuts of one invocation, and a cache of the source metadata that its models share."""

    def __init__(
        self, reader: Callable[[], MetadataReader], require_readable: Callable[[History], None] = lambda _: None
    ) -> None:
        """``require_readable``: raises SourceError for a table that Spark cannot read, although its metadata can be."""
        self._reader = reader
        self._require_readable = require_readable
        self._lock = threading.Lock()
        self._locks: dict[TableName, threading.Lock] = {}
        self._cuts: dict[TableName, Cut | None] = {}
        self._changed: dict[tuple[TableName, int, int], ChangedFiles] = {}
        self._files: dict[tuple[TableName, int, tuple[int, ...], int | None], ChangedFiles | None] = {}
        self._added: dict[tuple[TableName, int], ChangedFiles | None] = {}
        self._completed: dict[tuple[TableName, Position, int | None], History] = {}
        self._together = threading.Lock()
        self._begun = False
        self._renewed: set[TableName] = set()

    def take_together(self, tables: Callable[[], Collection[TableName]]) -> None:
        """Take the cuts of several tables as of one moment, once per invocation. Later calls have no effect.

        A row of one table may refer to a row of another table that was committed before it. The tables are therefore
        loaded again until none has changed since the previous load, so that all cuts existed at the same time. If
        tables are committed to continuously, the last of several loads is used. A table that cannot be read is omitted;
        the model that captures it reports the error.
        """
        with self._together:
            if self._begun:
                return
            self._begun = True
            wanted = sorted(tables())
            if len(wanted) < 2:
                return
            seen = self._look(wanted)
            for _ in range(_MOST_LOOKS):
                before, seen = seen, self._look(seen)
                if all(cut.end == before[table].end for table, cut in seen.items()):
                    break
            with self._lock:
                self._cuts.update(seen)

    def _look(self, tables: Iterable[TableName]) -> dict[TableName, Cut]:
        found: dict[TableName, Cut] = {}
        for table in tables:
            with suppress(IncrementalError):
                cut = self._current(table)
                if cut is not None:
                    found[table] = cut
        return found

    def _current(self, table: TableName) -> Cut | None:
        history = self._reader().load(table)
        if history is None:
            return None
        self._require_readable(history)
        return Cut(history, history.current)

    def _lock_of(self, table: TableName) -> threading.Lock:
        """The lock for reading the metadata of a table, so that threads read it only once."""
        with self._lock:
            return self._locks.setdefault(table, threading.Lock())

    def of(self, table: TableName) -> Cut | None:
        """The cut of a table, taken at its first capture. None if the table does not exist.

        Raises NotIcebergError and MetadataAccessError, as the reader does.
        """
        with self._lock_of(table):
            if self._cuts.get(table) is None:
                self._cuts[table] = self._current(table)
            return self._cuts[table]

    def renew(self, tables: Iterable[TableName]) -> None:
        """Take the cuts of tables again that this invocation has built since. Later calls for a table have no effect.

        A model that does not depend on the build of a table may have taken its cut before. Models that depend on it
        call this method, so that they see the new rows.
        """
        for table in tables:
            with self._lock_of(table):
                if table not in self._renewed and self._cuts.get(table) is not None:
                    self._cuts[table] = self._current(table)
                self._renewed.add(table)

    def reload(self, table: TableName) -> History | None:
        """The current history of a table. Its cut does not change."""
        return self._reader().load(table)

    def changed_files(self, history: History, start: int, end: int) -> ChangedFiles:
        """The difference between two snapshots of a table, read once for all models with the same range.

        Raises MetadataAccessError, as the reader does.
        """
        key = (history.table, start, end)
        with self._lock_of(history.table):
            if key not in self._changed:
                self._changed[key] = self._reader().changed_files(history, start, end)
            return self._changed[key]

    def completed(self, broken: Break) -> History:
        """A table's history, completed from older metadata files back to a position.

        Raises MetadataAccessError, as the reader does.
        """
        table, end = broken.history.table, broken.end
        key = (table, broken.position, None if end is None else end.snapshot_id)
        with self._lock_of(table):
            if key not in self._completed:
                self._completed[key] = completed(broken, self._reader().older(broken.history))
            return self._completed[key]

    def added_files(self, found: Recovered) -> ChangedFiles | None:
        """The data files that were added since a position and still exist at the end. None if they cannot be listed.

        Raises MetadataAccessError, as the reader does.
        """
        history, end = found.broken.history, found.commits[-1].snapshot_id
        return self._reader().data_files(history, FilesAt(end, added_after=found.since))

    def files_at(self, history: History, snapshot_id: int) -> ChangedFiles:
        """The columns and all data files of a table at a snapshot. ``files`` is None if they cannot be listed.

        Raises MetadataAccessError, as the reader does.
        """
        key = (history.table, snapshot_id, (), None)
        with self._lock_of(history.table):
            if key not in self._files:
                self._files[key] = self._reader().data_files(history, FilesAt(snapshot_id))
            found = self._files[key]
        return found or replace(self.changed_files(history, snapshot_id, snapshot_id), files=None)

    def files_added(self, history: History, commit: int) -> ChangedFiles | None:
        """The data files that one commit added. None if the reader cannot list them.

        Raises MetadataAccessError, as the reader does.
        """
        key = (history.table, commit)
        with self._lock_of(history.table):
            if key not in self._added:
                self._added[key] = self._reader().data_files(history, FilesAt(commit, added_by=(commit,)))
            return self._added[key]

    def has_twice(self, history: History, commits: Sequence[Snapshot], added: ChangedFiles) -> bool:
        """Whether the table may list one of the ``added`` files twice, at the last of the ``commits`` that added them.

        Raises MetadataAccessError, as the reader does.
        """
        if added.files is None or all(map(writes_new_files, commits)):
            return False
        whole = self._reader().data_files(history, FilesAt(commits[-1].snapshot_id))
        if whole is None or whole.files is None:
            return True  # duplicates cannot be excluded
        times = Counter(file.path for file in whole.files.all)
        return any(times[file.path] > 1 for file in added.files.all)

    def files_of(self, planned: Range) -> ChangedFiles | None:
        """The data files that a range reads. None if there are none, or if the reader cannot list them.

        Raises MetadataAccessError, as the reader does.
        """
        if isinstance(planned, NetChanges):
            return planned.net.read
        if not isinstance(planned, Whole | Appends):
            return None
        since = None if planned.start is None else planned.start.snapshot_id
        brought_by = planned.brought_by if isinstance(planned, Appends) else ()
        key = (planned.table, planned.end.snapshot_id, brought_by, since)
        with self._lock_of(planned.table):
            if key not in self._files:
                cut = self._cuts[planned.table]
                assert cut is not None
                self._files[key] = self._reader().data_files(
                    cut.history, FilesAt(planned.end.snapshot_id, brought_by or None, since=since)
                )
            return self._files[key]

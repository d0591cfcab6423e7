"""A planned range: the snapshots (start, end] of a source that a run reads, and how their rows are read.

Each way of reading has its own type with the values that it needs. ``Range`` is the union of these types.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain

from ..table.checkpoint import Position
from ..table.files import ChangedFiles, FileDifference, TableColumn
from ..table.history import Snapshot, TableName
from .event_window import WindowOf

CHANGE_TYPE = "_change_type"
"""The column of net changes with the type of change: INSERT, DELETE, UPDATE_BEFORE or UPDATE_AFTER."""

CHANGE_SIGN = "_change_sign"
"""The column of signed changes: 1 for added rows, -1 for removed rows."""

CHANGELOG_NAMES = 2**7
"""The number of spellings of the name of Iceberg's table ``changes``: seven letters in upper or lower case."""

MOST_SEGMENTS = 32
"""More segments would make a statement too long, and require reading the manifests of too many snapshots."""

MAX_ADDITIONS = CHANGELOG_NAMES - MOST_SEGMENTS - 1
"""The number of separate additions that one statement can read. Each addition and each segment needs its own spelling
of ``changes``, and one is reserved for changes by commit."""

PER_RANGE, PER_COMMIT = "range", "commit"
"""How ``ip_changelog`` nets changes: over the whole range, or within each commit."""

COMMIT_SNAPSHOT, COMMIT_TIME, COMMIT_ORDER = "_commit_snapshot_id", "_commit_timestamp", "_commit_order"
"""The columns of changes by commit: the snapshot id, the time and the order of the commit."""

COMMIT_COLUMNS = (COMMIT_SNAPSHOT, COMMIT_TIME, COMMIT_ORDER)


class Kind(str, Enum):
    """How a source is read, as shown in logs and results."""

    FULL = "full"
    APPEND = "append"
    NET = "net"
    WINDOW = "window"
    EMPTY = "empty"


@dataclass(frozen=True)
class Counts:
    """The size of a range: ``snapshots``, data ``files``, ``records``, and ``size`` in bytes.

    The numbers come from the summaries of the commits, or for net changes from the files that differ between the ends.
    ``at_most``: whether there may be fewer rows.
    """

    snapshots: int = 0
    files: int = 0
    records: int = 0
    size: int = 0
    at_most: bool = False


@dataclass(frozen=True)
class ColumnsAt:
    """The columns of a table at a snapshot."""

    snapshot_id: int
    columns: tuple[TableColumn, ...]


@dataclass(frozen=True)
class NetRange:
    """The two ends of net changes, and how they are compared.

    - ``start_id``, ``end_id``: the snapshots at the ends. ``start_id`` is None if the start is not read, because it was
      an empty table, its snapshot has expired, or all of its rows still exist at the end. The run then reads only the
      rows that were added or changed after the start, by row lineage, or else all rows of the files that were added.
    - ``changed``: the difference between the ends.
    - ``by_ends``: whether all rows of the changed files are read at both ends, because a file may be in the table more
      than once. Otherwise, only the rows of added and removed files and the rows that were deleted in place are read.
    - ``untouched_since``: the sequence number of the start, if the row lineage of format v3 identifies unchanged rows;
      otherwise None.
    - ``has_log``: whether Iceberg's changelog scan returns the same changes and reads only files that differ.
    - ``changes_most_files``: whether most files of the end differ.
    - ``segments``: ranges that are read instead, because their changes add up to those of this range; may be empty.
    - ``rows``: the maximum number of rows added and removed; None if unknown.
    - ``shown_as``: the snapshot whose columns the rows have, if it is not the end.
    """

    table: TableName
    start_id: int | None
    end_id: int
    changed: ChangedFiles
    by_ends: bool = False
    untouched_since: int | None = None
    has_log: bool = False
    changes_most_files: bool = False
    segments: tuple[NetRange, ...] = ()
    rows: int | None = None
    shown_as: ColumnsAt | None = None

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of the returned rows."""
        return self.changed.end if self.shown_as is None else self.shown_as.columns

    @property
    def may_have_moved_rows(self) -> bool:
        """Whether rows may only have moved, so that the values of added and removed rows must be compared."""
        if self.segments:
            return any(each.may_have_moved_rows for each in self.segments)
        files = self.changed.files
        if files is None or self.by_ends:
            return True
        return self.untouched_since is None and bool(files.at_start and files.at_end)

    @property
    def read(self) -> ChangedFiles:
        """The files whose rows are read. With segments, this includes files added and removed within the range."""
        if not self.segments:
            return self.changed
        parts = [each.changed.files for each in self.segments if each.changed.files is not None]
        if len(parts) < len(self.segments):
            return replace(self.changed, files=None)
        removed, added, kept = (
            tuple(chain.from_iterable(files))
            for files in zip(*((each.at_start, each.at_end, each.with_other_deletes) for each in parts), strict=True)
        )
        return replace(self.changed, files=FileDifference(removed, added, kept))

    @property
    def has_same_columns(self) -> bool:
        """Whether the two ends have the same columns."""
        return self.changed.start == self.changed.end


@dataclass(frozen=True)
class Addition:
    """The new rows of one or more adjacent commits that Iceberg's append scan skips.

    ``start_id``: the parent of the first commit. ``end_id``: the last commit. ``net``: how the rows are read if
    Iceberg's changelog scan cannot return them; otherwise None.
    """

    start_id: int
    end_id: int
    net: NetRange | None = None


@dataclass(frozen=True, kw_only=True)
class _Ends:
    """The fields of every range. ``start``: the position from which it continues; None without one.

    ``end``: None if the source has no snapshot. ``waiting``: the number of later commits that the run's limits leave to
    later runs.
    """

    table: TableName
    table_uuid: str | None
    start: Position | None
    end: Snapshot | None
    waiting: int = 0

    @property
    def position(self) -> Position:
        """The position in the source after this range has been read."""
        return position_at(self.table_uuid, self.end)

    @property
    def has_moved(self) -> bool:
        """Whether the source has commits since the position, including commits without rows."""
        return self.start is None or self.start.snapshot_id != self.position.snapshot_id


@dataclass(frozen=True, kw_only=True)
class Nothing(_Ends):
    """A range without rows. It may contain commits without rows.

    ``brings_rows``: whether the empty table is a change for a consumer that reads it as a whole, because it had rows at
    ``start``.
    """

    kind = Kind.EMPTY
    counts = Counts()
    brings_rows: bool = False


@dataclass(frozen=True, kw_only=True)
class Whole(_Ends):
    """The whole table at ``end``. ``brings_rows``: whether the table has changed for a consumer at ``start``."""

    kind = Kind.FULL
    end: Snapshot
    counts: Counts
    brings_rows: bool = True


@dataclass(frozen=True, kw_only=True)
class Appends(_Ends):
    """The rows that commits added.

    ``append_scan``: whether Iceberg's append scan returns some of them. ``additions``: the rows that it skips.
    ``brought_by``: the ids of the commits.
    """

    kind = Kind.APPEND
    brings_rows = True
    start: Position
    end: Snapshot
    counts: Counts
    append_scan: bool
    additions: tuple[Addition, ...]
    brought_by: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class NetChanges(_Ends):
    """The rows that differ between the start and the end."""

    kind = Kind.NET
    brings_rows = True
    start: Position
    end: Snapshot
    counts: Counts
    net: NetRange


@dataclass(frozen=True)
class CommitChanges:
    """The changes of one commit. ``commit``: the commit, or the last of several commits that were published together.

    ``snapshot_ids``: the ids of all of these commits. For the first commit of a table, ``net`` has no start.
    """

    commit: Snapshot
    snapshot_ids: tuple[int, ...]
    net: NetRange


@dataclass(frozen=True, kw_only=True)
class PerCommit(_Ends):
    """The changes of each commit, in the order of the commits. Commits without changes are omitted.

    ``shown_as``: the columns of the returned rows. ``has_log``: whether one changelog scan of Iceberg returns all
    changes.
    """

    kind = Kind.NET
    brings_rows = True
    start: Position
    end: Snapshot
    counts: Counts
    shown_as: ColumnsAt
    commits: tuple[CommitChanges, ...]
    has_log: bool = False


@dataclass(frozen=True, kw_only=True)
class Windowed(_Ends):
    """The rows of the table at ``end`` in an event-time window, which are processed again."""

    kind = Kind.WINDOW
    brings_rows = True
    start: Position
    end: Snapshot
    counts: Counts
    window: WindowOf


Range = Nothing | Whole | Appends | NetChanges | PerCommit | Windowed


def position_at(table_uuid: str | None, snapshot: Snapshot | None) -> Position:
    """The position of a consumer that has read a table up to and including a snapshot."""
    if snapshot is None:
        return Position(table_uuid, None, None, None)
    return Position(table_uuid, snapshot.snapshot_id, snapshot.sequence_number, snapshot.timestamp_ms)

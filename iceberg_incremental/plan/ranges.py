"""A planned range: the snapshots (start, end] of a source that a run reads, and how their rows are read.

Each way of reading is a type of its own, with what it needs and nothing else. ``Range`` is any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain

from ..table.changed_files import ChangedFiles, FileDifference, TableColumn
from ..table.checkpoint import Position
from ..table.history import Snapshot, TableName
from .event_window import WindowOf

CHANGE_TYPE = "_change_type"
"""The column by which net changes say what happened to a row: INSERT, DELETE, UPDATE_BEFORE or UPDATE_AFTER."""

CHANGE_SIGN = "_change_sign"
"""The column by which signed changes say whether a row came, 1, or went, -1."""

CHANGELOG_NAMES = 2**7
"""How many names Iceberg's table ``changes`` has within a statement: its seven letters in upper or lower case."""

MOST_SEGMENTS = 32
"""More would make a long statement, and need the manifests of as many snapshots."""

MAX_ADDITIONS = CHANGELOG_NAMES - MOST_SEGMENTS - 1
"""How many separate additions one statement can read: each needs a name of its own, and so does each segment.

One name is left for the changes commit by commit.
"""

PER_RANGE, PER_COMMIT = "range", "commit"
"""How ``ip_changelog`` nets changes: over the whole range, or within each commit."""

COMMIT_SNAPSHOT, COMMIT_TIME, COMMIT_ORDER = "_commit_snapshot_id", "_commit_timestamp", "_commit_order"
"""The columns by which changes commit by commit say which commit made them, when, and in which order."""

COMMIT_COLUMNS = (COMMIT_SNAPSHOT, COMMIT_TIME, COMMIT_ORDER)


class Kind(str, Enum):
    """What is read of a source, as users see it in logs and results."""

    FULL = "full"
    APPEND = "append"
    NET = "net"
    WINDOW = "window"
    EMPTY = "empty"


@dataclass(frozen=True)
class Counts:
    """What a range reads: ``snapshots``, data ``files``, ``records``, and ``size`` in bytes.

    The numbers come from the summaries of the commits; those of net changes from the files that differ between the
    ends. ``at_most``: there may be fewer rows.
    """

    snapshots: int = 0
    files: int = 0
    records: int = 0
    size: int = 0
    at_most: bool = False


@dataclass(frozen=True)
class ColumnsAt:
    """The columns that a table has at a snapshot."""

    snapshot_id: int
    columns: tuple[TableColumn, ...]


@dataclass(frozen=True)
class NetRange:
    """The two ends of net changes.

    ``start_id``, ``end_id``: their snapshots. ``changed``: what differs between them.
    ``by_ends``: whether all rows of the changed files are read at both ends, where a file may be in the table more than
    once; else only the rows of the files that came or went, and those that were deleted in place.
    ``untouched_since``: the sequence number of the start, where format v3's row lineage identifies the rows that were
    not touched since, else None.
    ``start_id`` is None where the start is not read, because that snapshot has expired or has all its rows at the end:
    then the rows of the end that were touched since are read, by row lineage or as the rows of the files that the start
    has not. ``has_log``: whether Iceberg's changelog
    scan shows the same, and reads no more files than differ. ``changes_most_files``: of those that the end has.
    ``segments``: ranges whose changes add up to those of this one, and are read instead, if there are any. ``rows``:
    how many rows came and went at most; None where that is not known. ``shown_as``: whose columns the rows are shown
    in, where that is not the end's.
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
        """The columns in which the rows are shown."""
        return self.changed.end if self.shown_as is None else self.shown_as.columns

    @property
    def tells_rows_apart(self) -> bool:
        """Whether a row that came or went is another one without a look at its values: no row was only moved."""
        if self.segments:
            return all(each.tells_rows_apart for each in self.segments)
        files = self.changed.files
        if files is None or self.by_ends:
            return False
        return self.untouched_since is not None or not (files.at_start and files.at_end)

    @property
    def read(self) -> ChangedFiles:
        """The files whose rows are read: of segments, also those that came and went between the ends."""
        if not self.segments:
            return self.changed
        parts = [each.changed.files for each in self.segments if each.changed.files is not None]
        if len(parts) < len(self.segments):
            return replace(self.changed, files=None)
        went, came, kept = (
            tuple(chain.from_iterable(files))
            for files in zip(*((each.at_start, each.at_end, each.with_other_deletes) for each in parts), strict=True)
        )
        return replace(self.changed, files=FileDifference(went, came, kept))

    @property
    def has_same_columns(self) -> bool:
        """Whether the two ends have the same columns."""
        return self.changed.start == self.changed.end


@dataclass(frozen=True)
class Addition:
    """The new rows of one or several neighbouring commits that Iceberg's append scan skips.

    ``start_id``: the parent of the first, ``end_id``: the last. ``net``: how they are read where Iceberg's changelog
    scan cannot show them, else None.
    """

    start_id: int
    end_id: int
    net: NetRange | None = None


@dataclass(frozen=True, kw_only=True)
class _Ends:
    """What every range has. ``start``: the position that it continues from, None where there is none.

    ``end`` is None while the source has no snapshot. ``waiting``: how many later commits the limits of the run leave to
    the next one.
    """

    table: TableName
    table_uuid: str | None
    start: Position | None
    end: Snapshot | None
    waiting: int = 0

    @property
    def position(self) -> Position:
        """Where the source stands once this range has been consumed."""
        return position_at(self.table_uuid, self.end)

    @property
    def has_moved(self) -> bool:
        """Whether the source was committed to since the position, if only by commits that brought no rows."""
        return self.start is None or self.start.snapshot_id != self.position.snapshot_id


@dataclass(frozen=True, kw_only=True)
class Nothing(_Ends):
    """No rows, though commits without any may lie between the ends.

    ``brings_rows``: whether that is new to a consumer that reads the table as a whole, since it had rows at ``start``.
    """

    kind = Kind.EMPTY
    counts = Counts()
    brings_rows: bool = False


@dataclass(frozen=True, kw_only=True)
class Whole(_Ends):
    """The whole table at ``end``. ``brings_rows``: whether anything in it is new to a consumer at ``start``."""

    kind = Kind.FULL
    end: Snapshot
    counts: Counts
    brings_rows: bool = True


@dataclass(frozen=True, kw_only=True)
class Appends(_Ends):
    """The rows that commits newly brought.

    ``append_scan``: whether Iceberg's append scan shows some of them. ``additions``: those that it skips.
    ``brought_by``: the commits, by id.
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
    """The rows by which the end differs from the start."""

    kind = Kind.NET
    brings_rows = True
    start: Position
    end: Snapshot
    counts: Counts
    net: NetRange


@dataclass(frozen=True)
class CommitChanges:
    """What one commit did to the rows of a table: ``commit``, or the last of several that were published together.

    ``snapshot_ids``: of all of them. Of the first commit of a table, ``net`` has no start.
    """

    commit: Snapshot
    snapshot_ids: tuple[int, ...]
    net: NetRange


@dataclass(frozen=True, kw_only=True)
class PerCommit(_Ends):
    """What each commit did to the rows, in the order of the commits; without those that changed none.

    ``shown_as``: in which columns. ``has_log``: whether one changelog scan of Iceberg's shows all of it.
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
    """The rows of the table at ``end`` that lie in an event-time window, which is processed again."""

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

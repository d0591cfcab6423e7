"""Lateness: the time between the event times of a commit's rows and the commit, from file metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .files import ChangedFiles
from .history import Snapshot
from .intervals import DAY_US, TIMES, enclosing_interval, interval_of

_DAY_MS = DAY_US // 1000


@dataclass(frozen=True)
class CommitLateness:
    """The range of event times of one commit's rows, in ms since the epoch. File bounds may widen the range.

    ``late_ms``: the time between the oldest event time and the commit. Negative for event times in the future.
    """

    snapshot_id: int
    oldest_event_ms: int
    newest_event_ms: int
    late_ms: int


@dataclass(frozen=True)
class Lateness:
    """The lateness of several commits. ``event_time``: the column. ``commits``: the number of commits examined.

    ``max_late_ms``: the maximum time between a commit and its oldest event time.
    """

    event_time: str
    commits: int
    oldest_event_ms: int
    newest_event_ms: int
    max_late_ms: int


def lateness_of(commit: Snapshot, files: ChangedFiles | None, event_time: str) -> CommitLateness | None:
    """The lateness of the files that a commit added. None if they have no rows or no bounds.

    A ``timestamp`` without a zone is read as UTC. A ``date`` is read as the end of its day, so that rows which arrive
    before midnight are not late.
    """
    column = None if files is None else files.column(event_time)
    if files is None or files.files is None or column is None:
        return None
    type_ = column.type
    if not isinstance(type_, str) or type_ not in ("date", *TIMES):
        return None
    intervals = [interval_of(file, column.field_id, type_) for file in files.files.at_end if file.records]
    if not intervals:
        return None
    hull = enclosing_interval(intervals)
    if not hull.has_values or hull.lower is None or hull.upper is None:
        return None
    if type_ == "date":
        oldest, newest = ((day + 1) * _DAY_MS - 1 for day in (hull.lower, hull.upper))
    else:
        oldest, newest = hull.lower // 1000, hull.upper // 1000
    return CommitLateness(commit.snapshot_id, oldest, newest, commit.timestamp_ms - oldest)


def lateness_in_all(event_time: str, found: Sequence[CommitLateness]) -> Lateness | None:
    """The combined lateness of several commits. None without commits."""
    if not found:
        return None
    return Lateness(
        event_time,
        len(found),
        min(each.oldest_event_ms for each in found),
        max(each.newest_event_ms for each in found),
        max(each.late_ms for each in found),
    )

"""Lateness: how far the event times of the rows of a commit lie behind the commit, by the metadata of its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .changed_files import ChangedFiles
from .history import Snapshot
from .intervals import DAY_US, TIMES, enclosing_interval, interval_of

_DAY_MS = DAY_US // 1000


@dataclass(frozen=True)
class CommitLateness:
    """Between which event times the rows of one commit lie, in ms since the epoch; bounds of its files may be wider.

    ``late_ms``: how far the oldest one lies behind the commit's time; negative for times to come.
    """

    snapshot_id: int
    oldest_event_ms: int
    newest_event_ms: int
    late_ms: int


@dataclass(frozen=True)
class Lateness:
    """The lateness of what some commits brought. ``event_time``: the column; ``commits``: how many were looked at.

    ``max_late_ms``: how far the oldest event time of one commit lay behind the commit, at most.
    """

    event_time: str
    commits: int
    oldest_event_ms: int
    newest_event_ms: int
    max_late_ms: int


def lateness_of(commit: Snapshot, files: ChangedFiles | None, event_time: str) -> CommitLateness | None:
    """The lateness of the files that a commit added; None where they have no rows, or their metadata no bounds.

    A ``timestamp`` without a zone is taken for UTC. A ``date`` stands for the end of its day, so that the rows of a day
    that land before midnight are not late.
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
    """The lateness of several commits together; None of none."""
    if not found:
        return None
    return Lateness(
        event_time,
        len(found),
        min(each.oldest_event_ms for each in found),
        max(each.newest_event_ms for each in found),
        max(each.late_ms for each in found),
    )

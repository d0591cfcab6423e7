"""The lateness of a source's rows, from the metadata of the files that its commits added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import IncrementalError
from ..plan.ranges import Appends
from ..table.history import History, Snapshot, TableName
from ..table.lateness import CommitLateness, Lateness, lateness_in_all, lateness_of
from .cuts import Cuts
from .run_plan import RunPlan

MOST_COMMITS = 50
"""The maximum number of commits whose lateness is determined, newest first. Each requires reading two small files."""


def lateness(plan: RunPlan, cuts: Cuts) -> Mapping[TableName, Lateness]:
    """The lateness of the rows that a run applies, by source, for append commits of sources with an ``event_time``.

    Net changes also read rewritten files, whose bounds do not show which rows are new.
    """
    found: dict[TableName, Lateness] = {}
    for source, planned in plan.captured.items():
        column, cut = plan.event_times.get(source), cuts.of(source)
        if not isinstance(planned, Appends) or column is None or cut is None:
            continue
        commits = [cut.history.snapshots[each] for each in planned.brought_by if each in cut.history.snapshots]
        in_all = lateness_in_all(column, lateness_by_commit(cuts, cut.history, commits, column))
        if in_all is not None:
            found[source] = in_all
    return found


def lateness_by_commit(
    cuts: Cuts, history: History, commits: Sequence[Snapshot], event_time: str
) -> list[CommitLateness]:
    """The lateness of the newest of several commits of a source. Commits without known lateness are omitted."""
    newest = sorted(commits, key=lambda commit: commit.timestamp_ms)[-MOST_COMMITS:]
    found: list[CommitLateness] = []
    for commit in newest:
        try:
            files = cuts.files_added(history, commit.snapshot_id)
        except IncrementalError:
            return []  # the metadata is unreachable or has expired; a statistic must not fail a run
        late = lateness_of(commit, files, event_time)
        if late is not None:
            found.append(late)
    return found

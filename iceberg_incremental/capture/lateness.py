"""How late the rows of a source came, by the metadata of the files that its commits added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import IncrementalError
from ..plan.ranges import Appends
from ..table.history import History, Snapshot, TableName
from ..table.lateness import CommitLateness, Lateness, lateness_in_all, lateness_of
from .cuts import Cuts
from .run_plan import RunPlan

MOST_COMMITS = 50
"""Of how many commits of a source the lateness is looked up, the newest: each costs the reading of two small files."""


def lateness(plan: RunPlan, cuts: Cuts) -> Mapping[TableName, Lateness]:
    """How late the rows came that a run applies, by source: of commits that appended, where ``event_time`` is set.

    Net changes also read files that were rewritten, whose bounds do not show which rows are new.
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
    """The lateness of the newest of some commits of a source, which is known from their files; none where it is not."""
    newest = sorted(commits, key=lambda commit: commit.timestamp_ms)[-MOST_COMMITS:]
    found: list[CommitLateness] = []
    for commit in newest:
        try:
            files = cuts.files_added(history, commit.snapshot_id)
        except IncrementalError:
            return []  # a statistic fails nothing: the metadata cannot be reached now, or have expired
        late = lateness_of(commit, files, event_time)
        if late is not None:
            found.append(late)
    return found

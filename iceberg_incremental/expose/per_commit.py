"""Changes by commit as SQL text: the net changes of each commit, with the columns of the commit.

The rows of each commit are read like those of a range of one commit. One GROUP BY nets the rows of all commits, by all
columns and the commit's index. If Iceberg's changelog scan covers the whole range, one scan may read all commits.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..plan.ranges import CHANGE_TYPE, COMMIT_ORDER, COMMIT_SNAPSHOT, COMMIT_TIME, MAX_ADDITIONS, NetRange, PerCommit
from ..spark.port import ExactScans
from ..sql import sql_names, unused
from .net import change_type_sql, counted_rows_sql, grouped
from .one_task import in_one_task
from .parts import Part, Reading, changelog_name, parts_of, readings_of, touched_rows


def changelog_sql(planned: PerCommit, unique_key: Sequence[str], exact: ExactScans | None) -> str:
    """The rows that each commit added and removed, with ``_change_type`` and the columns of the commit.

    A removed and an added row of one commit with the same key are the row before and after an update.
    """
    names = [column.name for column in planned.shown_as.columns]
    count, kind = (unused(name, names) for name in ("_ip_n", "_ip_kind"))
    shown, keys = grouped(planned.shown_as.columns)
    difference = (
        f"select {', '.join(shown)}, {COMMIT_ORDER}, sum({count}) as {count} from {_rows(planned, names, count, exact)}"
        f" group by {', '.join([*keys, COMMIT_ORDER])} having sum({count}) <> 0"
    )
    both = counted_rows_sql(difference, names, count, kind, COMMIT_ORDER)
    change = change_type_sql(kind, [*unique_key, COMMIT_ORDER]) if unique_key else kind
    commits = [each.commit for each in planned.commits]
    ids = ", ".join(f"{commit.snapshot_id}L" for commit in commits)
    times = ", ".join(f"{commit.timestamp_ms}L" for commit in commits)
    return (
        f"(select {sql_names(names)}, {change} as {CHANGE_TYPE},"
        f" array({ids})[{COMMIT_ORDER}] as {COMMIT_SNAPSHOT},"
        f" timestamp_millis(array({times})[{COMMIT_ORDER}]) as {COMMIT_TIME}, {COMMIT_ORDER} from ({both}))"
    )


def reading_of(planned: PerCommit, exact: ExactScans | None) -> str:
    """How the changes are read, as shown in the log."""
    if _reads_log(planned, exact):
        return Reading.CHANGELOG_SCAN.value
    found = dict.fromkeys(each for commit in planned.commits for each in readings_of(commit.net, exact))
    return " and ".join(each.value for each in found)


def _reads_log(planned: PerCommit, exact: ExactScans | None) -> bool:
    """Whether one changelog scan can read the changes and is less work.

    The scan compares all rows of rewritten files, even if row lineage identifies those that were only moved.
    """
    has_lineage = any(commit.net.untouched_since is not None for commit in planned.commits)
    return planned.has_log and not (exact is not None and has_lineage)


def _rows(planned: PerCommit, names: Sequence[str], count: str, exact: ExactScans | None) -> str:
    """The added rows with count 1, and the removed rows with count -1, each with the index of its commit."""
    if _reads_log(planned, exact):
        return f"({_logged(planned, names, count)})"
    found = [
        f"select *, {index} as {COMMIT_ORDER} from ({part.select(names, count)})"
        for index, commit in enumerate(planned.commits)
        for part in _parts(commit.net, exact)
    ]
    rows = " union all ".join(found)
    differing = [commit.net.read.files for commit in planned.commits]
    read = sum(files.records for files in differing if files is not None)
    hint = "" if None in differing else in_one_task(planned.counts.records, read)
    return f"(select {hint}* from ({rows}))" if hint else f"({rows})"


def _parts(net: NetRange, exact: ExactScans | None) -> Sequence[Part]:
    """The parts of one commit. The first commit of a table has one part: all rows of the table at that commit."""
    return [Part(touched_rows(net, exact), "1")] if net.start_id is None else parts_of(net, exact)


def _logged(planned: PerCommit, names: Sequence[str], count: str) -> str:
    """The rows of all added and removed files, as returned by Iceberg's changelog scan.

    The statement reads all of the scan's own columns, because the scan confuses them if a statement reads only the last
    one (Iceberg 1.12).
    """
    indexes = ", ".join(
        f"{snapshot_id}L, {index}"
        for index, commit in enumerate(planned.commits)
        for snapshot_id in commit.snapshot_ids
    )
    options = f"`start-snapshot-id` = '{planned.start.snapshot_id}', `end-snapshot-id` = '{planned.end.snapshot_id}'"
    return (
        f"select {sql_names(names)}, if(_change_type = 'INSERT', 1, -1) as {count},"
        f" case when _change_ordinal >= 0 then map({indexes})[_commit_snapshot_id] end as {COMMIT_ORDER}"
        f" from {planned.table.sql}.`{changelog_name(MAX_ADDITIONS)}` WITH ({options})"
    )

"""Changes commit by commit as SQL text: the net changes of each commit, with the commit that made them.

The rows of every commit are read as those of a range of one commit, and netted by one GROUP BY for all: by all columns
and the commit's place in the order. Where Iceberg's changelog scan shows the whole range, one scan may read it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..plan.ranges import CHANGE_TYPE, COMMIT_ORDER, COMMIT_SNAPSHOT, COMMIT_TIME, MAX_ADDITIONS, NetRange, PerCommit
from ..spark.scans import ExactScans
from ..sql import sql_names, unused
from .net import change_type_sql, counted_rows_sql, grouped
from .one_task import in_one_task
from .parts import Part, Reading, changelog_name, parts_of, readings_of, touched_rows


def changelog_sql(planned: PerCommit, unique_key: Sequence[str], exact: ExactScans | None) -> str:
    """The rows that came and went with each commit, with ``_change_type`` and the columns of the commit.

    Rows of one commit that share a key are its before and its after.
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
    """What the changes are read by, as the log says it."""
    if _reads_log(planned, exact):
        return Reading.CHANGELOG_SCAN.value
    found = dict.fromkeys(each for commit in planned.commits for each in readings_of(commit.net, exact))
    return " and ".join(each.value for each in found)


def _reads_log(planned: PerCommit, exact: ExactScans | None) -> bool:
    """Whether one changelog scan is less work.

    It compares all rows of rewritten files, also where row lineage identifies those that were only moved.
    """
    has_lineage = any(commit.net.untouched_since is not None for commit in planned.commits)
    return planned.has_log and not (exact is not None and has_lineage)


def _rows(planned: PerCommit, names: Sequence[str], count: str, exact: ExactScans | None) -> str:
    """The rows that came, counted 1, and went, counted -1, each with the place of its commit in the order."""
    if _reads_log(planned, exact):
        return f"({_logged(planned, names, count)})"
    found = [
        f"select *, {place} as {COMMIT_ORDER} from ({part.select(names, count)})"
        for place, commit in enumerate(planned.commits)
        for part in _parts(commit.net, exact)
    ]
    rows = " union all ".join(found)
    differing = [commit.net.read.files for commit in planned.commits]
    read = sum(files.records for files in differing if files is not None)
    hint = "" if None in differing else in_one_task(planned.counts.records, read)
    return f"(select {hint}* from ({rows}))" if hint else f"({rows})"


def _parts(net: NetRange, exact: ExactScans | None) -> Sequence[Part]:
    """The parts of one commit. The first one of a table has all the rows that the table has then."""
    return [Part(touched_rows(net, exact), "1")] if net.start_id is None else parts_of(net, exact)


def _logged(planned: PerCommit, names: Sequence[str], count: str) -> str:
    """The rows of all files that came and went, as Iceberg's changelog scan shows them.

    It mixes up its own columns where a statement asks for the last of them and not for the others (Iceberg 1.12).
    """
    places = ", ".join(
        f"{snapshot_id}L, {place}"
        for place, commit in enumerate(planned.commits)
        for snapshot_id in commit.snapshot_ids
    )
    options = f"`start-snapshot-id` = '{planned.start.snapshot_id}', `end-snapshot-id` = '{planned.end.snapshot_id}'"
    return (
        f"select {sql_names(names)}, if(_change_type = 'INSERT', 1, -1) as {count},"
        f" case when _change_ordinal >= 0 then map({places})[_commit_snapshot_id] end as {COMMIT_ORDER}"
        f" from {planned.table.sql}.`{changelog_name(MAX_ADDITIONS)}` WITH ({options})"
    )

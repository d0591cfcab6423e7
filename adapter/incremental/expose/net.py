"""Net changes: the rows by which a table differs between the two ends of a range, as SQL text.

The rows of the end count +1 and those of the start -1; grouped by all columns, what is left is the multiset difference.
Values are compared as Spark's GROUP BY compares them (NULL equals NULL, NaN equals NaN), but 0.0 and -0.0 differ.
All else leaves out rows that are the same at both ends, so that less is read and shuffled, and changes nothing in the
result: literal bounds and the names of the changed files (their complement is the same at both ends), and in format v3
the row ids of rows that were not touched since the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...sql import sql_name, sql_string, unused
from ..plan.ranges import CHANGE_TYPE, NetRange
from ..table.changed_files import DataFile, FileDifference
from ..table.types import has_floats
from .bounds import bounds_sql
from .projection import projected, sortable

CHANGELOG = "CHANGES"
"""The name of Iceberg's changelog table, in a case of its own: see ``expose`` for why."""
_LONGEST_FILE_LIST = 100_000
"""Characters: a longer list of files is left out, the bounds alone then hold."""


def upserts_sql(net: NetRange) -> str:
    """The rows of the end that are new or have changed, as often as they are."""
    if net.start_id is None:
        return f"({_touched_rows(net)})"
    names = _names(net)
    count, item = unused("_ip_n", names), unused("_ip_i", names)
    return (
        f"(select {_listed(names)} from ({_difference(net, count)} having sum({count}) > 0)"
        f" lateral view explode(sequence(1L, {count})) {item} as {item})"
    )


def changelog_sql(net: NetRange, unique_key: Sequence[str] = ()) -> str:
    """The rows that came and went, with ``_change_type``; those that share a key are its before and its after."""
    if net.start_id is None:
        inserted = f", 'INSERT' as {CHANGE_TYPE}"
        return f"({_touched_rows(net, inserted)})"
    names = _names(net)
    count, item, kind = (unused(name, names) for name in ("_ip_n", "_ip_i", "_ip_kind"))
    both = (
        f"select {_listed(names)}, if({count} > 0, 'INSERT', 'DELETE') as {kind}"
        f" from ({_difference(net, count)} having sum({count}) <> 0)"
        f" lateral view explode(sequence(1L, abs({count}))) {item} as {item}"
    )
    if not unique_key:
        return f"(select {_listed(names)}, {kind} as {CHANGE_TYPE} from ({both}))"
    keys = ", ".join(sql_name(key) for key in unique_key)
    # a key with rows of both kinds was updated
    updated = f"min({kind}) over (partition by {keys}) <> max({kind}) over (partition by {keys})"
    return (
        f"(select {_listed(names)}, case when not {updated} then {kind}"
        f" when {kind} = 'INSERT' then 'UPDATE_AFTER' else 'UPDATE_BEFORE' end as {CHANGE_TYPE} from ({both}))"
    )


def _touched_rows(net: NetRange, more: str = "") -> str:
    """The rows of the end that were touched since a start that has expired; each as often as it is there."""
    if net.untouched_since is not None:
        kept = _kept(net, lambda files: files.at_end)
        conditions = [kept.in_files, kept.bounds, f"_last_updated_sequence_number > {net.untouched_since}"]
    else:
        assert net.changed.files is not None
        files = net.changed.files.at_end
        conditions = [_in_files(files), bounds_sql(net.changed, files)]
    return f"select {_listed(_names(net))}{more} from {_version(net, net.end_id)}{_where(conditions)}"


def _names(net: NetRange) -> list[str]:
    return [column.name for column in net.changed.end]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sql_name(name) for name in names)


def _difference(net: NetRange, count: str) -> str:
    """Each distinct row with how often the end has it more than the start; the HAVING clause is the caller's."""
    shown, keys = [], []
    for column in net.changed.end:
        name = sql_name(column.name)
        key = sortable(name, column.type)
        keys.append(key)
        if has_floats(column.type):
            # GROUP BY takes 0.0 for -0.0, also in what it gives back; as text they differ
            keys.append(f"string({key})")
        shown.append(name if keys[-1] == name else f"any_value({name}) as {name}")
    both_ends = f"{_end_rows(net, count)} union all {_start_rows(net, count)}"
    rows = _logged_rows(net, count) if net.by_changelog else both_ends
    return f"select {', '.join(shown)}, sum({count}) as {count} from ({rows}) group by {', '.join(keys)}"


def _logged_rows(net: NetRange, count: str) -> str:
    """The rows of all files that came and went, those that were only carried over in both."""
    options = f"`start-snapshot-id` = '{net.start_id}', `end-snapshot-id` = '{net.end_id}'"
    signed = f"if(_change_type = 'INSERT', 1, -1) as {count}"
    return f"select {_listed(_names(net))}, {signed} from {net.table.sql}.`{CHANGELOG}` WITH ({options})"


def _end_rows(net: NetRange, count: str) -> str:
    """The rows of the end; by row lineage, only those that were touched since the start."""
    if net.untouched_since is None:
        kept = _kept(net, lambda files: (*files.at_end, *files.with_other_deletes))
        conditions = [kept.in_files, kept.bounds]
    else:
        kept = _kept(net, lambda files: files.at_end)
        conditions = [kept.in_files, kept.bounds, f"_last_updated_sequence_number > {net.untouched_since}"]
    return f"select {_listed(_names(net))}, 1 as {count} from {_version(net, net.end_id)}{_where(conditions)}"


def _start_rows(net: NetRange, count: str) -> str:
    """The rows of the start in the columns of the end; by row lineage, only those that were touched since."""
    assert net.start_id is not None
    names = _names(net)
    kept = _kept(net, lambda files: (*files.at_start, *files.with_other_deletes))
    row_id = unused("_ip_row_id", names)
    expressions = projected(net.changed.start, net.changed.end)
    listed = [f"{expression} as {sql_name(name)}" for expression, name in zip(expressions, names, strict=True)]
    if net.untouched_since is not None:
        listed.append(f"_row_id as {row_id}")
    rows = f"select {', '.join(listed)} from {_version(net, net.start_id)}{_where([kept.in_files])}"
    rows = f"select {_listed(names)}, -1 as {count} from ({rows})"
    if net.untouched_since is not None:
        rows += f" left anti join ({_untouched(net, row_id)}) using ({row_id})"
    return rows + _where([kept.bounds])


def _untouched(net: NetRange, row_id: str) -> str:
    """The ids of the rows that the end holds as the start did, though maybe in another file."""
    kept = _kept(net, lambda files: (*files.at_end, *files.with_other_deletes))
    conditions = [kept.in_files, kept.bounds, f"_last_updated_sequence_number <= {net.untouched_since}"]
    return f"select _row_id as {row_id} from {_version(net, net.end_id)}{_where(conditions)}"


def _version(net: NetRange, snapshot_id: int) -> str:
    return f"{net.table.sql} VERSION AS OF {snapshot_id}"


@dataclass(frozen=True)
class _Kept:
    """Conditions that keep the rows of some files; ``bounds`` are on the columns of the end. None keeps all."""

    in_files: str | None = None
    bounds: str | None = None


def _kept(net: NetRange, chosen: Callable[[FileDifference], tuple[DataFile, ...]]) -> _Kept:
    """Conditions for one scan, which is to read the chosen ones of the changed files.

    Where files can be listed, rows of other files are left out of all scans, and each has the bounds of its own files.
    A list prunes no file from a scan, but it is exact. Where there are too many, every scan has the bounds of all
    changed files, which the rows of other files pass at both ends or at none. A file that came may be at the start too,
    unless it was written since: then, but for row lineage, every scan has one list and one set of bounds.
    """
    changed = net.changed
    if changed.files is None:
        return _Kept()
    if sum(len(file.path) for file in changed.files.all) > _LONGEST_FILE_LIST:
        return _Kept(bounds=bounds_sql(changed, changed.files.all))
    apart = net.new_files or net.untouched_since is not None
    files = chosen(changed.files) if apart else changed.files.all
    return _Kept(_in_files(files), bounds_sql(changed, files))


def _in_files(files: Sequence[DataFile]) -> str:
    if not files:
        return "1 = 0"  # WHERE (false) would be read as a table alias with a column of that name
    paths = dict.fromkeys(file.path for file in files)
    return f"_file in ({', '.join(map(sql_string, paths))})"


def _where(conditions: Iterable[str | None]) -> str:
    given = [f"({condition})" for condition in conditions if condition is not None]
    return f" where {' and '.join(given)}" if given else ""

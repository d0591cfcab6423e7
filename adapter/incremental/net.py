"""Net changes: the rows by which a table differs between the two ends of a range, as SQL text.

The rows of the end count +1 and those of the start -1; grouped by all columns, what is left is the multiset difference.
Values are compared as Spark's GROUP BY compares them (NULL equals NULL, NaN equals NaN), except that 0.0 and -0.0 differ.
All else leaves out rows that are the same at both ends, so that less is read and shuffled, and changes nothing in the
result: literal bounds and the names of the changed files (their complement is the same at both ends), and in format v3
the row ids of rows that were not touched since the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..sql import sql_name, sql_string
from .bounds import bounds_sql
from .changed_files import ChangedFiles, DataFile
from .history import TableName
from .projection import has_floats, projected

CHANGE_TYPE = "_change_type"
_LONGEST_FILE_LIST = 100_000
"""Characters: a longer list of files is left out, the bounds alone then hold."""


@dataclass(frozen=True)
class NetRange:
    """A range that is read by its two ends.

    ``start_id``, ``end_id``: their snapshots. ``changed``: what differs between them. ``untouched_since``: the sequence
    number of the start, where rows that have not been touched since can be told by format v3's row lineage, else None.
    """

    table: TableName
    start_id: int
    end_id: int
    changed: ChangedFiles
    untouched_since: int | None = None


def upserts_sql(net: NetRange) -> str:
    """The rows of the end that are new or have changed, as often as they are."""
    names = _names(net)
    count, item = _unused("_ip_n", names), _unused("_ip_i", names)
    return (
        f"(select {_listed(names)} from ({_difference(net, count)} having sum({count}) > 0)"
        f" lateral view explode(sequence(1L, {count})) {item} as {item})"
    )


def changelog_sql(net: NetRange, unique_key: Sequence[str] = ()) -> str:
    """The rows that came and went, with ``_change_type``; those that share a key are its before and its after."""
    names = _names(net)
    count, item, kind = (_unused(name, names) for name in ("_ip_n", "_ip_i", "_ip_kind"))
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


def _names(net: NetRange) -> list[str]:
    return [column.name for column in net.changed.end]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sql_name(name) for name in names)


def _unused(name: str, taken: Sequence[str]) -> str:
    """A name for a column of ours that no column of the table has."""
    while name in (each.lower() for each in taken):
        name += "_"
    return name


def _difference(net: NetRange, count: str) -> str:
    """Each distinct row with how often the end has it more than the start; the HAVING clause is the caller's."""
    shown, keys = [], []
    for column in net.changed.end:
        name = sql_name(column.name)
        if has_floats(column.type):
            # GROUP BY takes 0.0 for -0.0, also in what it gives back; as text they differ
            shown.append(f"any_value({name}) as {name}")
            keys += [name, f"string({name})"]
        else:
            shown.append(name)
            keys.append(name)
    rows = f"{_end_rows(net, count)} union all {_start_rows(net, count)}"
    return f"select {', '.join(shown)}, sum({count}) as {count} from ({rows}) group by {', '.join(keys)}"


def _end_rows(net: NetRange, count: str) -> str:
    files = net.changed.files
    conditions = []
    if net.untouched_since is None:
        conditions.append(None if files is None else _in_files((*files.at_end, *files.with_other_deletes)))
    else:
        conditions.append(None if files is None else _in_files(files.at_end))
        conditions.append(f"_last_updated_sequence_number > {net.untouched_since}")
    rows = f"select {_listed(_names(net))}, 1 as {count} from {net.table.sql} VERSION AS OF {net.end_id}"
    return rows + _where([*conditions, _bounds(net)])


def _start_rows(net: NetRange, count: str) -> str:
    """The rows of the start in the columns of the end; by row lineage, those that the end does not have as they were."""
    files, names = net.changed.files, _names(net)
    expressions = projected(net.changed.start, net.changed.end)
    row_id = _unused("_ip_row_id", [*names, *(column.name for column in net.changed.start)])
    listed = [f"{expression} as {sql_name(name)}" for expression, name in zip(expressions, names, strict=True)]
    if net.untouched_since is not None:
        listed.append(f"_row_id as {row_id}")
    within = None if files is None else _in_files((*files.at_start, *files.with_other_deletes))
    rows = f"select {', '.join(listed)} from {net.table.sql} VERSION AS OF {net.start_id}{_where([within])}"
    rows = f"select {_listed(names)}, -1 as {count} from ({rows})"
    if net.untouched_since is not None:
        kept = None if files is None else _in_files((*files.at_end, *files.with_other_deletes))
        untouched = f"_last_updated_sequence_number <= {net.untouched_since}"
        rows += (
            f" left anti join (select _row_id as {row_id} from {net.table.sql} VERSION AS OF {net.end_id}"
            f"{_where([kept, untouched, _bounds(net)])}) using ({row_id})"
        )
    return rows + _where([_bounds(net)])


def _bounds(net: NetRange) -> str | None:
    return bounds_sql(net.changed)


def _where(conditions: Iterable[str | None]) -> str:
    given = [f"({condition})" for condition in conditions if condition is not None]
    return f" where {' and '.join(given)}" if given else ""


def _in_files(files: Sequence[DataFile]) -> str | None:
    """Rows of these files only. It prunes no file from the scan, but drops rows before they are shuffled."""
    if not files:
        return "false"
    if sum(len(file.path) for file in files) > _LONGEST_FILE_LIST:
        return None
    return f"_file in ({', '.join(sql_string(file.path) for file in files)})"

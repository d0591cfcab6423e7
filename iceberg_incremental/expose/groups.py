"""Changed groups as SQL: their keys, and their rows at the end of a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..plan.groups import ChangedGroups
from ..spark.port import ExactScans
from ..sql import sql_names
from ..table.files import ChangedFiles
from ..table.intervals import interval_of
from .bounds import bounds_sql
from .one_task import in_one_task
from .relations import changed_keys_sql
from .same_key import fits_one_number, same_key

MOST_BROADCAST_KEYS = 1_000_000
"""Up to this many keys are broadcast to every executor, so that the large side is not shuffled."""

MOST_BROADCAST_NUMBERS = 4_000_000
"""The limit for keys of integers and dates with at most 8 bytes in total. A driver of 1 GiB has room for this many."""


def keys_sql(groups: ChangedGroups, exact: ExactScans | None = None) -> str:
    """The distinct keys of the changed groups. ``exact``: the reader of individual data files; None without one.

    All keys are within ``key_bounds``, because only rows within these bounds are read. Otherwise, the target would lose
    the rows of a key outside of the bounds, and receive no new rows for it.
    """
    if groups.held is not None:
        return groups.held
    listed, bounds = sql_names(groups.keys), key_bounds(groups, groups.keys)
    where = f" where {bounds}" if bounds else ""
    selects = (
        f"select {listed} from {changed_keys_sql(each.planned, groups.keys, exact)}{where}" for each in groups.changes
    )
    return f"(select distinct {listed} from ({' union all '.join(selects)}))"


def rows_sql(relation: str, records: int, groups: ChangedGroups, exact: ExactScans | None = None) -> str:
    """All rows of a relation that belong to a changed group.

    ``records``: the number of rows of the relation; 0 if unknown.
    """
    together = in_one_task(records, records) if records else ""
    bounds = key_bounds(groups, groups.keys)
    kept = f"(select * from {relation}{f' where {bounds}' if bounds else ''})"
    return (
        f"(select {broadcast('_ip_keys', groups.records, groups.types)}{together}_ip_rows.*"
        f" from {kept} as _ip_rows"
        f" left semi join {keys_sql(groups, exact)} as _ip_keys on {same_group('_ip_rows', '_ip_keys', groups)})"
    )


def key_bounds(groups: ChangedGroups, keys: Sequence[str]) -> str | None:
    """Literal bounds of some key columns of the changed groups, from the metadata of the changed files.

    None if one of the relations has no such bounds.
    """
    found = []
    for each in groups.changes:
        bounds = None if each.files is None else bounds_of(each.files, keys)
        if bounds is None:
            return None
        found.append(bounds)
    return " or ".join(f"({bounds})" for bounds in found)


def bounds_of(files: ChangedFiles, columns: Sequence[str]) -> str | None:
    """Literal bounds of some columns in the rows of all these files. None if there are none."""
    if files.files is None:
        return None
    wanted = {column.field_id for name in columns if (column := files.column(name)) is not None}
    end = tuple(column for column in files.end if column.field_id in wanted)
    return bounds_sql(replace(files, end=end), files.files.all)


def same_group(left: str, right: str, groups: ChangedGroups) -> str:
    """The condition that a row on the left belongs to the changed group on the right."""
    return same_key(left, right, groups.keys, groups.types, nulls=_may_be_null(groups))


def _may_be_null(groups: ChangedGroups) -> bool:
    """Whether a key of a changed group may be NULL, according to the metadata of the changed files."""
    return any(
        each.files is None or each.files.files is None or any(_has_nulls(each.files, key) for key in groups.keys)
        for each in groups.changes
    )


def _has_nulls(changed: ChangedFiles, name: str) -> bool:
    column = changed.column(name)
    if column is None or changed.files is None or not isinstance(column.type, str):
        return True
    field_id, type_ = column.field_id, column.type
    return any(interval_of(file, field_id, type_).has_nulls for file in changed.files.all)


def broadcast(alias: str, keys: int, types: Sequence[str]) -> str:
    """The hint to broadcast a relation of at most ``keys`` keys. Empty if there are too many keys."""
    most = MOST_BROADCAST_NUMBERS if fits_one_number(types) else MOST_BROADCAST_KEYS
    return f"/*+ BROADCAST({alias}) */ " if keys <= most else ""

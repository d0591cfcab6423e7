"""Merging by replacement: the new rows are inserted, and then the rows that they replace are deleted; as SQL.

The outcome is that of a MERGE that updates all columns. But a MERGE joins by an outer join, for which Spark shuffles
the whole target; a DELETE finds the old rows by a semi join, to which the few new keys are broadcast, and under literal
bounds of the keys that were in fact written, as the manifests of the insert list them. Both statements are staged on
one branch and published at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..expose.groups import bounds_of, broadcast, key_bounds, keys_sql, same_group
from ..expose.one_task import in_one_task
from ..expose.same_key import same_key
from ..plan.groups import ChangedGroups
from ..spark.scans import ExactScans
from ..sql import sql_name, sql_names, sql_string, unused
from ..table.changed_files import ChangedFiles, DataFile, FileDifference
from ..table.commits import added, is_written_by
from ..table.history import History, Snapshot, TableName
from ..table.partitions import LiveSpec, identity_columns
from .unique_keys import duplicates_sql, first_keys_sql, shown

TARGET = "DBT_INTERNAL_DEST"
_NEW, _CHANGED = "DBT_INTERNAL_SOURCE", "_ip_changed"
_LINEAGE = "_last_updated_sequence_number"
_NO_LINEAGE = f"A row that was just inserted has no {_LINEAGE}, which identifies the older rows"


@dataclass(frozen=True)
class Replacement:
    """What replaces what: a row the one of the same ``unique_key``, a changed group all of its rows.

    ``types``: of the unique_key, by Spark's names. ``fixed``: other columns that all rows of one key have the same
    value in.
    """

    unique_key: tuple[str, ...]
    types: tuple[str, ...]
    fixed: tuple[str, ...] = ()
    groups: ChangedGroups | None = None


@dataclass(frozen=True)
class Inserted:
    """The commit that inserted the new rows: its snapshot, its parent's id, and its files, None where unknown.

    ``by_sequence``: whether format v3's row lineage identifies older rows. ``branch``: the one whose head the
    commit is, None for main. ``bounding``: the columns, in lower case, by whose literal bounds the DELETE can say which
    rows it leaves alone; None for all.
    """

    table: TableName
    snapshot: Snapshot
    files: ChangedFiles | None
    by_sequence: bool
    branch: str | None = None
    bounding: frozenset[str] | None = None

    @property
    def sql(self) -> str:
        """What the commit was written to, by its name in Spark SQL."""
        return self.table.sql if self.branch is None else self.table.branch_sql(self.branch)

    def can_bound(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Those of some columns that may bound the DELETE."""
        return tuple(name for name in columns if self.bounding is None or name.lower() in self.bounding)


def inserted(
    target: History, snapshot: Snapshot, files: ChangedFiles | None, specs: Callable[[], Sequence[LiveSpec]]
) -> Inserted:
    """Judge a commit of the target that inserted new rows. ``specs``: gives the live partition specs, where needed."""
    # A copy-on-write DELETE that reads metadata columns can filter neither by the row's lineage nor by any column of
    # which a file's partition and bounds leave something to decide (Iceberg 1.12: "Field _spec_id not found").
    copies = target.properties.get("write.delete.mode") != "merge-on-read"
    lineage = target.format_version >= 3 and not copies
    known = snapshot.sequence_number is not None and is_written_by(snapshot, (1, 12))
    heads = (name for name, head in target.refs.items() if head == snapshot.snapshot_id and name != "main")
    bounding = identity_columns(specs()) if copies else None
    return Inserted(target.table, snapshot, files, lineage and known, next(heads, None), bounding)


def paths_sql(new: Inserted) -> str:
    """The query for the files of the inserted rows, for a reader that does not know them."""
    return f"select distinct _file from {_rows(new)}"


def with_paths(new: Inserted, paths: Sequence[str]) -> Inserted:
    """The commit with the files of its rows, of which nothing else is known."""
    files = FileDifference((), tuple(DataFile(path, 0, 0) for path in paths), ())
    return replace(new, files=ChangedFiles((), (), files))


def delete_sql(new: Inserted, replacement: Replacement, exact: ExactScans | None = None) -> str:
    """The DELETE of the rows that the inserted ones replace, and of those of changed groups.

    The inserted rows have each key once, as ``duplicates_of`` has shown.
    """
    groups = replacement.groups
    columns = new.can_bound((*replacement.unique_key, *replacement.fixed))
    bounds = [None if new.files is None else bounds_of(new.files, columns)]
    since = unused("_ip_since", replacement.unique_key) if new.by_sequence else None
    fresh, records = _new_keys(new, replacement, since), added(new.snapshot)[1]
    replaced = same_key(TARGET, _NEW, replacement.unique_key, replacement.types, nulls=False)
    matches = [(fresh, _NEW, replaced, records, replacement.types)]
    if groups is not None and groups.changes:
        bounds.append(key_bounds(groups, new.can_bound(groups.keys)))
        changed, most = _changed_keys(new, groups, since, exact), groups.records
        if len(groups.keys) == len(replacement.unique_key):
            listed = sql_names(groups.keys) + ("" if since is None else f", {since}")
            changed = f"(select {listed} from {changed} union all select {listed} from {fresh})"
            matches, most = [], most + records
        matches.append((changed, _CHANGED, same_group(TARGET, _CHANGED, groups), most, groups.types))
    found = " or ".join(_exists(new, since, *match) for match in matches)
    conditions = [f"({found})"]
    if since is None:
        conditions.insert(0, is_older(new, _NEW, None))
    if all(bounds):
        conditions.insert(0, f"({' or '.join(f'({each})' for each in bounds)})")
    return f"delete from {new.sql} as {TARGET} where {' and '.join(conditions)}"


def is_older(new: Inserted, alias: str, since: str | None) -> str:
    """Whether a row of the target is none of the inserted ones, by its sequence number and ``since``, a column of keys.

    Without ``since``, by its file.

    Not by a literal: so only rows of these keys are compared, and the code for going over the target is that of the
    last run, which a long-lived Spark has compiled by now. A literal number is a part of the code. Files that add_files
    brought from another table have its numbers, which may be higher, or the same: then the file says it.
    """
    if since is None:
        return _is_in_older_file(new)
    # NULL in files that are older than the table's format v3
    other = f"coalesce({TARGET}.{_LINEAGE}, 0) <> {alias}.{since}"
    return other if new.files is None else f"({other} or {_is_in_older_file(new)})"


def _exists(
    new: Inserted, since: str | None, relation: str, alias: str, condition: str, keys: int, types: Sequence[str]
) -> str:
    """Whether a row of the target is meant. Its age is compared with ``since``, a column of keys, if there is one."""
    if since is not None:
        condition += f" and {is_older(new, alias, since)}"
    return f"exists (select {broadcast(alias, keys, types)}1 from {relation} as {alias} where {condition})"


def _changed_keys(new: Inserted, groups: ChangedGroups, since: str | None, exact: ExactScans | None) -> str:
    keys = keys_sql(groups, exact)
    return f"(select *, {new.snapshot.sequence_number} as {since} from {keys})" if since is not None else keys


def duplicates_of(new: Inserted, replacement: Replacement) -> str:
    """The query for keys that more than one of the inserted rows has: ``unique_keys.duplicates_sql``."""
    return duplicates_sql(_together(new), replacement.unique_key)


def unchanged_groups_sql(new: Inserted, groups: ChangedGroups, exact: ExactScans | None = None) -> str:
    """The query for groups of inserted rows that did not change, with the columns of ``duplicates_of``."""
    return first_keys_sql(
        f"select {shown(groups.keys)} as key, count(*) as times from {_together(new)} as {_NEW}"
        f" left anti join {keys_sql(groups, exact)} as {_CHANGED} on {same_group(_NEW, _CHANGED, groups)}"
        f" group by {sql_names(groups.keys)}"
    )


def _new_keys(new: Inserted, replacement: Replacement, since: str | None) -> str:
    """The keys of the inserted rows; one with a NULL in it matches nothing."""
    names = [sql_name(key) for key in replacement.unique_key]
    present = " and ".join(f"{name} is not null" for name in names)
    if since is not None:
        names.append(f"coalesce({_LINEAGE}, raise_error({sql_string(_NO_LINEAGE)})) as {since}")
    return f"(select {', '.join(names)} from {_rows(new)} where {present})"


def _rows(new: Inserted) -> str:
    """The inserted rows, under a name that nothing else in the statement has."""
    snapshot = new.snapshot
    if snapshot.parent_id is None:
        return f"{new.table.sql}.{sql_name(f'snapshot_id_{snapshot.snapshot_id}')}"
    options = f"`start-snapshot-id` = '{snapshot.parent_id}', `end-snapshot-id` = '{snapshot.snapshot_id}'"
    return f"{new.table.sql}.`branch_main` WITH ({options})"


def _together(new: Inserted) -> str:
    """The inserted rows, in one task where they are few."""
    rows = added(new.snapshot)[1]
    hint = in_one_task(rows, rows)
    return f"(select {hint}* from {_rows(new)})" if hint else _rows(new)


def _is_in_older_file(new: Inserted) -> str:
    """Whether a row of the target is none of the inserted ones, by its file."""
    if new.files is None or new.files.files is None:
        return f"{TARGET}._file not in (select _file from {_rows(new)})"
    listed = ", ".join(sql_string(file.path) for file in new.files.files.all)
    return f"{TARGET}._file not in ({listed})" if listed else "true"

"""SQL that merges by replacement: an INSERT of the new rows, and then a DELETE of the rows that they replace.

The result is that of a MERGE that updates all columns. However, a MERGE uses an outer join, for which Spark shuffles
the whole target. The DELETE finds the old rows by a semi join, to which the few new keys are broadcast. It searches
only between the lowest and the highest key that were written, as literals from the manifests of the INSERT. Both
statements are staged on one branch and published together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ...expose.groups import bounds_of, broadcast, key_bounds, keys_sql, same_group
from ...expose.one_task import in_one_task
from ...expose.same_key import same_key
from ...plan.groups import ChangedGroups
from ...spark.port import ExactScans
from ...sql import sql_name, sql_names, sql_string, unused
from ...table.commits import added, is_able
from ...table.files import ChangedFiles, DataFile, FileDifference
from ...table.history import History, Snapshot, TableName
from ...table.layout import LiveSpec, identity_columns
from ...table.releases import Capability
from ..columns.unique_keys import duplicates_sql, first_keys_sql, shown
from .merge import SOURCE, TARGET

_CHANGED, _IS_CHANGED = "_ip_changed", "_ip_is_changed"
_LINEAGE = "_last_updated_sequence_number"
_NO_LINEAGE = f"A new row has no {_LINEAGE}, so it cannot be distinguished from older rows"


@dataclass(frozen=True)
class Replacement:
    """How old rows are replaced: by ``unique_key``, and all old rows of the changed groups.

    ``types``: the Spark types of ``unique_key``. ``fixed``: other columns that have the same value in all rows of a
    key.
    """

    unique_key: tuple[str, ...]
    types: tuple[str, ...]
    fixed: tuple[str, ...] = ()
    groups: ChangedGroups | None = None


@dataclass(frozen=True)
class Inserted:
    """The commit that inserted the new rows.

    ``files``: the files that it added; None if unknown. ``by_sequence``: whether row lineage (format v3) identifies
    older rows. ``branch``: the branch whose head is the commit; None for main. ``bounding``: the columns, in lower
    case, whose literal bounds may restrict the DELETE; None for all columns.
    """

    table: TableName
    snapshot: Snapshot
    files: ChangedFiles | None
    by_sequence: bool
    branch: str | None = None
    bounding: frozenset[str] | None = None

    @property
    def sql(self) -> str:
        """The name in Spark SQL of the branch that contains the commit."""
        return self.table.sql if self.branch is None else self.table.branch_sql(self.branch)

    def can_bound(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The given columns whose bounds may restrict the DELETE."""
        return tuple(name for name in columns if self.bounding is None or name.lower() in self.bounding)


def inserted(
    target: History, snapshot: Snapshot, files: ChangedFiles | None, specs: Callable[[], Sequence[LiveSpec]]
) -> Inserted:
    """The properties of a commit of the target that inserted new rows. ``specs``: returns the live partition specs."""
    # A copy-on-write DELETE that reads metadata columns cannot filter by row lineage. It can filter only by columns for
    # which the partition of each file decides the result (Iceberg 1.12: "Field _spec_id not found").
    copies = not target.deletes_in_place
    known = target.format_version >= 3 and snapshot.sequence_number is not None
    lineage = known and not copies and _reads_lineage(snapshot, files)
    heads = (name for name, head in target.refs.items() if head == snapshot.snapshot_id and name != "main")
    bounding = identity_columns(specs()) if copies else None
    return Inserted(target.table, snapshot, files, lineage, next(heads, None), bounding)


def _reads_lineage(snapshot: Snapshot, files: ChangedFiles | None) -> bool:
    """Whether the release of Iceberg that inserted rows, which also deletes the old ones, reads their row lineage."""
    if is_able(snapshot, Capability.READS_LINEAGE_FROM_ALL):
        return True
    is_parquet = files is not None and files.files is not None and files.files.keep_row_ids
    return is_parquet and is_able(snapshot, Capability.READS_LINEAGE_FROM_PARQUET)


def paths_sql(new: Inserted) -> str:
    """The query for the paths of the inserted rows' files, if the metadata reader does not know them."""
    return f"select distinct _file from {_rows(new)}"


def with_paths(new: Inserted, paths: Sequence[str]) -> Inserted:
    """The commit with the files of its rows, of which only the paths are known."""
    files = FileDifference((), tuple(DataFile(path, 0, 0) for path in paths), ())
    return replace(new, files=ChangedFiles((), (), files))


def delete_sql(new: Inserted, replacement: Replacement, exact: ExactScans | None = None) -> str:
    """The DELETE of the rows that the inserted rows replace, and of the old rows of changed groups.

    The keys of the inserted rows must be unique, which ``duplicates_of`` checks.
    """
    groups = replacement.groups
    columns = new.can_bound((*replacement.unique_key, *replacement.fixed))
    bounds = [None if new.files is None else bounds_of(new.files, columns)]
    since = unused("_ip_since", replacement.unique_key) if new.by_sequence else None
    fresh, records = _new_keys(new, replacement, since), added(new.snapshot)[1]
    replaced = same_key(TARGET, SOURCE, replacement.unique_key, replacement.types, nulls=False)
    matches = [(fresh, SOURCE, replaced, records, replacement.types)]
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
        conditions.insert(0, is_older(new, SOURCE, None))
    if all(bounds):
        conditions.insert(0, f"({' or '.join(f'({each})' for each in bounds)})")
    return f"delete from {new.sql} as {TARGET} where {' and '.join(conditions)}"


def is_older(new: Inserted, alias: str, since: str | None) -> str:
    """The condition that a row of the target is not an inserted row, by its sequence number and file.

    ``since``: the column of ``alias`` with the sequence number of the commit; None to compare only the file.

    The number is in a column, so that Spark compares only rows with these keys. A literal would also change the
    generated code for scanning the target, which a long-lived session has already compiled in an earlier run. Files
    that ``add_files`` added keep the sequence numbers of another table, which may be higher or the same.
    """
    if since is None:
        return _is_in_older_file(new)
    # The sequence number is NULL in files from before the table's upgrade to format v3.
    other = f"coalesce({TARGET}.{_LINEAGE}, 0) <> {alias}.{since}"
    return other if new.files is None else f"({other} or {_is_in_older_file(new)})"


def sequence_sql(snapshot: Snapshot) -> str:
    """The sequence number of a commit, as a decimal that Spark aggregates by hash.

    Spark's generated code contains integers, but refers to decimals. It is therefore the same in the next run, so that
    a long-lived session has already compiled it.
    """
    return f"cast({snapshot.sequence_number} as decimal(18, 0))"


def _exists(
    new: Inserted, since: str | None, relation: str, alias: str, condition: str, keys: int, types: Sequence[str]
) -> str:
    """The condition that a row of the target has a key of a relation and, with ``since``, is not an inserted row."""
    if since is not None:
        condition += f" and {is_older(new, alias, since)}"
    return f"exists (select {broadcast(alias, keys, types)}1 from {relation} as {alias} where {condition})"


def _changed_keys(new: Inserted, groups: ChangedGroups, since: str | None, exact: ExactScans | None) -> str:
    keys = keys_sql(groups, exact)
    return f"(select *, {sequence_sql(new.snapshot)} as {since} from {keys})" if since is not None else keys


def flaws_sql(new: Inserted, replacement: Replacement, exact: ExactScans | None = None) -> str:
    """The query that returns a row if the rows of ``duplicates_of`` or of ``unchanged_groups_sql`` exist.

    It reads the inserted rows once, and sorts and shows no keys.
    """
    groups, rows, flaw = replacement.groups, f"{_together(new)} as {SOURCE}", "count(*) > 1"
    if groups is not None and groups.changes:
        hint = broadcast(_CHANGED, groups.records, groups.types)
        keys = f"(select *, true as {_IS_CHANGED} from {keys_sql(groups, exact)}) as {_CHANGED}"
        joined = f"{rows} left join {keys} on {same_group(SOURCE, _CHANGED, groups)}"
        rows = f"(select {hint}{SOURCE}.*, {_IS_CHANGED} from {joined})"
        flaw += f" or count({_IS_CHANGED}) < count(*)"
    return f"select 1 from {rows} group by {sql_names(replacement.unique_key)} having {flaw} limit 1"


def duplicates_of(new: Inserted, replacement: Replacement) -> str:
    """The query for keys that several inserted rows have, with the columns of ``unique_keys.duplicates_sql``."""
    return duplicates_sql(_together(new), replacement.unique_key)


def unchanged_groups_sql(new: Inserted, groups: ChangedGroups, exact: ExactScans | None = None) -> str:
    """The query for unchanged groups that have inserted rows, with the columns of ``duplicates_of``."""
    return first_keys_sql(
        f"select {shown(groups.keys)} as key, count(*) as times from {_together(new)} as {SOURCE}"
        f" left anti join {keys_sql(groups, exact)} as {_CHANGED} on {same_group(SOURCE, _CHANGED, groups)}"
        f" group by {sql_names(groups.keys)}"
    )


def _new_keys(new: Inserted, replacement: Replacement, since: str | None) -> str:
    """The keys of the inserted rows, except keys with a NULL, which match no row."""
    names = [sql_name(key) for key in replacement.unique_key]
    present = " and ".join(f"{name} is not null" for name in names)
    if since is not None:
        names.append(f"coalesce({_LINEAGE}, raise_error({sql_string(_NO_LINEAGE)})) as {since}")
    return f"(select {', '.join(names)} from {_rows(new)} where {present})"


def _rows(new: Inserted) -> str:
    """The inserted rows, by a name that no other relation in the statement has."""
    snapshot = new.snapshot
    if snapshot.parent_id is None:
        return f"{new.table.sql}.{sql_name(f'snapshot_id_{snapshot.snapshot_id}')}"
    options = f"`start-snapshot-id` = '{snapshot.parent_id}', `end-snapshot-id` = '{snapshot.snapshot_id}'"
    return f"{new.table.sql}.`branch_main` WITH ({options})"


def _together(new: Inserted) -> str:
    """The inserted rows, read in one task if there are few of them."""
    rows = added(new.snapshot)[1]
    hint = in_one_task(rows, rows)
    return f"(select {hint}* from {_rows(new)})" if hint else _rows(new)


def _is_in_older_file(new: Inserted) -> str:
    """The condition that a row of the target is not in a file of the inserted rows."""
    if new.files is None or new.files.files is None:
        return f"{TARGET}._file not in (select _file from {_rows(new)})"
    listed = ", ".join(sql_string(file.path) for file in new.files.files.all)
    return f"{TARGET}._file not in ({listed})" if listed else "true"

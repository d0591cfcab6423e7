"""A table's history as frozen values. Planning uses it without a catalog, Spark or dbt.

Terms are Iceberg's. Times are milliseconds since the epoch (UTC), sizes are bytes, snapshot ids are signed 64-bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ..names import namespace_levels, namespace_sql, sql_name

_EMPTY: Mapping[str, str] = MappingProxyType({})
_NO_AGES: Mapping[str, int] = MappingProxyType({})
_NO_FIELDS: Mapping[str, int] = MappingProxyType({})
COPY_ON_WRITE, MERGE_ON_READ = "copy-on-write", "merge-on-read"
WRITE_MODES = tuple(f"write.{kind}.mode" for kind in ("delete", "update", "merge"))
"""The table properties that choose between both ways to change rows."""
MAIN = "main"
"""The branch that readers see by default."""


@dataclass(frozen=True, order=True)
class TableName:
    """The three parts of a table's name in Spark: catalog, namespace and table, without quotes.

    Dots in ``namespace`` separate its levels.
    """

    catalog: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """The canonical name in checkpoints, logs and errors, for example ``lake.ops.flights``.

        A part that contains a dot or back-quote is back-quoted, so that names are unique.
        """
        return ".".join(sql_name(part) if ("." in part or "`" in part) else part for part in self._parts)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the namespace's levels."""
        return namespace_levels(self.namespace)

    @property
    def _parts(self) -> tuple[str, ...]:
        return self.catalog, *self.levels, self.name

    @property
    def sql(self) -> str:
        """The name in Spark SQL, with every part back-quoted."""
        return ".".join(map(sql_name, self._parts))

    @property
    def namespace_sql(self) -> str:
        """The catalog and the namespace in Spark SQL."""
        return namespace_sql(self.namespace, self.catalog)

    @property
    def sql_in_catalog(self) -> str:
        """The name without its catalog in Spark SQL, for RENAME TO and for procedures of the catalog."""
        return ".".join(map(sql_name, (*self.levels, self.name)))

    def branch_sql(self, branch: str) -> str:
        """The name of one of the table's branches in Spark SQL."""
        return f"{self.sql}.{sql_name(f'branch_{branch}')}"

    def at_sql(self, snapshot_id: int, *, has_other_names: bool, as_name: bool = False) -> str:
        """The table at a snapshot, for FROM. Every read of a pinned table uses this form.

        ``has_other_names``: as in Snapshot. Iceberg 1.12 then prunes files by the present names, although the rows have
        the names of the snapshot. It would skip files with rows that satisfy a condition, or fail. This concerns every
        condition on the table's newest snapshot, and joins on partition columns at any snapshot. Spark pushes no
        condition below a sample, and a sample of 100 percent contains all rows. With a fixed seed, equal relations have
        equal plans.

        ``as_name``: whether the snapshot is a part of the name, so that SQL cannot qualify columns by the table's name.
        """
        name = sql_name(f"snapshot_id_{snapshot_id}")
        pinned = f"{self.sql}.{name}" if as_name else f"{self.sql} VERSION AS OF {snapshot_id}"
        return f"{pinned} TABLESAMPLE (100 PERCENT) REPEATABLE (0)" if has_other_names else pinned

    @classmethod
    def parse(cls, text: str) -> TableName | None:
        """Parse a canonical name. None for other text."""
        name = cls.written(text)
        return name if name is not None and str(name) == text else None

    @classmethod
    def written(cls, text: str) -> TableName | None:
        """Parse a name of three or more parts, each with or without back-quotes. None for other text."""
        if _PARTS.fullmatch(text + ".") is None:
            return None
        return cls.of([quoted.replace("``", "`") if quoted else plain for quoted, plain in _PART.findall(text + ".")])

    @classmethod
    def of(cls, parts: Sequence[str]) -> TableName:
        """The table with these parts of a name: the catalog, at least one level of the namespace, and the table."""
        return cls(parts[0], ".".join(parts[1:-1]), parts[-1])

    @classmethod
    def canonical(cls, text: str) -> str:
        """The canonical form of a name. Earlier versions back-quoted a namespace with a dot. Other text is returned."""
        name = cls.written(text)
        return text if name is None else str(name)


_PART = re.compile(r"(?:`((?:[^`]|``)+)`|([^.`]+))\.")  # every part ends with a dot
_PARTS = re.compile(rf"(?:{_PART.pattern}){{3,}}")


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of a table's metadata.

    ``sequence_number``: None if the reader cannot know it, because the ``snapshots`` metadata table lacks it.
    ``operation``: None if the writer set none, which format v1 allows. ``summary``: without the operation.
    ``has_row_ids``: whether every row at this snapshot is known to have a row id (format v3). ``fields``: the ids of
    its columns and of their fields, by path; empty if the reader cannot know them. ``has_other_names``: whether one of
    these paths refers to another field, or to none, in the table's present columns.
    """

    snapshot_id: int
    parent_id: int | None
    sequence_number: int | None
    timestamp_ms: int
    operation: str | None
    summary: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    has_row_ids: bool = False
    fields: Mapping[str, int] = field(default_factory=lambda: _NO_FIELDS, compare=False, repr=False)
    has_other_names: bool = field(default=False, compare=False)

    def number(self, key: str) -> int | None:
        """A number in the summary. None if the key is missing, or if its value is not a whole number."""
        text = self.summary.get(key, "")
        return int(text) if text.isdecimal() else None


@dataclass(frozen=True)
class Retention:
    """A branch's own retention, which overrides the table's properties. None means not set.

    ``min_snapshots``: the minimum number of snapshots to keep. ``max_age_ms``: the maximum age of other snapshots.
    """

    min_snapshots: int | None = None
    max_age_ms: int | None = None


_NO_BRANCHES: Mapping[str, Retention] = MappingProxyType({MAIN: Retention()})


@dataclass(frozen=True)
class History:
    """A table's past, from one load of its metadata.

    ``snapshots``: all snapshots of all branches that the metadata contains, by id. ``refs``: snapshot ids by the names
    of branches and tags. ``main`` is absent if the table has no snapshot. ``ref_ages``: the maximum age of refs in
    milliseconds since the commit, after which an expiry drops the ref; by name, if set. ``table_uuid``: None if the
    reader cannot know it. ``metadata_log``: the locations of older metadata files, oldest first. ``branches``: the
    retention of each branch by name; all other refs are tags. ``updated_ms``: when the metadata was last written; None
    if the reader cannot know it. ``location``: the table's folder; None if the reader cannot know it.
    ``rolled_back_ms``: when main was last set to a snapshot that had been current before; None if it was not, or if the
    reader cannot know it. ``created_ms``: when the table was created; None if the reader cannot know it. ``fields``:
    the present columns, as in Snapshot. ``lost_partition``: whether a partition spec uses a column that was dropped
    since, as far as the reader knows. It may be an older spec. ``partitioned_by``: the present partition fields in
    Spark's notation; None if the reader cannot know them. ``sorted_by``: the fields by which rows are sorted in new
    files, with their directions. ``foreign``: the types of columns and fields that Spark may not have, by path, as far
    as the reader knows.
    """

    table: TableName
    table_uuid: str | None
    format_version: int
    current_snapshot_id: int | None
    snapshots: Mapping[int, Snapshot]
    refs: Mapping[str, int]
    properties: Mapping[str, str]
    metadata_log: tuple[str, ...] = ()
    ref_ages: Mapping[str, int] = field(default_factory=lambda: _NO_AGES)
    branches: Mapping[str, Retention] = field(default_factory=lambda: _NO_BRANCHES)
    updated_ms: int | None = None
    location: str | None = None
    rolled_back_ms: int | None = None
    created_ms: int | None = None
    fields: Mapping[str, int] = field(default_factory=lambda: _NO_FIELDS, compare=False, repr=False)
    lost_partition: bool = False
    partitioned_by: tuple[str, ...] | None = field(default=None, compare=False)
    sorted_by: tuple[str, ...] = field(default=(), compare=False)
    foreign: Mapping[str, str] = field(default_factory=lambda: _EMPTY, compare=False)

    @property
    def deletes_in_place(self) -> bool:
        """Whether a DELETE marks rows as deleted. Otherwise, it rewrites their files."""
        return self.properties.get("write.delete.mode") == MERGE_ON_READ and not self.lost_partition

    def modes_to_rewrite(self, *, is_lost: bool = False) -> Mapping[str, str]:
        """The properties to set so that rows can be deleted. Empty if they can be.

        Iceberg 1.12 cannot delete rows in place if the source column of a partition spec was dropped: "Cannot find
        field 1000". The specs remain until the snapshots that use them have expired. Rewriting files works.
        ``is_lost``: whether a statement has failed for this reason.
        """
        lost = self.lost_partition or is_lost
        return {key: COPY_ON_WRITE for key in WRITE_MODES if lost and self.properties.get(key) == MERGE_ON_READ}

    @property
    def current(self) -> Snapshot | None:
        """The current snapshot of ``main``. None if the table has no snapshot."""
        return None if self.current_snapshot_id is None else self.snapshots.get(self.current_snapshot_id)

    @property
    def lacks_past(self) -> bool:
        """Whether the catalog returned only the current snapshot of a table that has had others.

        Iceberg itself lists the older metadata files of a table that has had several commits, also after an expiry.
        """
        number = None if self.current is None else self.current.sequence_number
        return number is not None and number > 1 and len(self.snapshots) == 1 and not self.metadata_log

    def ancestors(self, snapshot_id: int | None) -> Iterator[Snapshot]:
        """A snapshot and its known ancestors, newest first, up to the first unknown one."""
        seen: set[int] = set()
        while snapshot_id is not None and snapshot_id not in seen:
            snapshot = self.snapshots.get(snapshot_id)
            if snapshot is None:
                return
            seen.add(snapshot_id)
            yield snapshot
            snapshot_id = snapshot.parent_id

    def is_ancestor(self, snapshot_id: int, of: int | None) -> bool:
        """Whether a snapshot is ``of`` itself or a known ancestor of it."""
        return any(s.snapshot_id == snapshot_id for s in self.ancestors(of))

    def with_older(self, older: History) -> History:
        """This history, completed with the snapshots and parents of an older history of the same table.

        When PyIceberg 0.12 expires a snapshot, it removes the parent from the child snapshot.
        """
        if older.table_uuid != self.table_uuid:
            return self
        orphans = [each.snapshot_id for each in self.snapshots.values() if each.parent_id is None]
        parents = {each: older.snapshots[each] for each in orphans if each in older.snapshots}
        return replace(self, snapshots={**older.snapshots, **self.snapshots, **parents})

    def commits_since(self, snapshot_id: int | None, end: Snapshot) -> list[Snapshot] | None:
        """The commits after a snapshot, up to and including ``end``, oldest first.

        None if the parents do not lead back to the snapshot. The snapshot itself may have expired if its child is
        known. ``snapshot_id``: None for a table that had no snapshot.
        """
        commits: list[Snapshot] = []
        for snapshot in self.ancestors(end.snapshot_id):
            if snapshot.snapshot_id == snapshot_id:
                return commits[::-1]
            commits.append(snapshot)
        return commits[::-1] if commits and commits[-1].parent_id == snapshot_id else None

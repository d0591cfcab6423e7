"""A table's history as frozen values: what planning works on, without a catalog, Spark or dbt.

Terms are Iceberg's. Times are milliseconds since the epoch (UTC), sizes are bytes, snapshot ids are signed 64-bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ..names import sql_name

_EMPTY: Mapping[str, str] = MappingProxyType({})
_NO_AGES: Mapping[str, int] = MappingProxyType({})
MAIN = "main"
"""The branch that readers see."""


@dataclass(frozen=True, order=True)
class TableName:
    """The three parts of a table's name in Spark: catalog, namespace, table; as they are, without quotes."""

    catalog: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """The canonical name that checkpoints, logs and errors show, for example ``lake.ops.flights``.

        A part that holds a dot or a back-quote is back-quoted, so that no two tables share a name.
        """
        return ".".join(sql_name(p) if ("." in p or "`" in p) else p for p in (self.catalog, self.namespace, self.name))

    @property
    def sql(self) -> str:
        """The name as Spark SQL takes it, every part back-quoted."""
        return ".".join(sql_name(p) for p in (self.catalog, self.namespace, self.name))

    @classmethod
    def parse(cls, text: str) -> TableName | None:
        """Read a canonical name back; None for a text that is none."""
        name = cls.written(text)
        return name if name is not None and str(name) == text else None

    @classmethod
    def written(cls, text: str) -> TableName | None:
        """Read a name of three parts, each with or without back-quotes; None for another text."""
        if _PARTS.fullmatch(text + ".") is None:
            return None
        return cls(*(quoted.replace("``", "`") if quoted else plain for quoted, plain in _PART.findall(text + ".")))


_PART = re.compile(r"(?:`((?:[^`]|``)+)`|([^.`]+))\.")  # every part ends with a dot
_PARTS = re.compile(rf"(?:{_PART.pattern}){{3}}")


@dataclass(frozen=True)
class Snapshot:
    """One snapshot as the table's metadata has it.

    ``sequence_number`` is None where the reader cannot know it (the ``snapshots`` metadata table lacks it).
    ``operation`` is None where the writer gave none (format v1 allows it). ``summary`` is without the operation.
    ``has_row_ids``: whether every row is known to have a row id at it (format v3).
    """

    snapshot_id: int
    parent_id: int | None
    sequence_number: int | None
    timestamp_ms: int
    operation: str | None
    summary: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    has_row_ids: bool = False

    def number(self, key: str) -> int | None:
        """A number of the summary; None where it has none under this key."""
        text = self.summary.get(key, "")
        return int(text) if text.isdecimal() else None


@dataclass(frozen=True)
class Retention:
    """What a branch says itself of the snapshots that an expiry keeps of it, before the table's properties.

    ``min_snapshots``: how many at least. ``max_age_ms``: those that are no older than this. None where it says nothing.
    """

    min_snapshots: int | None = None
    max_age_ms: int | None = None


_NO_BRANCHES: Mapping[str, Retention] = MappingProxyType({MAIN: Retention()})


@dataclass(frozen=True)
class History:
    """What one load of a table's metadata says of its past.

    ``snapshots``: every snapshot that the metadata still knows, by id, on all branches.
    ``refs``: branch and tag names to snapshot ids; ``main`` is absent while the table has no snapshot.
    ``ref_ages``: how old the snapshots of refs may become, in milliseconds since their commits, before an expiry drops
    the ref; by name, where one is set.
    ``table_uuid``: None where the reader cannot know it.
    ``metadata_log``: locations of older metadata files, oldest first.
    ``branches``: those of the refs that are branches; the others are tags.
    ``updated_ms``: when the metadata were last written; None where the reader cannot know it.
    ``location``: of the table's files; None where the reader cannot know it.
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

    @property
    def current(self) -> Snapshot | None:
        """The head of ``main``, or None while the table has no snapshot."""
        return None if self.current_snapshot_id is None else self.snapshots.get(self.current_snapshot_id)

    def ancestors(self, snapshot_id: int | None) -> Iterator[Snapshot]:
        """The known ancestors of and including a snapshot, newest first; ends at the first one that is not known."""
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
        """This history with the snapshots and parents that an older one of the same table knows.

        PyIceberg's expiry (0.12) takes the parent away from a snapshot whose parent it removes.
        """
        if older.table_uuid != self.table_uuid:
            return self
        orphans = [each.snapshot_id for each in self.snapshots.values() if each.parent_id is None]
        parents = {each: older.snapshots[each] for each in orphans if each in older.snapshots}
        return replace(self, snapshots={**older.snapshots, **self.snapshots, **parents})

    def commits_since(self, snapshot_id: int | None, end: Snapshot) -> list[Snapshot] | None:
        """The commits after a snapshot up to ``end``, oldest first; None where the parents do not lead back to it.

        The snapshot itself may be expired, as long as the commit whose parent it was is known. ``snapshot_id`` is None
        for a table that had none yet.
        """
        commits: list[Snapshot] = []
        for snapshot in self.ancestors(end.snapshot_id):
            if snapshot.snapshot_id == snapshot_id:
                return commits[::-1]
            commits.append(snapshot)
        return commits[::-1] if commits and commits[-1].parent_id == snapshot_id else None

"""The data files of a snapshot, and the difference between two snapshots in columns and data files.

Field ids, types and bounds are defined by the Iceberg specification.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

from .types import IcebergType, fields_of

CHANGELOG_COLUMNS = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
"""The columns that Iceberg's changelog scan adds to a table's columns."""

METADATA_COLUMNS = (
    "_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"
)  # fmt: skip
"""The columns that Iceberg adds to every table. It cannot read a table with such a column, unless the case differs."""

_NOTHING: Mapping[int, Any] = MappingProxyType({})


@dataclass(frozen=True)
class TableColumn:
    """A column of a table's schema. ``default``: the initial default as JSON, which is the value of older rows."""

    field_id: int
    name: str
    type: IcebergType
    default: Any = None


@dataclass(frozen=True)
class PartitionField:
    """A field of a partition spec: a transform (``identity``, ``day``, …) of the column ``source_id``."""

    field_id: int
    source_id: int
    transform: str


@dataclass(frozen=True)
class DataFile:
    """A data file as its manifest entry describes it.

    ``partition``: the values of the spec's fields, in their order and in Iceberg's units (days, microseconds, …).
    ``lower``, ``upper``: bounds by field id in Iceberg's binary form; bounds of strings may be truncated. ``nulls``,
    ``values``: counts by field id. A missing id means unknown. ``size``: in bytes.
    """

    path: str
    records: int
    size: int
    spec: tuple[PartitionField, ...] = ()
    partition: tuple[Any, ...] = ()
    lower: Mapping[int, bytes] = field(default_factory=lambda: _NOTHING)
    upper: Mapping[int, bytes] = field(default_factory=lambda: _NOTHING)
    nulls: Mapping[int, int] = field(default_factory=lambda: _NOTHING)
    values: Mapping[int, int] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True)
class FileDifference:
    """The data files that differ between the start and the end of a range.

    ``at_start``, ``at_end``: the files that the table has only at that end. ``with_other_deletes``: the files at both
    ends whose deleted rows differ or may differ. The rows of all other files are the same. ``has_repeated``: whether
    the table has one of these files more than once.
    """

    at_start: tuple[DataFile, ...]
    at_end: tuple[DataFile, ...]
    with_other_deletes: tuple[DataFile, ...]
    has_repeated: bool = False

    @property
    def keep_row_ids(self) -> bool:
        """Whether the files contain the ids of moved rows. Only Parquet files are known to be read with these ids."""
        return all(file.path.endswith(".parquet") for file in self.all)

    @property
    def all(self) -> tuple[DataFile, ...]:
        """Every file that differs, once."""
        return (*self.at_start, *self.at_end, *self.with_other_deletes)

    @property
    def records(self) -> int:
        """The number of rows in these files, including deleted rows."""
        return sum(file.records for file in self.all)


@dataclass(frozen=True)
class ChangedFiles:
    """The start and the end of a range.

    ``start``, ``end``: the columns of the two snapshots. ``files``: None if the reader does not know which files
    differ. ``clustered_by``: the ids of the columns by which the table is partitioned or sorted. ``start_has_row_ids``:
    whether every row at the start has a row id (format v3), which identifies it at the end. ``without_deletes``:
    whether neither end has delete files. ``has_present_columns``: whether the columns at the end have the same names
    and order as the table's current columns. ``renamed``: the ids of columns at the end that do not have the same name
    or fields in the current table. ``start_has_deletes``: whether the start has, or may have, delete files.
    ``present``: the current columns of the table. A reader that does not know them, and so leaves them empty, only
    returns ranges with the same columns at both ends.
    """

    start: tuple[TableColumn, ...]
    end: tuple[TableColumn, ...]
    files: FileDifference | None = None
    clustered_by: tuple[int, ...] = ()
    start_has_row_ids: bool = False
    without_deletes: bool = False
    has_present_columns: bool = False
    renamed: frozenset[int] = frozenset()
    start_has_deletes: bool = True
    present: tuple[TableColumn, ...] = ()

    @property
    def start_has_other_names(self) -> bool:
        """``Snapshot.has_other_names`` of the start."""
        return self._has_other_names(self.start)

    @property
    def end_has_other_names(self) -> bool:
        """``Snapshot.has_other_names`` of the end."""
        return self._has_other_names(self.end)

    def _has_other_names(self, columns: tuple[TableColumn, ...]) -> bool:
        if not self.present:
            return bool(self.renamed)
        return has_other_names(fields_by_path(columns), fields_by_path(self.present))

    def column(self, name: str) -> TableColumn | None:
        """The column at the end with this name.

        The case is ignored unless another column has the name in a different case.
        """
        return _named(self.end, name)

    def is_another(self, name: str) -> bool:
        """Whether this name refers to different columns at the start and the end, or in the current table."""
        column = self.column(name)
        return column is not None and (column.field_id in self.renamed or self._was_another(name, column))

    @property
    def others(self) -> list[str]:
        """The names of the columns at the end that refer to different columns at the start."""
        return self._others_in(self.end)

    @property
    def present_others(self) -> list[str]:
        """The names of the table's current columns that refer to different columns at the start."""
        return self._others_in(self.present)

    def _others_in(self, columns: tuple[TableColumn, ...]) -> list[str]:
        if self.start == columns:
            return []
        return [column.name for column in columns if self._was_another(column.name, column)]

    def _was_another(self, name: str, column: TableColumn) -> bool:
        before = _named(self.start, name)
        if before is None:
            return False
        ids, fields = fields_of(before.type), fields_of(column.type)
        return before.field_id != column.field_id or any(ids.get(path, id_) != id_ for path, id_ in fields.items())

    @property
    def reserved(self) -> list[str]:
        """The columns at the end that hide one of Iceberg's metadata columns."""
        return [column.name for column in self.end if column.name.lower() in METADATA_COLUMNS]

    @property
    def has_changelog(self) -> bool:
        """Whether Iceberg's changelog scan can read the range.

        The scan does not support delete files, uses the names of the table's current columns, and adds its own columns.
        """
        same = self.has_present_columns and self.start == self.end
        return self.without_deletes and same and not self.names_changelog_columns

    @property
    def names_changelog_columns(self) -> bool:
        """Whether a column of the table has the name of a column that Iceberg's changelog scan adds."""
        return any(column.name.lower() in CHANGELOG_COLUMNS for column in (*self.start, *self.end))


def fields_by_path(columns: Iterable[TableColumn]) -> dict[str, int]:
    """The ids of columns and of their fields, by path."""
    found: dict[str, int] = {}
    for column in columns:
        found |= {column.name: column.field_id, **fields_of(column.type, column.name)}
    return found


def has_other_names(fields: Mapping[str, int], present: Mapping[str, int]) -> bool:
    """Whether one of the paths of ``fields`` refers to another field, or to none, in ``present``."""
    return any(present.get(path) != field_id for path, field_id in fields.items())


def _named(columns: Iterable[TableColumn], name: str) -> TableColumn | None:
    found = [column for column in columns if column.name.lower() == name.lower()]
    return next((column for column in found if column.name == name), found[0] if len(found) == 1 else None)


class Content(str, Enum):
    """The kind of content of a file."""

    DATA = "data"
    POSITION_DELETES = "position deletes"
    DELETION_VECTOR = "deletion vector"
    EQUALITY_DELETES = "equality deletes"


@dataclass(frozen=True)
class LiveFile:
    """A file of a table's current snapshot.

    ``partition``: equal for files of the same partition and spec. ``size``: in bytes. For a deletion vector, the size
    of the file that it shares with other vectors. ``of``: the data file whose rows it deletes; None if there may be
    several. ``manifest``: the manifest that lists it; None if the reader cannot know it.
    """

    content: Content
    path: str
    spec_id: int
    partition: Hashable
    records: int
    size: int
    of: str | None = None
    manifest: str | None = None


@dataclass(frozen=True)
class ManifestSize:
    """A manifest of live files: its partition spec, its size in bytes, and whether it lists delete files."""

    spec_id: int
    size: int
    lists_deletes: bool


@dataclass(frozen=True)
class LiveFiles:
    """All files of a table's current snapshot. ``spec_id``: the partition spec of new files."""

    files: tuple[LiveFile, ...]
    manifests: Mapping[str, ManifestSize]
    spec_id: int

    @property
    def data(self) -> tuple[LiveFile, ...]:
        """The data files."""
        return tuple(file for file in self.files if file.content is Content.DATA)

    @property
    def deletes(self) -> tuple[LiveFile, ...]:
        """The delete files of each kind, including deletion vectors."""
        return tuple(file for file in self.files if file.content is not Content.DATA)

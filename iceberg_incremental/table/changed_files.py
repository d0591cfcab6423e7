"""What differs between two snapshots of a table, as frozen values: their columns, and data files.

Field ids, types and bounds are as the Iceberg specification lays them down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from .types import IcebergType

CHANGELOG_COLUMNS = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
"""What Iceberg's changelog scan adds to a table's columns."""

METADATA_COLUMNS = (
    "_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"
)  # fmt: skip
"""Columns that Iceberg adds to every table. It refuses to read a table with such a column, unless its case differs."""

_NOTHING: Mapping[int, Any] = MappingProxyType({})


@dataclass(frozen=True)
class TableColumn:
    """A column of the table's schema. ``default``: its initial default as JSON, what rows older than it hold."""

    field_id: int
    name: str
    type: IcebergType
    default: Any = None


@dataclass(frozen=True)
class PartitionField:
    """A field of a partition spec: the transform (``identity``, ``day``, …) of the column ``source_id``."""

    field_id: int
    source_id: int
    transform: str


@dataclass(frozen=True)
class DataFile:
    """A data file as its manifest entry has it.

    ``partition``: the values of the spec's fields in Iceberg's own units (days, microseconds, …), in their order.
    ``lower``, ``upper``: bounds by field id in Iceberg's binary form; strings may be cut. ``nulls``, ``values``: counts
    by field id. An id that is missing is not known. ``size`` in bytes.
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
    """The data files that are not the same at both ends of a range.

    ``at_start``, ``at_end``: those that the table has at one end only. ``with_other_deletes``: those that it has at
    both, but with other rows deleted from them, or where that cannot be excluded. The rows of any other file are the
    same. ``has_repeated``: whether one of them is in a table more than once.
    """

    at_start: tuple[DataFile, ...]
    at_end: tuple[DataFile, ...]
    with_other_deletes: tuple[DataFile, ...]
    has_repeated: bool = False

    @property
    def keep_row_ids(self) -> bool:
        """Whether ids of rows that were moved stand in the files: only Parquet files are known to be read so."""
        return all(file.path.endswith(".parquet") for file in self.all)

    @property
    def all(self) -> tuple[DataFile, ...]:
        """Every file that differs, once."""
        return (*self.at_start, *self.at_end, *self.with_other_deletes)

    @property
    def records(self) -> int:
        """The rows of these files, deleted ones included."""
        return sum(file.records for file in self.all)


@dataclass(frozen=True)
class ChangedFiles:
    """The two ends of a range.

    ``start``, ``end``: the columns of the two snapshots. ``files``: None where the reader does not know which differ.
    ``clustered_by``: ids of the columns that the table is partitioned or sorted by. ``start_has_row_ids``: whether
    every row of the start has a row id (format v3), so that it can be recognised at the end. ``without_deletes``:
    whether there are no delete files at either end. ``has_present_columns``: whether the end has the columns that the
    table has now, also by name and in their order. ``renamed``: ids of the columns of the end that the table has not
    under the same name now. ``start_has_deletes``: whether there are, or may be, delete files at the start.
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

    def column(self, name: str) -> TableColumn | None:
        """The column of the end by its name, in any case where no other column has the name in another."""
        return _named(self.end, name)

    def is_another(self, name: str) -> bool:
        """Whether this name meant another column at the start than it does at the end, or does so now."""
        column = self.column(name)
        return column is not None and (column.field_id in self.renamed or self._was_another(name, column))

    @property
    def others(self) -> list[str]:
        """The columns of the end whose names meant another column at the start."""
        if self.start == self.end:
            return []
        return [column.name for column in self.end if self._was_another(column.name, column)]

    def _was_another(self, name: str, column: TableColumn) -> bool:
        before = _named(self.start, name)
        return before is not None and before.field_id != column.field_id

    @property
    def reserved(self) -> list[str]:
        """The columns of the end that hide a metadata column of Iceberg's."""
        return [column.name for column in self.end if column.name.lower() in METADATA_COLUMNS]

    @property
    def has_changelog(self) -> bool:
        """Whether Iceberg's changelog scan can read what lies between.

        It takes no delete files, names what it reads by the table's present columns, and adds columns of its own.
        """
        same = self.has_present_columns and self.start == self.end
        return self.without_deletes and same and not self.names_changelog_columns

    @property
    def names_changelog_columns(self) -> bool:
        """Whether the table has a column of a name that Iceberg's changelog scan gives to its own."""
        return any(column.name.lower() in CHANGELOG_COLUMNS for column in (*self.start, *self.end))


def _named(columns: Iterable[TableColumn], name: str) -> TableColumn | None:
    found = [column for column in columns if column.name.lower() == name.lower()]
    return next((column for column in found if column.name == name), found[0] if len(found) == 1 else None)

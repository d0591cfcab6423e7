"""The configs of a history table, with the names of dbt's snapshot configs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum


class HardDeletes(str, Enum):
    """The effect of a deletion in the source on the valid version."""

    INVALIDATE = "invalidate"
    """The version ends."""

    IGNORE = "ignore"
    """The version stays valid."""

    NEW_RECORD = "new_record"
    """The version ends, and a version that marks the row as deleted begins."""


@dataclass(frozen=True)
class MetaColumns:
    """The names of the columns that a history table has in addition to the model's columns."""

    dbt_scd_id: str = "dbt_scd_id"
    dbt_updated_at: str = "dbt_updated_at"
    dbt_valid_from: str = "dbt_valid_from"
    dbt_valid_to: str = "dbt_valid_to"
    dbt_is_deleted: str = "dbt_is_deleted"


META_COLUMNS = tuple(field.name for field in fields(MetaColumns))
"""The default names, which are also the keys of ``snapshot_meta_column_names``."""


@dataclass(frozen=True)
class HistoryConfig:
    """How a history table is built.

    ``unique_key``: identifies a row of the source. ``check_cols``: the columns whose changes create a version; empty
    for all columns. ``valid_to_current``: the SQL expression for the end of valid versions; None for NULL.
    ``sequence_by``: for a log of events, the column whose values start and end versions; None for the history of a
    table.
    """

    unique_key: tuple[str, ...] = ()
    check_cols: tuple[str, ...] = ()
    hard_deletes: HardDeletes = HardDeletes.INVALIDATE
    valid_to_current: str | None = None
    names: MetaColumns = MetaColumns()
    sequence_by: str | None = None

    @property
    def is_from_log(self) -> bool:
        """Whether the versions come from a log of events, ordered by its sequence, instead of a table's commits."""
        return self.sequence_by is not None

    def meta_columns(self, time_type: str = "timestamp") -> list[tuple[str, str]]:
        """The columns that the table has in addition to the model's columns, with their Spark types.

        ``time_type``: the type of the times at which versions begin and end.
        """
        names = self.names
        found = [
            (names.dbt_scd_id, "string"),
            (names.dbt_updated_at, time_type),
            (names.dbt_valid_from, time_type),
            (names.dbt_valid_to, time_type),
        ]
        if self.hard_deletes is HardDeletes.NEW_RECORD:
            found.append((names.dbt_is_deleted, "string"))
        return found

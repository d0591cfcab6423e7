"""What a history table is configured to keep: the names are those of dbt's snapshots."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum


class HardDeletes(str, Enum):
    """What a deletion in the source does to the version that is valid."""

    INVALIDATE = "invalidate"
    """It ends."""

    IGNORE = "ignore"
    """It stays valid."""

    NEW_RECORD = "new_record"
    """It ends, and a version that says that the row is deleted begins."""


@dataclass(frozen=True)
class MetaColumns:
    """The names of the columns that a history table has beside the model's."""

    dbt_scd_id: str = "dbt_scd_id"
    dbt_updated_at: str = "dbt_updated_at"
    dbt_valid_from: str = "dbt_valid_from"
    dbt_valid_to: str = "dbt_valid_to"
    dbt_is_deleted: str = "dbt_is_deleted"


META_COLUMNS = tuple(field.name for field in fields(MetaColumns))
"""The default names, which are also the keys of ``snapshot_meta_column_names``."""


@dataclass(frozen=True)
class HistoryConfig:
    """How a history table is kept.

    ``unique_key``: identifies a row of the source. ``check_cols``: the columns of which a change makes a new version;
    empty for all. ``valid_to_current``: the SQL expression that is the end of valid versions; None for NULL.
    ``sequence_by``: the column of a log's events at whose values versions begin and end; None for the history of a
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
        """Whether the versions are those of a log of events, by their sequence; else those of a table's commits."""
        return self.sequence_by is not None

    def meta_columns(self, time_type: str = "timestamp") -> list[tuple[str, str]]:
        """The columns that the table has beside the model's, with their types by Spark's names.

        ``time_type``: that of the times at which versions begin and end.
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

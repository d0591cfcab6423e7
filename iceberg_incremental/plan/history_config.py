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
    """

    unique_key: tuple[str, ...] = ()
    check_cols: tuple[str, ...] = ()
    hard_deletes: HardDeletes = HardDeletes.INVALIDATE
    valid_to_current: str | None = None
    names: MetaColumns = MetaColumns()

    @property
    def meta_columns(self) -> list[tuple[str, str]]:
        """The columns that the table has beside the model's, with their types by Spark's names."""
        names = self.names
        found = [
            (names.dbt_scd_id, "string"),
            (names.dbt_updated_at, "timestamp"),
            (names.dbt_valid_from, "timestamp"),
            (names.dbt_valid_to, "timestamp"),
        ]
        if self.hard_deletes is HardDeletes.NEW_RECORD:
            found.append((names.dbt_is_deleted, "string"))
        return found

"""What the macros stand for in a model's SQL, and what becomes of it there."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_incremental.table.history import TableName

SIGNED = "ip_signed_changes"
_CHANGES = frozenset({"ip_changes", "ip_changelog", SIGNED})


@dataclass(frozen=True)
class Captured:
    """What a macro stands for in the SQL: its name, and the table that it reads."""

    macro: str
    table: TableName

    @property
    def is_changes(self) -> bool:
        """Whether these are changes alone; ``ip_changed_groups`` reads whole groups."""
        return self.macro in _CHANGES

    def __str__(self) -> str:
        return f"{self.macro}({self.table})"


@dataclass(frozen=True)
class Total:
    """An expression over several captured changes."""

    sql: str
    captured: Captured


@dataclass(frozen=True)
class Use:
    """What becomes of the captured changes.

    ``totals``: the aggregates and window functions over them whose values get into the table. ``reads_own_table``:
    whether the SQL returns or sums up rows of the model's own table. ``unsigned``: the signed changes that get into the
    table although the SQL does not look at their sign.
    """

    totals: tuple[Total, ...] = ()
    reads_own_table: bool = False
    unsigned: tuple[Captured, ...] = ()

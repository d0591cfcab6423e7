"""The captures of the macros in a model's SQL, and how the SQL uses them."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_incremental.table.history import TableName

SIGNED = "ip_signed_changes"
_CHANGES = frozenset({"ip_changes", "ip_changelog", SIGNED})


@dataclass(frozen=True)
class Captured:
    """The capture of a macro in the SQL: the name of the macro, and the table that it reads."""

    macro: str
    table: TableName

    @property
    def is_changes(self) -> bool:
        """Whether the macro returns only changes. ``ip_changed_groups`` returns whole groups."""
        return self.macro in _CHANGES

    def __str__(self) -> str:
        return f"{self.macro}({self.table})"


@dataclass(frozen=True)
class Total:
    """An expression that combines several captured changes."""

    sql: str
    captured: Captured


@dataclass(frozen=True)
class Use:
    """How a query uses the captured changes.

    ``totals``: the aggregates and window functions over these changes whose values are written to the table.
    ``reads_own_table``: whether the SQL returns or sums rows of the model's own table. ``unsigned``: the signed changes
    that are written to the table although the SQL ignores their sign. ``joined``: changes of different tables that are
    joined with each other. ``limited``: changes of which LIMIT returns only some rows. ``watermark``: whether
    only changes above a maximum in the model's own table are read. ``filters_type``: whether a condition on the type of
    change leaves deletions out.
    """

    totals: tuple[Total, ...] = ()
    reads_own_table: bool = False
    unsigned: tuple[Captured, ...] = ()
    joined: tuple[Captured, ...] = ()
    limited: tuple[Captured, ...] = ()
    watermark: bool = False
    filters_type: bool = False

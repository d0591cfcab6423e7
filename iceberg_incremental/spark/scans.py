"""Rows of a table in SQL, and reading individual data files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..sql import sql_name
from ..table.history import TableName


@dataclass(frozen=True)
class Rows:
    """Rows of one end of a range, with the columns of the range's end.

    ``relation``: the relation for FROM. ``columns``: expressions for columns that the relation has in another form. A
    relation contains deleted rows only in statements that read ``_deleted``.
    """

    relation: str
    columns: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    """A condition must not be a single name, because Spark reads ``t WHERE (c)`` as aliases of a table and a column."""

    def where(self, *conditions: str | None) -> Rows:
        """The rows that also satisfy these conditions. None is ignored."""
        return replace(self, conditions=(*self.conditions, *(each for each in conditions if each is not None)))

    def select(self, names: Iterable[str], *more: str) -> str:
        """The SELECT of columns, by their names at the range's end, and of additional expressions."""
        listed = [
            f"{self.columns[name]} as {sql_name(name)}" if name in self.columns else sql_name(name) for name in names
        ]
        return f"select {', '.join([*listed, *more])} {self.clauses}"

    @property
    def clauses(self) -> str:
        """The FROM and WHERE clauses."""
        where = f" where {' and '.join(f'({each})' for each in self.conditions)}" if self.conditions else ""
        return f"from {self.relation}{where}"


class ExactScans(Protocol):
    """Reads individual data files."""

    def rows(
        self, table: TableName, snapshot_id: int, paths: Collection[str], *, columns_of: int, deleted: bool
    ) -> Rows | None:
        """The rows that a table has at a snapshot in these data files, once for each entry of a file.

        The rows have the columns at snapshot ``columns_of``, and the columns of row lineage or, with ``deleted``, those
        that locate deleted rows. None if the connection cannot read individual files, or if the table has none of them.
        """

"""Rows of a table as SQL reads them, and what reads data files by themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..sql import sql_name
from ..table.history import TableName


@dataclass(frozen=True)
class Rows:
    """Rows of one end of a range, in the columns of the range's end.

    ``relation``: what stands after FROM. ``columns``: expressions of the columns that the relation has in another form.
    A relation shows deleted rows where a statement asks for ``_deleted``, and only there.
    """

    relation: str
    columns: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    """None is a name alone: Spark reads ``t WHERE (c)`` as a table alias with a column alias."""

    def where(self, *conditions: str | None) -> Rows:
        """Those of the rows that also fulfil these conditions; None is none."""
        return replace(self, conditions=(*self.conditions, *(each for each in conditions if each is not None)))

    def select(self, names: Iterable[str], *more: str) -> str:
        """The SELECT of some columns, by their names at the range's end, and of further expressions."""
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
    """What reads data files by themselves."""

    def rows(
        self, table: TableName, snapshot_id: int, paths: Collection[str], *, columns_of: int, deleted: bool
    ) -> Rows | None:
        """The rows that a table has at a snapshot in these data files, as often as it has the files.

        In the columns that it has at snapshot ``columns_of``, and with those of row lineage, or, if ``deleted``, with
        those that find deleted rows. None where the connection cannot read them so, or the table has no such file.
        """

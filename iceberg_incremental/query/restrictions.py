"""The rows of its sources that a query reads for some keys, and the columns and joins that identify them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from ..table.history import TableName
from . import normal
from .changed import Changes
from .incremental_query import IncrementalQuery
from .restricted import Column, Wanted, held_by_source, within
from .states import TableStates


@dataclass(frozen=True)
class Restriction:
    """A column of a source, and the key column whose values it must have.

    ``through``: the condition of the join or subquery that equates them; empty if the result has the source's column.
    """

    column: str
    key: str
    through: str = ""


@dataclass(frozen=True)
class SourceRows:
    """The rows of a source that are read for some keys. Without restrictions, all of its rows."""

    table: TableName
    by: tuple[Restriction, ...] = ()


def source_rows(kept: IncrementalQuery) -> list[SourceRows]:
    """The rows that are read for some keys, for each place where a query reads a source. Equal results occur once."""
    found = _Restrictions(kept)
    return list(dict.fromkeys(found.all() if kept.key else found.whole()))


class _Restrictions:
    def __init__(self, kept: IncrementalQuery) -> None:
        self._kept = kept
        self._tables = kept.reading.tables
        states = {name: TableStates(name) for name in self._tables}
        self._relations = Changes(kept.blocks, states, kept.types, "")

    def whole(self) -> Iterator[SourceRows]:
        return (SourceRows(table) for table in self._tables.values())

    def all(self) -> Iterator[SourceRows]:
        root = self._kept.root
        if self._kept.of_rows and isinstance(root.query, exp.Select):
            yield from self._of_select(root.query, [(each, key) for key, each in self._kept.expressions().items()], {})
            return
        for select, wanted in within(root, {each: each for each in self._kept.key}, self._relations):
            yield from self._of_select(select, wanted, {})

    def _of_select(
        self, select: exp.Select, wanted: Wanted, outer: Mapping[str, str], converted: Collection[str] = ()
    ) -> Iterator[SourceRows]:
        """The rows of a SELECT's sources. ``outer``: the conditions of outer queries on the key columns, by column.

        ``converted``: as in ``held_by_source``.
        """
        sources = held_by_source(select, wanted, self._relations, converted)
        own = {(each.table, each.name) for each, _ in wanted if isinstance(each, exp.Column)}
        known = {(table.alias_or_name, column) for table, held in sources for column in held.all}
        for table, held in sources:
            through = {
                column: self._through(select, (table.alias_or_name, column), own, known) or outer.get(key, "")
                for column, key in held.all.items()
            }
            block = self._relations.block(table.name)
            if block is None:
                by = (Restriction(column, key, through[column]) for column, key in held.all.items())
                yield SourceRows(self._tables[table.name], tuple(by))
                continue
            inner = {key: through[column] for column, key in held.all.items()}
            for each, inside in within(block, held.all, self._relations):
                yield from self._of_select(each, inside, inner, held.converted)

    def _through(self, select: exp.Select, column: Column, own: set[Column], known: set[Column]) -> str:
        """The condition that equates a column with another column with values of a key. Empty if there is none."""
        if column in own:
            return ""
        for condition in select.find_all(exp.EQ):
            sides = (condition.this, condition.expression)
            if not all(isinstance(side, exp.Column) for side in sides):
                continue
            names = [(side.table, side.name) for side in sides]
            if column in names and names[0][0] != names[1][0] and set(names) <= known:
                return " = ".join(self._readable_name(select, name) for name in names)
        return ""

    def _readable_name(self, select: exp.Select, column: Column) -> str:
        """The readable name of a column, with its table if that can be determined."""
        alias, name = column
        places = {
            each_alias: relation
            for inner in select.find_all(exp.Select)
            for each_alias, relation, _ in normal.clauses(inner)
        }
        relation = places.get(alias)
        if not isinstance(relation, exp.Table):
            return name
        block = self._relations.block(relation.name)
        if block is None:
            return f"{self._tables[relation.name].name}.{name}"
        if not isinstance(block.query, exp.Select):
            return name
        value = next((each.unalias() for each in block.query.expressions if each.alias_or_name == name), None)
        return self._readable_name(block.query, (value.table, value.name)) if isinstance(value, exp.Column) else name

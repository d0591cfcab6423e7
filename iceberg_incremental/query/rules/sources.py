"""The rows of its sources that a query reads for some keys, and the columns and joins that identify them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from ...table.history import TableName
from ..algebra import nodes as op
from ..algebra.flow import level_nodes
from ..algebra.nodes import SUBQUERY
from ..algebra.tree import Tree
from .restrict import Wanted, below, equal_columns, selects, sources


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


def rows_for_keys(tree: Tree, key: Mapping[str, str]) -> list[SourceRows]:
    """The rows that are read for some keys, for each place where a query reads a source. Equal results occur once.

    ``key``: the key columns, by the names of the result's columns. Empty if all rows are read.
    """
    if not key:
        return [SourceRows(table) for table in tree.tables.values()]
    return list(dict.fromkeys(_Restrictions(tree).of(tree.root, key, {}, ())))


class _Restrictions:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._leaves = {
            n.alias: n for n in op.all_nodes(tree.root, tree.subqueries) if isinstance(n, (op.Scan, op.Alias))
        }

    def of(
        self, node: op.Result, key: Mapping[str, str], outer: Mapping[str, str], converted: tuple[str, ...]
    ) -> Iterator[SourceRows]:
        """The rows of a result's sources. ``outer``: the conditions of outer queries on the key columns, by column.

        ``converted``: as in ``sources``.
        """
        for select, wanted in selects(node, self._tree, key):
            yield from self._of_select(select, wanted, outer, converted)

    def _of_select(
        self, select: op.Project, wanted: Wanted, outer: Mapping[str, str], converted: tuple[str, ...]
    ) -> Iterator[SourceRows]:
        found = sources(select, wanted, self._tree, converted)
        inner = below(select.child, wanted)[1]
        own = {(each.table, each.name) for each, _ in inner if isinstance(each, exp.Column)}
        known = {(leaf.alias, name) for leaf, held in found for name in held.all}
        equal = list(self._equalities(select))
        for leaf, held in found:
            through = {
                name: self._through(equal, (leaf.alias, name), own, known) or outer.get(key, "")
                for name, key in held.all.items()
            }
            if isinstance(leaf, op.Scan):
                by = (Restriction(name, key, through[name]) for name, key in held.all.items())
                yield SourceRows(self._tree.tables[leaf.table], tuple(by))
            else:
                of_keys = {key: through[name] for name, key in held.all.items()}
                yield from self.of(leaf.child, held.all, of_keys, tuple(held.converted))

    def _equalities(self, node: op.Node) -> Iterator[tuple[op.Column, op.Column]]:
        """The pairs of columns that conditions of a SELECT and its subqueries equate."""
        for part in (part for each in level_nodes(node) for part in op.expressions_of(each)):
            for name in op.subqueries_in(part):
                yield from self._equalities(self._tree.subqueries[name].query)
            yield from equal_columns(part.find_all(exp.EQ))

    def _through(
        self, equal: list[tuple[op.Column, op.Column]], column: op.Column, own: set[op.Column], known: set[op.Column]
    ) -> str:
        """The condition that equates a column with another column with values of a key. Empty if there is none."""
        if column in own:
            return ""
        for pair in equal:
            if column in pair and pair[0][0] != pair[1][0] and set(pair) <= known:
                return " = ".join(map(self._readable_name, pair))
        return ""

    def _readable_name(self, column: op.Column) -> str:
        """The readable name of a column, with its table if that can be determined."""
        alias, name = column
        leaf = self._leaves.get(alias)
        if isinstance(leaf, op.Scan):
            return f"{self._tree.tables[leaf.table].name}.{name}"
        if isinstance(leaf, op.Alias) and isinstance(leaf.child, op.Project):
            value = dict(leaf.child.outputs).get(name)
            if isinstance(value, exp.Column) and value.table != SUBQUERY and value.table in self._leaves:
                return self._readable_name((value.table, value.name))
            group_key = self._group_key(leaf.child, value)
            if group_key is not None:
                return self._readable_name(group_key)
        return name

    def _group_key(self, select: op.Project, value: exp.Expr | None) -> op.Column | None:
        """The column below groups that a column of groups has the values of."""
        found = [] if value is None else below(select.child, [(value, "")])[1]
        key = found[0][0] if found else None
        return (key.table, key.name) if isinstance(key, exp.Column) and key != value else None

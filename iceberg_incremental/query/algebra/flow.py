"""Where the values of a tree's columns come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from . import nodes as op
from .names import ANY_OF, OPEN, part_of
from .tree import Tree


def level_nodes(node: op.Node) -> list[op.Node]:
    """The operators of one SELECT."""
    if isinstance(node, (op.Scan, op.Alias)):
        return [node]
    return [each for child in op.children_of(node) for each in level_nodes(child)] + [node]


class Flow:
    """The values of which the columns of a tree consist."""

    def __init__(self, tree: Tree) -> None:
        self.nodes = op.all_nodes(tree.root, tree.subqueries)
        self._subqueries = tree.subqueries
        self._owners: dict[str, op.Node] = {getattr(node, "alias", ""): node for node in self.nodes}

    def owner(self, column: exp.Column) -> op.Node | None:
        """The operator that has a column. None for a column that no relation has, and for a subquery."""
        return self._owners.get(column.table) if column.table else None

    def inputs(self, column: exp.Column) -> list[tuple[op.Node, exp.Expr]]:
        """The expressions that a column stands for, with their operators: for a subquery, all of its columns."""
        if column.table == op.SUBQUERY:
            found = self._subqueries[column.name]
            values: list[tuple[op.Node, exp.Expr]] = [(op.One(), each) for each in found.values]
            return values if found.kind in ("exists", "in") else [*values, *self.outputs(found.query, OPEN)]
        owner = self.owner(column)
        match owner:
            case op.Alias():
                return list(self.outputs(owner.child, column.name))
            case op.Generate() if op.subqueries_in(owner.call):
                return list(self.outputs(self._subqueries[owner.call.name].query, column.name))
            case op.Generate():
                return [(owner, owner.call)]
            case op.Group() | op.Window():
                names = [name for alias, name in op.columns_of(owner) if alias == owner.alias]
                return [(owner, op.expressions_of(owner)[names.index(column.name)])]
            case _:
                return []

    def outputs(self, node: op.Result, name: str) -> Iterator[tuple[op.Project, exp.Expr]]:
        """The expressions of a column in the SELECTs of a result. ``name``: ``OPEN`` or ``ANY_OF`` for all."""
        match node:
            case op.Project():
                listed = [each for other, each in node.outputs if other.lower() == name.lower() != OPEN]
                if not listed and name not in (OPEN, ANY_OF):
                    listed = [part_of(each, name) for other, each in node.outputs if other == OPEN]
                yield from ((node, each) for each in listed or (each for _, each in node.outputs))
            case op.Union():
                for child in node.children:
                    yield from self.outputs(child, _same_place(name, op.names_of(node), op.names_of(child)))
            case op.SetOperation():
                yield from self.outputs(node.left, name)
            case op.Distinct() | op.Sort() | op.Limit():
                yield from self.outputs(node.child, name)

    def reached(self, values: Iterable[exp.Expr]) -> set[op.Column]:
        """The columns that the values of some expressions depend on."""
        found, waiting = set[op.Column](), list(values)
        while waiting:
            for column in waiting.pop().find_all(exp.Column):
                name = (column.table, column.name)
                if name not in found:
                    found.add(name)
                    waiting += [value for _, value in self.inputs(column)]
        return found


def _same_place(name: str, names: Sequence[str], others: Sequence[str]) -> str:
    """The name of a column in another part of a set operation. The same one, if the places are not known."""
    lower = [each.lower() for each in names]
    is_known = OPEN not in (*names, *others) and len(names) == len(others) and name.lower() in lower
    return others[lower.index(name.lower())] if is_known else name

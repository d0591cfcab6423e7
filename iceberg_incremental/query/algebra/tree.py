"""A query as one value: its tree of operators, and what is known about its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ...table.history import TableName
from ..text.refusal import refused
from .nodes import (
    ColumnTypes,
    Distinct,
    Limit,
    Node,
    Opaque,
    Project,
    Result,
    SetOperation,
    Sort,
    Subquery,
    Union,
    all_nodes,
    expressions_of,
    names_of,
    with_children,
)


@dataclass(frozen=True)
class Tree:
    """A query. ``tables``: its base tables, by their names in the tree, and ``schema``: the types of their columns.

    ``types``: those of all columns, as far as they are known. ``subqueries``: those in expressions, by name.
    ``limits``: the number of columns of each query with LIMIT, by the number in LIMIT.
    ``restricted``: results whose sources are restricted to some keys, so that equal ones are one value.
    """

    root: Result
    tables: Mapping[str, TableName]
    schema: Mapping[str, Mapping[str, str]]
    types: ColumnTypes
    subqueries: dict[str, Subquery]
    limits: Mapping[str, int]
    restricted: dict[object, Result] = field(default_factory=dict)


def with_names(root: Result, names: Sequence[str]) -> Result:
    """A result with other names."""
    match root:
        case Project():
            if len(root.outputs) != len(names):
                raise refused("a result whose columns Spark interprets differently")
            values = [each for _, each in root.outputs]
            return replace(root, outputs=tuple(zip(names, values, strict=True)))
        case Opaque():
            if list(root.names) != list(names):
                raise refused("a result whose columns Spark interprets differently")
            return root
        case Union():
            return replace(root, children=(with_names(root.children[0], names), *root.children[1:]))
        case SetOperation():
            return replace(root, left=with_names(root.left, names))
        case Sort():
            old = dict(zip(names_of(root.child), names, strict=False))
            by = tuple((clause, tuple(_renamed(each, old) for each in listed)) for clause, listed in root.by)
            return Sort(with_names(root.child, names), by)
        case _:
            return replace(root, child=with_names(root.child, names))


def _renamed(node: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    def by_name(each: exp.Expr) -> exp.Expr:
        is_output = isinstance(each, exp.Column) and not each.table and each.name in names
        return exp.column(names[each.name], quoted=True) if is_output else each

    return node.transform(by_name)


def without_orders(tree: Tree) -> Tree:
    """The tree without the orders that affect no rows: those of queries without LIMIT."""
    known: dict[Node, Node] = {}

    def change(node: Node) -> Node:
        if node not in known:
            if isinstance(node, Sort):
                known[node] = change(node.child)
            elif isinstance(node, Limit) and isinstance(node.child, Sort):
                known[node] = replace(node, child=replace(node.child, child=change(node.child.child)))  # type: ignore[arg-type]
            else:
                known[node] = with_children(node, change)
        return known[node]

    inner = {name: replace(each, query=change(each.query)) for name, each in tree.subqueries.items()}  # type: ignore[arg-type]
    return replace(tree, root=change(tree.root), subqueries=inner)  # type: ignore[arg-type]


def sort_keys(tree: Tree) -> dict[Project, list[exp.Expr]]:
    """The expressions of the orders of SELECTs, which may read the rows below them."""
    found: dict[Project, list[exp.Expr]] = {}
    for each in all_nodes(tree.root, tree.subqueries):
        if isinstance(each, Sort):
            inner = each.child.child if isinstance(each.child, Distinct) else each.child
            if isinstance(inner, Project):
                found.setdefault(inner, []).extend(expressions_of(each))
    return found

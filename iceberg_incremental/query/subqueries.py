"""The subqueries in the expressions of a SELECT."""

from __future__ import annotations

from sqlglot import exp

_PLACES: dict[type | None, str] = {exp.From: "this", exp.Join: "this", exp.In: "query", exp.Exists: "this"}
"""The nodes of a query that is no scalar subquery. In their other places, such as a list of IN, it is one."""


def subqueries(select: exp.Select) -> list[tuple[exp.Expr, exp.Expr]]:
    """The outermost subqueries in the expressions of a SELECT, each with its parent node."""
    found: list[tuple[exp.Expr, exp.Expr]] = []
    for node in select.walk(bfs=False, prune=lambda each: isinstance(each, exp.Select) and each is not select):
        inner: exp.Expr | None = None
        if isinstance(node, exp.Exists):
            inner = node.this
        elif isinstance(node, exp.In):
            inner = node.args.get("query")
        elif isinstance(node, exp.Subquery) and _PLACES.get(type(node.parent)) != node.arg_key:
            inner = node.this
        while isinstance(inner, exp.Subquery):
            inner = inner.this
        if isinstance(inner, exp.Query) and node.find_ancestor(exp.Select) is select:
            found.append((node, inner))
    return found


def conjunct(node: exp.Expr) -> exp.Expr | None:
    """The condition that contains a node and that WHERE combines with others only by AND. None elsewhere.

    The condition is a NOT or OR, for example, if an AND below it contains the node.
    """
    found = node
    while not isinstance(node.parent, exp.Where):
        above = node.parent
        if above is None or isinstance(above, exp.Select):
            return None
        if not isinstance(above, (exp.And, exp.Paren)):
            found = above
        node = above
    return found


def is_in_optional_join(node: exp.Expr) -> bool:
    """Whether a node is in the ON clause of a left join of the SELECT that contains it."""
    above = node.parent
    while above is not None and not isinstance(above, exp.Select):
        if isinstance(above, exp.Join):
            return above.side.upper() == "LEFT"
        above = above.parent
    return False


def within_sets(query: exp.Expr) -> list[exp.Expr]:
    """A query, and those that it combines by set operations."""
    if isinstance(query, exp.SetOperation):
        return [query, *within_sets(query.this), *within_sets(query.expression)]
    return [query, *(within_sets(query.this) if isinstance(query, exp.Subquery) else ())]


def leaves(query: exp.Expr) -> list[exp.Select]:
    """The SELECTs of a query with set operations."""
    return [each for each in within_sets(query) if isinstance(each, exp.Select)]

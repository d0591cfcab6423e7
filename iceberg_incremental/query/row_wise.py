"""Queries that compute each result row from one row of one relation, with filters and expressions only."""

from __future__ import annotations

from sqlglot import exp

from .text.moments import require_no_moment
from .text.parsing import parsed
from .text.refusal import refused
from .text.supported import is_aggregate, is_generator, is_nested, require_columns, require_supported

_CLAUSES = {
    "joins": "a join",
    "laterals": "LATERAL VIEW",
    "group": "GROUP BY",
    "having": "HAVING",
    "distinct": "DISTINCT",
    "windows": "a window",
    "limit": "LIMIT",
    "offset": "OFFSET",
}


def require_row_wise(sql: str) -> None:
    """Raise Refusal unless each row of a query's result depends only on one row of one relation."""
    tree = parsed(sql)
    require_supported(tree.walk(bfs=False))
    require_columns(tree)
    union = tree.find(exp.SetOperation)
    if union is not None:
        raise refused(union.key.upper(), union)
    require_no_moment(tree)
    for select in tree.find_all(exp.Select):
        _require_row_wise(select)


def require_constant(expression: str) -> None:
    """Raise Refusal for an expression whose value can differ between computations in a session."""
    tree = parsed(f"select date(({expression})) as ip_value")  # dbt compares it with times
    require_supported(tree.walk(bfs=False))
    require_columns(tree)
    found = tree.find(exp.Column, exp.Table)
    if found is not None:
        raise refused("a column" if isinstance(found, exp.Column) else "a subquery", found)
    require_no_moment(tree)


def _require_row_wise(select: exp.Select) -> None:
    for key, name in _CLAUSES.items():
        if select.args.get(key):
            raise refused(name, select)
    clause = select.args.get("from_")
    if clause is None or not isinstance(clause.this, (exp.Table, exp.Subquery)):
        raise refused("a SELECT that reads no table", select)
    if is_nested(clause.this):
        raise refused("a join in parentheses", select)
    if any(node.find_ancestor(exp.Select) is select and _is_subquery(node) for node in select.find_all(exp.Query)):
        raise refused("a subquery in an expression", select)
    for node in select.walk():
        construct = _construct_of(node)
        if construct is not None:
            raise refused(construct, node)


def _construct_of(node: exp.Expr) -> str | None:
    """The construct by which a node depends on other rows. None without one."""
    if isinstance(node, exp.Window):
        return "a window"
    if is_aggregate(node):
        return "an aggregate"
    return "a function that returns several rows" if is_generator(node) else None


def _is_subquery(node: exp.Expr) -> bool:
    """Whether a query is in an expression, not in FROM or WITH."""
    above = node.parent
    while isinstance(above, exp.Subquery):
        above = above.parent
    return not isinstance(above, (exp.From, exp.CTE, exp.SetOperation))

"""Queries that compute each result row from one row of one relation, with filters and expressions only."""

from __future__ import annotations

from sqlglot import exp

from .reading import parsed
from .refusal import refused
from .subqueries import subqueries
from .supported import is_aggregate, is_generator, require_supported

_CLAUSES = {
    "joins": "a join",
    "laterals": "LATERAL VIEW",
    "group": "GROUP BY",
    "having": "HAVING",
    "distinct": "DISTINCT",
    "windows": "a window",
}


def require_row_wise(sql: str) -> None:
    """Raise Refusal unless each row of a query's result depends only on one row of one relation."""
    tree = parsed(sql)
    require_supported(tree)
    union = tree.find(exp.SetOperation)
    if union is not None:
        raise refused("UNION", union)
    for select in tree.find_all(exp.Select):
        _require_row_wise(select)


def require_constant(expression: str) -> None:
    """Raise Refusal for an expression whose value can differ between computations in a session."""
    tree = parsed(f"select ({expression}) as ip_value")
    require_supported(tree)
    found = tree.find(exp.Column, exp.Select) if not isinstance(tree, exp.Select) else tree.find(exp.Column)
    if found is not None:
        raise refused("a column", found)


def _require_row_wise(select: exp.Select) -> None:
    for key, name in _CLAUSES.items():
        if select.args.get(key):
            raise refused(name, select)
    clause = select.args.get("from_")
    if clause is None or not isinstance(clause.this, (exp.Table, exp.Subquery)):
        raise refused("a SELECT that reads no table", select)
    if subqueries(select):
        raise refused("a subquery in an expression", select)
    for node in select.walk():
        if isinstance(node, exp.Window):
            raise refused("a window", node)
        if is_aggregate(node):
            raise refused("an aggregate", node)
        if is_generator(node):
            raise refused("a function that returns several rows", node)

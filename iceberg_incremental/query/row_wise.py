"""Queries that compute each result row from one row of one relation, with filters and expressions only."""

from __future__ import annotations

from sqlglot import exp

from .reading import parsed
from .refusal import refused
from .relations import is_nested
from .subqueries import subqueries
from .supported import MOMENT, is_aggregate, is_generator, require_supported

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
    found = tree.find(exp.Column, exp.Table)
    if found is not None:
        raise refused("a column" if isinstance(found, exp.Column) else "a subquery", found)
    moment = next(filter(_may_be_moment, tree.walk()), None)
    if moment is not None:
        raise refused(_moment_text(moment), moment)


def _require_row_wise(select: exp.Select) -> None:
    for key, name in _CLAUSES.items():
        if select.args.get(key):
            raise refused(name, select)
    clause = select.args.get("from_")
    if clause is None or not isinstance(clause.this, (exp.Table, exp.Subquery)):
        raise refused("a SELECT that reads no table", select)
    if is_nested(clause.this):
        raise refused("a join in parentheses", select)
    if subqueries(select):
        raise refused("a subquery in an expression", select)
    for node in select.walk():
        construct = _construct_of(node)
        if construct is not None:
            raise refused(construct, node)


def _construct_of(node: exp.Expr) -> str | None:
    """The construct by which a node depends on other rows or on the time of the run. None without one."""
    if _may_be_moment(node):
        return _moment_text(node)
    if isinstance(node, exp.Window):
        return "a window"
    if is_aggregate(node):
        return "an aggregate"
    return "a function that returns several rows" if is_generator(node) else None


def _may_be_moment(node: exp.Expr) -> bool:
    """Whether a node is text that Spark may cast to the time of the run. Text that is itself a column is not cast."""
    is_text = isinstance(node, (exp.Literal, exp.RawString))
    return is_text and MOMENT.fullmatch(node.name) is not None and not isinstance(node.parent, (exp.Alias, exp.Select))


def _moment_text(node: exp.Expr) -> str:
    return f"'{node.name}', which may stand for the time of the run"

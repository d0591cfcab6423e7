"""Which rows of a SELECT belong together, so that a change of one can affect the results of the others."""

from __future__ import annotations

from sqlglot import exp

from .normal import grouped_by, parts
from .reading import own_nodes
from .refusal import refused
from .supported import is_aggregate, is_of_row


def kept_together(select: exp.Select) -> list[exp.Expr] | None:
    """The expressions, over the rows of FROM and WHERE, whose values are equal in rows that belong together.

    Empty if all rows belong together, as in a total. None if each row is independent. Raises Refusal.
    """
    groups, windows = grouped_by(select), windows_of(select)
    for each in (*(groups or ()), *(part for window in windows for part in window.args.get("partition_by") or ())):
        if each.find(exp.Query) is not None:
            raise refused("a subquery in GROUP BY or PARTITION BY", each, "compute it in a CTE")
    if windows:
        common = _common_partition(windows)
        if groups is not None or aggregates_of(select):
            common = [each for each in common if _is_made_of(each, groups or [])]
        if not common:
            raise refused(
                "window functions without a common PARTITION BY",
                windows[0],
                "partition all windows by a column that they share, or compute them in a separate model",
            )
        return common
    if groups is not None:
        return groups
    if aggregates_of(select) or select.args.get("having") is not None:
        return []
    if select.args.get("distinct") is not None:
        # equal rows are also equal in these columns
        return [each.unalias().copy() for each in select.expressions if is_of_row(each)]
    return None


def windows_of(select: exp.Select) -> list[exp.Window]:
    """The window functions that a SELECT itself computes."""
    return [node for part in parts(select) for node in own_nodes(part) if isinstance(node, exp.Window)]


def aggregates_of(select: exp.Select) -> list[exp.Expr]:
    """The aggregates that a SELECT itself computes."""
    return [node for part in parts(select) for node in own_nodes(part) if is_aggregate(node)]


def has_distinct_aggregate(select: exp.Select) -> bool:
    """Whether a SELECT computes an aggregate of distinct values."""
    return any(each.find(exp.Distinct) is not None for each in aggregates_of(select))


def _common_partition(windows: list[exp.Window]) -> list[exp.Expr]:
    listed = [window.args.get("partition_by") or [] for window in windows]
    return [each.copy() for each in listed[0] if all(each in other for other in listed)]


def _is_made_of(node: exp.Expr, groups: list[exp.Expr]) -> bool:
    """Whether an expression has the same value in all rows of a group."""
    if node in groups:
        return True
    if isinstance(node, exp.Column) or is_aggregate(node):
        return False
    inner = [each for each in node.iter_expressions() if not isinstance(each, exp.Identifier)]
    return bool(inner) and all(_is_made_of(each, groups) for each in inner)

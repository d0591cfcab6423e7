"""Which rows of a SELECT belong together, so that a change of one can affect the results of the others."""

from __future__ import annotations

from sqlglot import exp

from .limits import is_limited
from .normal import grouped_by, parts
from .reading import own_nodes
from .refusal import refused
from .supported import is_aggregate, is_of_row


def kept_together(select: exp.Select) -> list[exp.Expr] | None:
    """The expressions, over the rows of FROM and WHERE, whose values are equal in rows that belong together.

    Empty if all rows may belong together, as in a total. None if each row is independent. Raises Refusal.
    """
    groups, windows = grouped_by(select), windows_of(select)
    for each in (*(groups or ()), *(part for window in windows for part in window.args.get("partition_by") or ())):
        if each.find(exp.Query) is not None:
            raise refused("a subquery in GROUP BY or PARTITION BY", each, "compute it in a CTE")
    if is_limited(select):
        return []
    if windows:
        return _common_partition(windows)
    if groups is not None:
        return groups
    if aggregates_of(select) or select.args.get("having") is not None:
        return []
    if select.args.get("distinct") is not None:
        # equal rows are also equal in these columns
        return [each.unalias().copy() for each in select.expressions if is_of_row(each)]
    return None


def partitions(select: exp.Select) -> list[list[exp.Expr]]:
    """The different PARTITION BYs of windows that have none in common, if each of them has one. Empty otherwise.

    A row can then only be affected by rows of one of its partitions.
    """
    windows = windows_of(select)
    found = list({tuple(window.args.get("partition_by") or ()): None for window in windows})
    if is_limited(select) or not all(found) or not windows or _common_partition(windows):
        return []
    return [list(each) for each in found]


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

"""The functions of a parsed query that compute a value from several rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

_UNKNOWN_TO_SQLGLOT = frozenset(
    {
        "arbitrary",
        "bitmap_and_agg",
        "bool_and",
        "bool_or",
        "count_min_sketch",
        "every",
        "histogram_numeric",
        "hll_sketch_agg",
        "hll_union_agg",
        "kll_merge_agg_bigint",
        "kll_merge_agg_double",
        "kll_merge_agg_float",
        "kll_sketch_agg_bigint",
        "kll_sketch_agg_double",
        "kll_sketch_agg_float",
        "mean",
        "measure",
        "product",
        "schema_of_variant_agg",
        "some",
        "std",
        "theta_intersection_agg",
        "theta_sketch_agg",
        "theta_union_agg",
        "try_avg",
        "try_sum",
    }
)
"""Aggregate functions of Spark that sqlglot does not recognize as aggregates."""

_CHOOSING = (exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.First, exp.FirstValue, exp.Last, exp.LastValue)
"""Functions that return the value of one row. They choose among the versions of a row, like ``row_number()``."""

_OF_SINGLE_ROWS = (
    *_CHOOSING,
    exp.CumeDist,
    exp.DenseRank,
    exp.Lag,
    exp.Lead,
    exp.NthValue,
    exp.Ntile,
    exp.PercentRank,
    exp.Rank,
)
"""Functions that rank rows or return values of single rows if they are used as window functions."""


def own_nodes(expression: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those within its subqueries."""
    return expression.dfs(prune=lambda node: isinstance(node, exp.Query))


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node calls an aggregate function, including as a window function."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _UNKNOWN_TO_SQLGLOT
    if isinstance(node, exp.Any):  # any(x), or the operand of a comparison: = any (subquery)
        return not isinstance(node.parent, exp.Binary)
    return isinstance(node, exp.AggFunc) and not isinstance(node, (exp.Grouping, exp.GroupingId))


def window_of(node: exp.Expr) -> exp.Window | None:
    """The window of a window function. None for an aggregate of a group."""
    while isinstance(node.parent, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Window)):
        if node.arg_key != "this":
            return None
        node = node.parent
        if isinstance(node, exp.Window):
            return node
    return None


def sums_up(node: exp.Expr, beside: Collection[exp.Expr]) -> bool:
    """Whether an aggregate combines several rows instead of choosing one row. ``beside``: the query's aggregates.

    ``max(ts)`` next to ``max_by(v, ts)`` chooses the same row, and ``max(struct(ts, v))`` chooses a whole row.
    """
    if window_of(node) is not None:
        return not isinstance(node, _OF_SINGLE_ROWS)
    if isinstance(node, _CHOOSING) or (isinstance(node, exp.Anonymous) and node.name.lower() == "arbitrary"):
        return False
    for kind, by in ((exp.Max, exp.ArgMax), (exp.Min, exp.ArgMin)):
        if isinstance(node, kind):
            orders = [each.expression for each in beside if isinstance(each, by)]
            return not (_is_struct(node.this) or node.this in orders)
    return True


def _is_struct(node: exp.Expr) -> bool:
    return isinstance(node, exp.Struct) or (isinstance(node, exp.Anonymous) and node.name.lower() == "named_struct")

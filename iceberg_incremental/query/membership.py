"""For which rows of a query the value of a subquery can change, in particular that of IN."""

from __future__ import annotations

from sqlglot import exp

from .supported import is_of_row
from .together import windows_of
from .types import Types, have_one_type


def can_change(node: exp.Expr, inner: exp.Select, changed: exp.Select, types: Types, *, must_be_true: bool) -> exp.Expr:
    """The condition for the rows for which the value of a subquery can change.

    ``node``: IN, EXISTS or the subquery. ``inner``: the subquery. ``changed``: the changed rows of its FROM and WHERE
    clauses. ``must_be_true``: whether only the rows matter for which IN is true.

    A changed row affects IN if its value is equal, or if one of both values is NULL. These are separate conditions,
    because Spark joins by hash for an equality, but compares all pairs of rows for other conditions.
    """
    pairs = _compared(node, inner) if isinstance(node, exp.In) else []
    one_type = all(have_one_type(types.of(mine), types.of(value)) for mine, value in pairs)
    if one_type and must_be_true:
        return exp.Exists(this=changed.where(*(_equal(mine, value) for mine, value in pairs)))
    if one_type and len(pairs) == 1:
        ((mine, value),) = pairs
        return exp.or_(
            exp.Exists(this=changed.where(_equal(mine, value))),
            exp.Exists(this=changed.where(_is_null(value))),
            exp.and_(_is_null(mine), exp.Exists(this=changed)),
        )
    # IN and = may convert values of different types in different ways
    return exp.Exists(this=changed.where(*(_not_different(mine, value) for mine, value in pairs)))


def _compared(node: exp.In, inner: exp.Select) -> list[tuple[exp.Expr, exp.Expr]]:
    """The values that IN compares, each with that of the subquery, as far as single rows determine both."""
    mine = node.this.unnest()
    listed = mine.expressions if isinstance(mine, exp.Tuple) else [mine]
    values = [each.unalias() for each in inner.expressions]
    if windows_of(inner) or len(listed) != len(values):
        return []
    return [pair for pair in zip(listed, values, strict=True) if all(map(is_of_row, pair))]


def _equal(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.paren(value.copy()), expression=exp.paren(other.copy()))


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(value.copy()), expression=exp.null())


def _not_different(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=exp.paren(_equal(value, other)), expression=exp.false()))

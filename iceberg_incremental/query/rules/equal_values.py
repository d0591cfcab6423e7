"""Values that are one of several equal values, such as the maximum of 0.0 and -0.0, and where the difference shows.

Comparisons, GROUP BY, PARTITION BY and ORDER BY consider these values equal. As text, for example, they differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from sqlglot import exp

from ..text import functions
from ..text.supported import is_aggregate, window_of
from ..text.types import Types, tells_apart

_BINARY = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is)
_CLAUSES = (
    exp.Where, exp.Group, exp.Having, exp.Join, exp.Order, exp.Ordered, exp.Window, exp.Filter, exp.Distinct, exp.Alias,
    exp.Select, exp.Subquery, exp.Paren, exp.Tuple, exp.Case, exp.If, exp.WithinGroup, exp.IgnoreNulls,
    exp.RespectNulls,
)  # fmt: skip
_OPERATORS = (exp.And, exp.Or, exp.Not, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg)
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double", "boolean")


class Shown(Enum):
    """What an expression shows of the difference between equal values that it contains."""

    NOTHING = 0
    EQUAL = 1
    """Its value is one of several equal values."""

    DIFFERENCE = 2


def one_of_equal(select: exp.Select, types: Types) -> Iterator[exp.Expr]:
    """The aggregates in a query, without its subqueries, that return one of several equal values."""
    for node in select.walk(prune=lambda each: isinstance(each, exp.Query) and each is not select):
        if isinstance(node, exp.Anonymous) and node.name.lower() in functions.OF_EQUAL and node.expressions:
            is_computed = is_aggregate(node) or window_of(node) is not None
            ordered = node.parent.find_all(exp.Ordered) if isinstance(node.parent, exp.WithinGroup) else ()
            values = [*node.expressions, *(each.this for each in ordered)]
            if is_computed and any(may_differ(each, types) for each in values):
                yield node


def shown(node: exp.Expr, top: exp.Expr) -> Shown:
    """What an expression shows of a value within it. ``top``: the expression, or a clause."""
    while node is not top:
        above = node.parent
        assert above is not None
        if not isinstance(above, _BINARY) and _is_text(above):
            return Shown.DIFFERENCE
        if isinstance(above, (*_BINARY, exp.Between, exp.In, exp.Exists)):
            return Shown.NOTHING
        if not _keeps_equal(above):
            return Shown.DIFFERENCE
        node = above
    return Shown.EQUAL


def _is_text(node: exp.Expr) -> bool:
    """Whether an expression of numbers and text, such as ``coalesce(x, 'none')`` or IN, may convert numbers to text."""
    return any(isinstance(each, exp.Literal) and each.is_string for each in node.iter_expressions())


def _keeps_equal(node: exp.Expr) -> bool:
    """Whether an expression of equal values returns equal values."""
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return str(node.to.this.value).lower() in _NUMBERS
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in functions.EQUAL_OF_EQUAL
    return isinstance(node, (*_CLAUSES, *_OPERATORS))


def may_differ(value: exp.Expr, types: Types) -> bool:
    """Whether equal values of an expression may differ, as far as its type or those of its columns are known."""
    type_ = types.of(value)
    if type_ is not None:
        return not tells_apart(type_)
    columns = map(types.of, value.find_all(exp.Column))
    return any(each is not None and not tells_apart(each) for each in columns)

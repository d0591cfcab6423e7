"""Aggregates whose new values can be computed from the old values and the added and removed rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from ..text.supported import is_aggregate, is_of_row
from ..text.types import tells_apart

_FIRST_VALUE = ("coalesce", "ifnull", "nvl")
_WITH_INT = 38 - 10
"""The maximum number of fractional digits of a decimal with 38 digits that must also hold any int."""


class Kind(Enum):
    """The kind of a measure."""

    SUM = "sum"
    SUM_OR_ZERO = "sum, 0 without values"
    COUNT = "count"
    MIN = "min"
    MAX = "max"

    @property
    def adds_up(self) -> bool:
        """Whether removed rows can be subtracted."""
        return self not in (Kind.MIN, Kind.MAX)


@dataclass(frozen=True)
class Measure:
    """An aggregate in a column of the result. ``value``: its argument; None if it counts rows.

    ``type``: the Spark type of the column. ``may_be_null``: whether ``value`` may be NULL.
    """

    column: str
    kind: Kind
    value: exp.Expr | None
    type: str
    may_be_null: bool

    @property
    def may_overflow(self) -> bool:
        """Whether the sum may be too large for its type. It is then NULL, unless ``spark.sql.ansi.enabled`` is set.

        Spark sums decimals of ``p`` digits with ``p + 10`` digits, but at most 38. Ten more digits are sufficient for
        the sum of 10 billion values. Sums of whole numbers wrap around, and so do sums of such sums.
        """
        return self.kind in (Kind.SUM, Kind.SUM_OR_ZERO) and self.type.startswith("decimal(38")


def measure_of(column: str, node: exp.Expr, type_: str) -> Measure | None:
    """A column of a result as a measure. None if it is not an aggregate, or cannot be updated from changed rows.

    ``type_``: the Spark type of the column.
    """
    node, or_zero = _without_default(node)
    condition = None
    if isinstance(node, exp.Filter):
        condition, node = node.expression.this, node.this
    if not is_aggregate(node) or len(node.expressions) != 1:
        return None
    name, value = node.name.lower(), node.expressions[0]
    if any(each is not None and (each.find(exp.Distinct) or not is_of_row(each)) for each in (value, condition)):
        return None
    counts_rows = isinstance(value, (exp.Star, exp.Literal))
    if not counts_rows and value.find(exp.Star) is not None:
        return None
    if condition is not None:
        true = exp.Literal.number(1) if counts_rows and name == "count" else value
        value, counts_rows = exp.Case(ifs=[exp.If(this=condition.copy(), true=true.copy())]), False
    if name == "count" and not or_zero:
        return Measure(column, Kind.COUNT, None if counts_rows else value, type_, not counts_rows)
    if name == "sum" and type_.startswith(("bigint", "decimal")) and not (or_zero and _may_be_rounded(type_)):
        return Measure(column, Kind.SUM_OR_ZERO if or_zero else Kind.SUM, value, type_, not _is_filled(value))
    if name in ("min", "max") and not or_zero and tells_apart(type_):
        return Measure(column, Kind(name), value, type_, True)
    return None


def _may_be_rounded(type_: str) -> bool:
    """Whether a decimal may have fewer digits than the sum, because it must also hold 0 as an int.

    An int has 10 digits before the point. Rounded partial sums do not add up to the total.
    """
    digits, _, scale = type_.removeprefix("decimal(").rstrip(")").partition(",")
    return digits == "38" and int(scale) >= _WITH_INT


def _without_default(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """An expression without the 0 that replaces NULL, and whether it had one."""
    if not isinstance(node, exp.Anonymous) or node.name.lower() not in _FIRST_VALUE or len(node.expressions) != 2:
        return node, False
    inner, default = node.expressions
    is_zero = isinstance(default, exp.Literal) and not default.is_string and default.name == "0"
    return (inner, True) if is_zero else (node, False)


def _is_filled(value: exp.Expr) -> bool:
    """Whether a value is known never to be NULL."""
    inner = value.unnest()
    if isinstance(inner, exp.Literal):
        return True
    if isinstance(inner, exp.Case):
        default = inner.args.get("default")
        return default is not None and all(
            map(_is_filled, [default, *(each.args["true"] for each in inner.args["ifs"])])
        )
    if not isinstance(inner, exp.Anonymous):
        return False
    if inner.name.lower() in _FIRST_VALUE:
        return any(map(_is_filled, inner.expressions))
    return inner.name.lower() == "if" and all(map(_is_filled, inner.expressions[1:]))

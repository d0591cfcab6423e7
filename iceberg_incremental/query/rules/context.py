"""Parts of the rules that need no changes: the partitions of windows, and the conditions for values in IN."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..algebra.nodes import Rows, Window
from ..states import State
from ..text.clock import marks_in
from ..text.supported import is_of_row
from ..text.types import Types, have_one_type


def whole_states(node: Rows, state: State) -> list[tuple[State, Rows]]:
    """All rows, in the states that are wanted."""
    return [(one, node) for one in state.each]


def partitions(node: Window) -> list[list[exp.Expr]]:
    """The PARTITION BYs of windows that have none in common, or the expressions that all of them have in common.

    A row can only be affected by rows of one of its partitions. One of the lists is empty if all rows are in one.
    """
    listed = list({tuple(each.args.get("partition_by") or ()): None for each in node.functions})
    common = [each for each in listed[0] if all(each in other for other in listed)]
    return [common] if common else [list(each) for each in listed]


def now(node: exp.Expr) -> exp.Expr:
    """An expression that reads the present clock, in SQL for any state."""
    found = exp.paren(node.copy())
    for each in marks_in(found):
        each.replace(exp.Var(this=f"{each.name.lower()}()"))
    return found.this


_Conditions = tuple[list[exp.Expr], "exp.Expr | None"]


def of_values(
    values: Sequence[exp.Expr], outputs: Sequence[exp.Expr], types: Types, *, must_be_true: bool
) -> list[_Conditions]:
    """The conditions under which changed rows affect the value of IN: those of the rows, and that of the row around it.

    ``values``: those of IN. ``outputs``: those of the changed rows. ``must_be_true``: whether only the rows matter for
    which IN is true.
    """
    pairs = list(zip(values, outputs, strict=True)) if len(values) == len(outputs) else []
    pairs = [pair for pair in pairs if all(map(is_of_row, pair))]
    one_type = all(have_one_type(types.of(mine), types.of(value)) for mine, value in pairs)
    if one_type and must_be_true:
        return [([_equal(mine, value) for mine, value in pairs], None)]
    if one_type and len(pairs) == 1:
        ((mine, value),) = pairs
        return [([_equal(mine, value)], None), ([_is_null(value)], None), ([], _is_null(mine))]
    # IN and = may convert values of different types in different ways
    return [([_not_different(mine, value) for mine, value in pairs], None)]


def _equal(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.paren(value.copy()), expression=exp.paren(other.copy()))


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(value.copy()), expression=exp.null())


def _not_different(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=exp.paren(_equal(value, other)), expression=exp.false()))

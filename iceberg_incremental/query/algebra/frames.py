"""The minimum and maximum of many preceding rows, as windows that Spark computes in linear time.

With ``ROWS BETWEEN 364 PRECEDING AND CURRENT ROW``, Spark aggregates all 365 rows of the frame for each row. Here, the
rows of a partition are numbered and divided into blocks of the frame's length. A frame then consists of the end of one
block and the start of the next one, whose extremes are those of growing frames (van Herk 1992; Gil and Werman 1993).
Spark sorts the rows twice more for this, which takes as long as frames of about 35 rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from ..text.types import Types, tells_apart
from . import nodes as op
from .nodes import Column, column

LEAST_ROWS = 64
"""The length of the shortest frame that is divided."""

_EXTREMES = {"max": "greatest", "min": "least"}
"""The functions that are divided, each with the function that combines the values of the two parts."""

_WITHOUT_FRAME = ("lag", "row_number")
_UP_TO_ROW = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")


@dataclass(frozen=True)
class _Long:
    """A minimum or maximum of a long frame. ``length``: its number of rows. ``last``: that of rows after its end."""

    window: exp.Window
    length: int
    last: int

    @property
    def name(self) -> str:
        return str(self.window.this.name).lower()


def with_short_frames(node: op.Result, subqueries: Mapping[str, op.Subquery], types: Types) -> op.Result:
    """The result without long frames of minimums and maximums. The same one if it has none.

    Frames in subqueries, and those whose values a subquery reads, are not changed.
    """
    return _Divided(subqueries, types).of(node)  # type: ignore[return-value] # a result


class _Divided:
    def __init__(self, subqueries: Mapping[str, op.Subquery], types: Types) -> None:
        self._types = types
        read = [op.read_columns(value, subqueries) for each in subqueries.values() for value in each.values]
        self._read = {alias for each in (*read, *(each.outer for each in subqueries.values())) for alias, _ in each}
        self._known: dict[op.Node, op.Node] = {}
        self._values: dict[Column, exp.Expr] = {}

    def of(self, node: op.Node) -> op.Node:
        """An operator with all below it. Equal operators stay one value."""
        if node not in self._known:
            found = op.with_expressions(op.with_children(node, self.of), self._replaced)
            self._known[node] = self._window(found) if isinstance(found, op.Window) else found
        return self._known[node]

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        def by_column(each: exp.Expr) -> exp.Expr:
            found = self._values.get((each.table, each.name)) if isinstance(each, exp.Column) else None
            return each if found is None else found.copy()

        reads = any((each.table, each.name) in self._values for each in node.find_all(exp.Column))
        return node.transform(by_column) if reads else node

    def _window(self, node: op.Window) -> op.Window:
        """Windows that number the rows, find the extremes from the start and the end of a block, and look back."""
        long = {at: each for at, window in enumerate(node.functions) if (each := self._long(window)) is not None}
        if not long or node.alias in self._read:
            return node
        functions = list(node.functions)
        of_blocks: list[exp.Window] = []
        looks_back: list[exp.Window] = []
        blocks, back = f"{node.alias}_blocks", f"{node.alias}_back"
        numbers: dict[exp.Window, exp.Expr] = {}
        for at, each in long.items():
            functions[at] = _over(exp.Anonymous(this="row_number"), each.window, each.window.args["order"])
            # windows of the same rows share a number, so that Spark sorts the rows once for all of them
            number = numbers.setdefault(functions[at], column((node.alias, f"w{at}")))
            first = exp.Sub(this=number.copy(), expression=exp.Literal.number(1))
            block = exp.IntDiv(this=exp.paren(first), expression=exp.Literal.number(each.length))
            start, end = (column((blocks, f"w{len(of_blocks) + place}")) for place in (0, 1))
            for is_descending in (False, True):
                order = exp.Order(expressions=[_ordered(number, is_descending=is_descending)])
                of_blocks.append(_over(each.window.this, each.window, order, block))
            # the frame of a row starts ``length - 1`` rows before its last row, in the block before or in its own one
            order = exp.Order(expressions=[_ordered(number)])
            parts = []
            for value, rows in ((start, each.last), (end, each.last + each.length - 1)):
                parts.append(column((back, f"w{len(looks_back)}")) if rows else value)
                if rows:
                    call = exp.Anonymous(this="lag", expressions=[value, exp.Literal.number(rows)])
                    looks_back.append(_over(call, each.window, order))
            both = exp.Anonymous(this=_EXTREMES[each.name], expressions=parts)
            self._values[node.alias, f"w{at}"] = both
        numbered = replace(node, functions=tuple(functions))
        return op.Window(op.Window(numbered, blocks, tuple(of_blocks)), back, tuple(looks_back))

    def _long(self, window: exp.Window) -> _Long | None:
        """The long frame of a minimum or maximum. None for other functions, frames, and values that may differ."""
        call, frame = window.this, window.args.get("spec")
        if not isinstance(call, exp.Anonymous) or call.name.lower() not in _EXTREMES or frame is None:
            return None
        if str(frame.args.get("kind")).upper() != "ROWS" or window.args.get("order") is None:
            return None
        first, last = rows_before(frame, "start"), rows_before(frame, "end")
        if first is None or last is None or first - last + 1 < LEAST_ROWS or len(call.expressions) != 1:
            return None
        (value,) = call.expressions
        return _Long(window, first - last + 1, last) if tells_apart(self._types.of(value)) else None


def rows_before(frame: exp.Expr, end: str) -> int | None:
    """The number of rows between an end of a frame and the row. None if they follow the row, or are not constant."""
    value = frame.args.get(end)
    if value is None or str(value).upper() == "CURRENT ROW":
        return 0
    is_back = str(frame.args.get(f"{end}_side")).upper() == "PRECEDING"
    return int(value.name) if is_back and isinstance(value, exp.Literal) and value.is_int else None


def _ordered(number: exp.Expr, *, is_descending: bool = False) -> exp.Ordered:
    return exp.Ordered(this=number.copy(), desc=is_descending, nulls_first=not is_descending)


def _over(call: exp.Expr, window: exp.Window, order: exp.Expr, *more: exp.Expr) -> exp.Window:
    """A function over the partitions of a window, in an order. ``more``: expressions that divide the partitions."""
    parts = [each.copy() for each in (*(window.args.get("partition_by") or ()), *more)]
    frame = None if call.name.lower() in _WITHOUT_FRAME else _UP_TO_ROW.copy()
    return exp.Window(this=call.copy(), partition_by=parts, order=order.copy(), spec=frame, over="OVER")

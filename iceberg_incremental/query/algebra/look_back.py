"""Windows that read no rows after their own, such as running totals, moving averages and ``lag()``.

A row that is sorted before all changed rows of its partition has the same frame in both states. If rows are appended in
the order of the windows, only the new rows are affected, instead of all rows of their partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ..states import Keys
from ..text import functions
from ..text.supported import call_of, is_of_row, name_of
from ..text.types import Types, tells_apart
from . import nodes as op
from .frames import rows_before
from .nodes import column

_RANKS = ("dense_rank", "rank", "row_number")
_LEAST_READ = 48
"""The least number of rows that frames have in sum, so that it is cheaper to sort all rows once more to find them."""
_OF_FRAMES = functions.AGGREGATES | {"first_value", "last_value", "nth_value"}


@dataclass(frozen=True)
class LookBack:
    """Windows that only look back.

    ``partition``: what all of them have in common in PARTITION BY. ``by``: the first expression of their ORDER BY.
    ``reach``: the maximum number of rows before its own that a window reads. None if it is not limited. ``gains``:
    whether reading these rows alone is cheaper than reading all rows of a partition.
    """

    partition: tuple[exp.Expr, ...]
    by: exp.Expr
    is_descending: bool
    nulls_first: bool
    reach: int | None = None
    gains: bool = False

    @property
    def parts(self) -> tuple[exp.Expr, ...]:
        """The expressions of ``partition``, and ``by``."""
        return (*self.partition, self.by)

    def first(self, changed: op.Result, alias: str) -> op.Project:
        """The first value of each partition in the order, of the changed rows.

        ``changed``: its last column is the value of ``by`` in changed rows, after those of PARTITION BY. ``alias``: a
        new alias. NULL stands for no value if NULLs are the last values, and for the first one otherwise.
        """
        *names, by = op.names_of(changed)
        value = column((alias, by))
        end = exp.Anonymous(this="max" if self.is_descending else "min", expressions=[value])
        nulls = exp.Anonymous(this="count_if", expressions=[exp.Is(this=value.copy(), expression=exp.null())])
        groups = f"{alias}_groups"
        rows: op.Rows
        rows = op.Group(op.Alias(changed, alias), groups, tuple(column((alias, each)) for each in names), (end, nulls))
        if not names:  # without changed rows, a group of all rows would have NULL, which may stand for the first value
            count = exp.Anonymous(this="count", expressions=[exp.Star()])
            rows = replace(rows, measures=(*rows.measures, count))
            rows = op.Filter(rows, exp.GT(this=column((groups, "m2")), expression=exp.Literal.number(0)))
        first: exp.Expr = column((groups, "m0"))
        if self.nulls_first:
            has_nulls = exp.GT(this=column((groups, "m1")), expression=exp.Literal.number(0))
            first = exp.Anonymous(this="if", expressions=[has_nulls, exp.null(), first])
        keys = [(name, column((groups, f"g{at}"))) for at, name in enumerate(names)]
        return op.Project(rows, (*keys, (by, first)))

    @property
    def reversed(self) -> exp.Ordered:
        """``by`` in the opposite order."""
        return exp.Ordered(this=self.by.copy(), desc=not self.is_descending, nulls_first=not self.nulls_first)

    def is_same_partition(self, alias: str) -> list[exp.Expr]:
        """The conditions that a row is in the partition of a row as in ``first``."""
        return [exp.NullSafeEQ(this=exp.paren(each.copy()), expression=column((alias, f"k{at}")))
                for at, each in enumerate(self.partition)]  # fmt: skip

    def is_affected(self, first: exp.Expr) -> exp.Expr:
        """The condition that a row is sorted at or after a value as in ``first``."""
        compared = exp.LTE if self.is_descending else exp.GTE
        missing = first if self.nulls_first else self.by
        return exp.or_(
            exp.Is(this=exp.paren(missing.copy()), expression=exp.null()),
            compared(this=exp.paren(self.by.copy()), expression=first.copy()),
        )


def reads(parts: Iterable[exp.Expr], node: op.Window) -> bool:
    """Whether some expressions read the value of a window function."""
    return any(each.table == node.alias for part in parts for each in part.find_all(exp.Column))


def without_windows(node: op.Scan | op.Alias, names: Collection[str]) -> op.Scan | op.Alias:
    """A relation with some of its columns, without windows whose values none of these columns have."""
    select = node.child if isinstance(node, op.Alias) else None
    if not isinstance(node, op.Alias) or not isinstance(select, op.Project) or not isinstance(select.child, op.Window):
        return node
    outputs = tuple((name, each) for name, each in select.outputs if name in names)
    if reads([each for _, each in outputs], select.child):
        return node
    return replace(node, child=replace(select, child=select.child.child, outputs=outputs))


def within_reach(node: op.Window, wanted: Sequence[tuple[exp.Expr, str]], keys: Keys, types: Types) -> op.Window:
    """Windows over the rows that they read for some keys, if it is cheaper to find these first.

    The rows of a table are then read twice: first the columns of PARTITION BY and ORDER BY, which show the first row
    that is needed of each partition. ``wanted``: expressions over the rows below, with the key columns whose values
    they have.
    """
    back = look_back(node, types)
    names = dict(wanted)
    if back is None or back.reach is None or not back.gains or not {*back.parts} <= names.keys():
        return node
    if not _is_of_table(node.child):
        return node
    view, firsts, near, needed = (f"{node.alias}_{name}" for name in ("keys", "firsts", "near", "needed"))
    parts = back.parts
    of_keys = op.Project(
        op.View(keys.view, view, tuple(names[each] for each in parts)),
        tuple((f"k{at}", column((view, names[each]))) for at, each in enumerate(parts)),
    )
    first = op.Alias(back.first(of_keys, f"{firsts}_of"), firsts)
    rows = op.Join("inner", node.child, first, op.all_of(back.is_same_partition(firsts)))
    before = op.Filter(rows, exp.not_(_is_true(back.is_affected(column((firsts, f"k{len(back.partition)}"))))))
    order = exp.Order(expressions=[back.reversed])
    number = exp.Window(
        this=exp.Anonymous(this="row_number"),
        partition_by=[each.copy() for each in back.partition],
        order=order,
        spec=None,
        over="OVER",
    )
    is_near = exp.LTE(this=column((near, "w0")), expression=exp.Literal.number(back.reach))
    of_near = op.Project(
        op.Filter(op.Window(before, near, (number,)), is_near),
        tuple((f"k{at}", each) for at, each in enumerate(parts)),
    )
    needed_first = op.Alias(back.first(op.Union((of_keys, of_near)), f"{needed}_of"), needed)
    is_needed = [*back.is_same_partition(needed), back.is_affected(column((needed, f"k{len(back.partition)}")))]
    return replace(node, child=op.Join("inner", node.child, needed_first, op.all_of(is_needed)))


def _is_of_table(node: op.Rows) -> bool:
    """Whether rows are those of one table, which can be read twice without computing anything twice."""
    while isinstance(node, (op.Filter, op.Keyed)):
        node = node.child
    return isinstance(node, op.Scan)


def _is_true(condition: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="coalesce", expressions=[exp.paren(condition), exp.false()])


def partitions(node: op.Window) -> list[list[exp.Expr]]:
    """The PARTITION BYs of windows that have none in common, or the expressions that all of them have in common.

    A row can only be affected by rows of one of its partitions. One of the lists is empty if all rows are in one.
    """
    listed = list({tuple(each.args.get("partition_by") or ()): None for each in node.functions})
    common = [each for each in listed[0] if all(each in other for other in listed)]
    return [common] if common else [list(each) for each in listed]


def look_back(node: op.Window, types: Types) -> LookBack | None:
    """The common order of windows that only look back. None if one of them does not, or if their orders differ.

    ``types``: those of the rows. The values of an order must be comparable in the same way as they are sorted.
    """
    orders = [each.args.get("order") for each in node.functions]
    firsts = [None if each is None else each.expressions[0] for each in orders]
    first = firsts[0]
    if first is None or any(each != first for each in firsts) or len(partitions(node)) > 1:
        return None
    if not all(map(_looks_back, node.functions)):
        return None
    if not is_of_row(first.this) or not tells_apart(types.of(first.this)):
        return None
    partition = tuple(partitions(node)[0])
    is_one_order = all(each == orders[0] for each in orders) and all(
        len(each.args.get("partition_by") or ()) == len(partition) for each in node.functions
    )
    is_descending, nulls_first = bool(first.args.get("desc")), bool(first.args.get("nulls_first"))
    reaches = [_reach(each) for each in node.functions]
    known = [each for each in reaches if each is not None]
    if not is_one_order or len(known) < len(reaches):
        return LookBack(partition, first.this, is_descending, nulls_first)
    return LookBack(partition, first.this, is_descending, nulls_first, max(known), sum(known) >= _LEAST_READ)


def order_of_rows(select: op.Project, types: Types, read: Sequence[exp.Expr] = ()) -> exp.Expr | None:
    """The order by which a SELECT's affected rows can be told from others of their partition. None if they cannot.

    ``read``: the conditions over its outputs that choose among its rows. One that reads a window function, such as that
    its row number is 1, leaves few rows of each partition.
    """
    if not isinstance(select.child, op.Window) or reads(read, select.child):
        return None
    found = look_back(select.child, types)
    return None if found is None else found.by


def _reach(window: exp.Window) -> int | None:
    """The number of rows before its own that a window function reads at most. None if it is not limited."""
    call, frame = call_of(window), window.args.get("spec")
    if name_of(window) == "lag":
        ignores_nulls = window.find(exp.IgnoreNulls) is not None
        return None if ignores_nulls else int(call.expressions[1].name) if len(call.expressions) > 1 else 1
    is_of_rows = frame is not None and str(frame.args.get("kind")).upper() == "ROWS"
    return rows_before(frame, "start") if is_of_rows and frame is not None else None


def _looks_back(window: exp.Window) -> bool:
    """Whether a window function reads no row that is sorted after its own, except for equal ones."""
    name, call, frame = name_of(window), call_of(window), window.args.get("spec")
    if name in _RANKS:
        return True
    if name == "lag":
        offset = call.expressions[1] if len(call.expressions) > 1 else exp.Literal.number(1)
        return isinstance(offset, exp.Literal) and offset.is_int
    return name in _OF_FRAMES and (frame is None or rows_before(frame, "end") is not None)

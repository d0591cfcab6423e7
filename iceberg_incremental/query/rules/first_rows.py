"""Whether a change may alter the rows that LIMIT at the end of a query returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ...names import sql_name
from ..algebra import nodes as op
from ..states import KeyView, State
from ..text.clock import marks_in
from ..text.dialect import PlainSpark
from .run import Run


@dataclass(frozen=True)
class FirstRows:
    """``sql``: returns whether changes may alter the rows of a LIMIT. ``views``: those that it reads."""

    views: Sequence[KeyView]
    sql: str


def is_comparable(limit: op.Limit) -> bool:
    """Whether the order of a LIMIT only reads the columns of its result, as far as the table has them."""
    return isinstance(limit.child, op.Sort) and isinstance(limit.count, exp.Literal) and _order(limit.child) is not None


def changed_rows(changes: Run, limit: op.Limit) -> list[op.Result]:
    """The changed rows below a LIMIT, in both states."""
    assert isinstance(limit.child, op.Sort)
    found = [changes.changed(limit.child.child, each) for each in State.BOTH.each]
    return [each for each in found if each is not None]


def first_rows(changes: Run, limit: op.Limit, table: str) -> FirstRows:
    """Compare the changed rows with a table that has the rows of a comparable LIMIT.

    The table keeps its rows if all changed rows, in both states, come after its last row in the order, which includes
    all columns.
    """
    assert isinstance(limit.child, op.Sort)
    assert limit.count is not None
    listed = ", ".join(map(sql_name, op.names_of(limit)))
    rows = [f"select {listed}, 0 as ip_changed from {table}"]
    rows += [f"select *, 1 as ip_changed from ({changes.sql(each)})" for each in changed_rows(changes, limit)]
    united = "\nunion all\n".join(rows)
    # a changed row that is equal in the order counts as one before the last row
    orders = f"{_order(limit.child)}, ip_changed desc"
    first = f"select * from (\n{united}\n) order by {orders} limit {limit.count.name}"
    return FirstRows(changes.views, f"select count(*) < {limit.count.name} or max(ip_changed) > 0 from ({first})")


def _order(sort: op.Sort) -> str | None:
    """The order over the columns of the result. None if it reads other values."""
    ((clause, by),) = sort.by
    outputs = sort.child.outputs if isinstance(sort.child, op.Project) else ()
    # a number stands for a column
    values = {each: exp.column(name, quoted=True) for name, each in outputs if each.find(exp.Column) is not None}
    order = [each.transform(lambda node: values[node].copy() if node in values else node) for each in by]
    is_all = any(isinstance(each.this, exp.Var) for each in order)  # ORDER BY ALL would include ``ip_changed``
    reads_clock = any(map(marks_in, order))  # at another time, it is another order
    if (
        clause != "order"
        or is_all
        or reads_clock
        or any(column.table for each in order for column in each.find_all(exp.Column))
    ):
        return None
    return ", ".join(each.sql(PlainSpark) for each in order)

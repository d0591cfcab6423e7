"""How many times the SQL of a tree reads each table as a whole, which determines the cost of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sqlglot import exp

from ..algebra import nodes as op


def scans(nodes: Iterable[op.Node], subqueries: Mapping[str, op.Subquery]) -> Counter[str]:
    """The number of times that operators read each table as a whole, by the table's name in the query."""
    found: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, op.Scan):
            found[node.table] += 1
        elif not isinstance(node, op.Delta) and not (isinstance(node, op.Filter) and node.condition == exp.false()):
            below = scans(op.children_of(node), subqueries)
            names = [name for each in op.expressions_of(node) for name in op.subqueries_in(each)]
            below += scans((subqueries[name].query for name in names), subqueries)
            found += below + below if isinstance(node, op.Differing) else below
    return found

"""How many times the SQL of a tree reads each table as a whole, which determines the cost of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sqlglot import exp

from ..algebra.nodes import (
    Delta,
    Differing,
    Filter,
    Node,
    Scan,
    Subquery,
    children_of,
    expressions_of,
    subqueries_in,
)


def scans(nodes: Iterable[Node], subqueries: Mapping[str, Subquery]) -> Counter[str]:
    """The number of times that operators read each table as a whole, by the table's name in the query."""
    found: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, Scan):
            found[node.table] += 1
        elif not isinstance(node, Delta) and not (isinstance(node, Filter) and node.condition == exp.false()):
            below = scans(children_of(node), subqueries)
            names = [name for each in expressions_of(node) for name in subqueries_in(each)]
            below += scans((subqueries[name].query for name in names), subqueries)
            found += below + below if isinstance(node, Differing) else below
    return found

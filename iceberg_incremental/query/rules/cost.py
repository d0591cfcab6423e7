"""How many times the SQL of a tree reads each table as a whole, which determines the cost of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sqlglot import exp

from ..algebra import nodes as op


def scans(
    nodes: Iterable[op.Node],
    subqueries: Mapping[str, op.Subquery],
    known: dict[op.Node, Counter[str]] | None = None,
) -> Counter[str]:
    """The number of times that operators read each table as a whole, by the table's name in the query.

    ``known``: those of other operators, to which those of these are added.
    """
    known = {} if known is None else known

    def of(node: op.Node) -> Counter[str]:
        if node not in known:
            below = [*op.children_of(node), *(subqueries[name].query for name in op.subqueries_of(node))]
            known[node] = Counter()
            match node:
                case op.Scan():
                    known[node] = Counter([node.table])
                case op.Filter() if node.condition == exp.false():
                    pass
                case _:
                    for each in below * (2 if isinstance(node, op.Differing) else 1):
                        known[node] += of(each)
        return known[node]

    return sum(map(of, nodes), Counter())

"""The operators of a query, and how a run finds the rows of each that a change of its tables can affect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

from ..algebra import nodes as op
from ..algebra.nodes import SUBQUERY
from ..states import State
from ..text.dialect import PlainSpark
from .cost import scans
from .run import Run

How: TypeAlias = Literal["incremental", "grouped", "compared", "opaque"]
"""``incremental``: from changed rows. ``grouped``: groups, partitions or values with a changed row. ``compared``: all
rows are computed in both states and compared by value. ``opaque``: all rows count as changed.
"""

_MOST_TEXT = 100


@dataclass(frozen=True)
class Operator:
    """An operator of a query. ``text``: its SQL. ``tables``: those that it reads, by their names in the tree.

    ``scans``: how many times finding its changed rows reads each of them as a whole.
    """

    name: str
    text: str
    how: How
    tables: tuple[str, ...]
    scans: Mapping[str, int]
    inputs: tuple[Operator, ...]

    def walk(self) -> Iterable[Operator]:
        """The operator, and all below it."""
        yield self
        for each in self.inputs:
            yield from each.walk()


def operators(changes: Run, *, of_root: How | None, counts_scans: bool) -> tuple[Operator, ...]:
    """The operators of a query that decide about its changed rows. SELECT lists and aliases are left out.

    ``changes``: those of a run in which all tables have changed. ``of_root``: how the last groups or windows, or the
    LIMIT, of the query are updated. None if as they would be in a part of it. ``counts_scans``: whether to count the
    scans, for which the changed rows of each operator are derived.
    """
    return tuple(_Operators(changes, of_root, counts_scans).of(changes.tree.root, None))


class _Operators:
    def __init__(self, changes: Run, of_root: How | None, counts_scans: bool) -> None:
        self._changes = changes
        self._counts_scans = counts_scans
        self._of_root = of_root
        self._seen: set[op.Node] = set()
        self._values: dict[op.Column, exp.Expr] = {}
        self._names: dict[str, str] = {}
        self._known: dict[op.Node, Counter[str]] = {}

    def of(self, node: op.Node, select: op.Project | None, *, in_subquery: bool = False) -> list[Operator]:
        """The operators of a tree. ``select``: the SELECT above rows.

        ``in_subquery``: whether the operator is in the last SELECT of a subquery. Its value is not computed to find
        changed rows: they are the rows around it that changed rows below its groups and LIMIT reach.
        """
        if isinstance(node, op.Alias) and node.child in self._seen:
            return [Operator("again", "a part that is already listed", "incremental", (), {}, ())]
        self._seen |= {node.child} if isinstance(node, op.Alias) else set()
        own = node if isinstance(node, op.Project) else select
        inside = in_subquery and not isinstance(node, op.Alias)
        inputs = [found for child in op.children_of(node) for found in self.of(child, own, in_subquery=inside)]
        if isinstance(node, op.Scan):
            self._names[node.alias] = self._changes.tree.tables[node.table].name
        if isinstance(node, op.Group):
            columns = op.columns_of(node)
            self._values |= dict(zip(columns, (*node.keys, *node.measures), strict=True))
        if isinstance(node, op.Window):
            self._values |= {(node.alias, f"w{at}"): each for at, each in enumerate(node.functions)}
        for name in op.subqueries_of(node):
            found = self._changes.tree.subqueries[name]
            within = self.of(found.query, None, in_subquery=True)
            inputs.append(self._operator(f"subquery ({found.kind})", "", "incremental", found.query, within))
        named = self._named(node)
        how: How = "incremental" if in_subquery else self._how(node, select)
        return inputs if named is None else [self._operator(*named, how, node, inputs)]

    def _operator(self, name: str, text: str, how: How, node: op.Node, inputs: Sequence[Operator]) -> Operator:
        below = op.all_nodes(node, self._changes.tree.subqueries)
        tables = tuple(dict.fromkeys(each.table for each in below if isinstance(each, op.Scan)))
        short = text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."
        read = self._scans(node) if self._counts_scans else {}
        return Operator(name, short, how, tables, read, tuple(inputs))

    def _scans(self, node: op.Node) -> Mapping[str, int]:
        changes = self._changes
        if isinstance(node, op.Result):
            one = changes.changed(node, State.BOTH)
            wanted: list[op.Node] = [] if one is None else [one]
        else:
            wanted = [rows for _, rows in changes.variants(node, State.BOTH)]
        views = dict(changes.queries_by_view)
        found: Counter[str] = Counter()
        while wanted:
            found += scans(wanted, changes.tree.subqueries, self._known)
            nodes = [each for one in wanted for each in op.all_nodes(one, changes.tree.subqueries)]
            read = [each.name if isinstance(each, op.View) else each.keys.view for each in nodes
                    if isinstance(each, (op.View, op.Keyed))]  # fmt: skip
            wanted = [views.pop(name) for name in dict.fromkeys(read) if name in views]
        return found

    def _how(self, node: op.Node, select: op.Project | None) -> How:
        match node:
            case op.Distinct() | op.SetOperation():
                return "grouped"
            case op.Group() if node.keys:
                return "grouped"
            case op.Window() if not self._changes.is_total(node):
                return "grouped"
            case op.Group() | op.Window() | op.Limit() | op.Opaque():
                result = node if isinstance(node, (op.Limit, op.Opaque)) else select
                if self._of_root is not None and result in self._of_last():
                    return self._of_root
                return "compared" if result is not None and self._changes.can_compare(result) else "opaque"
            case _:
                return "incremental"

    def _of_last(self) -> list[op.Node]:
        """The results of the query itself, from the last one to its SELECT."""
        found: list[op.Node] = [self._changes.tree.root]
        while isinstance(found[-1], (op.Sort, op.Distinct, op.Limit)):
            found.append(found[-1].child)
        return found

    def _named(self, node: op.Node) -> tuple[str, str] | None:  # noqa: C901 (one case per operator)
        match node:
            case op.Scan():
                return "scan", ""
            case op.Values():
                return "values", ""
            case op.Filter():
                return "filter", self._text([node.condition])
            case op.Join():
                kind = "cross join" if node.on is None and node.kind == "inner" else f"{node.kind} join"
                return kind, "" if node.on is None else self._text([node.on])
            case op.Generate():
                is_subquery = bool(op.subqueries_in(node.call))
                kind = "lateral join" if is_subquery else "generate"
                return f"outer {kind}" if node.outer else kind, "" if is_subquery else self._text([node.call])
            case op.Group():
                kind = "group" if node.sets is None else "grouping sets"
                return (kind, self._text(node.keys)) if node.keys else ("total", self._text(node.measures))
            case op.Window():
                return "window", self._text(node.functions)
            case op.Distinct():
                return "distinct", ""
            case op.Union():
                return "union", ""
            case op.SetOperation():
                return f"{node.kind} all" if node.all else node.kind, ""
            case op.Limit():
                parts = {"limit": node.count, "offset": node.offset}
                return "limit", " ".join(f"{name} {self._text([each])}" for name, each in parts.items() if each)
            case op.Opaque():
                return "opaque", str(node.because)
            case op.Project() | op.Alias() | op.Sort() | op.One():
                return None
            case op.View() | op.Keyed() | op.Delta() | op.RowsInState() | op.InState() | op.Differing():
                return None  # those of a run

    def _text(self, parts: Sequence[exp.Expr]) -> str:
        return ", ".join(each.transform(self._readable).sql(PlainSpark) for each in parts)

    def _readable(self, node: exp.Expr) -> exp.Expr:
        """An expression with the names of tables, and with the expressions of groups and windows."""
        if not isinstance(node, exp.Column):
            return node
        if node.table == SUBQUERY:
            return exp.Var(this="(subquery)")
        found = self._values.get((node.table, node.name))
        return exp.column(node.name, self._names.get(node.table)) if found is None else found.transform(self._readable)

"""How a model's SQL uses the changes that it captures, from the tree of its query.

A strategy that replaces rows of the table is wrong for values that depend on the other rows of the same run. For
example, the count of the new rows would replace the count of all rows. This module determines whether such a value is
written. It follows each relation from the FROM clause to the model's table. Changes that only filter other relations do
not count, such as a subquery of a WHERE clause, the right side of a semi join, or distinct keys that are joined with a
whole table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from sqlglot import exp

from iceberg_incremental.plan.ranges import CHANGE_SIGN, CHANGE_TYPE
from iceberg_incremental.query.algebra import nodes as op
from iceberg_incremental.query.algebra.flow import Flow, level_nodes
from iceberg_incremental.query.algebra.names import ANY_OF, EITHER, OPEN
from iceberg_incremental.query.algebra.tree import Tree
from iceberg_incremental.query.any_sql import TEXT, any_tree
from iceberg_incremental.query.text import functions
from iceberg_incremental.query.text.supported import call_of, name_of
from iceberg_incremental.table.history import TableName

from .captured import SIGNED, Captured, Total, Use

_CHOOSING = frozenset(("any_value", "first", "first_value", "last", "last_value", "max_by", "min_by", "nth_value"))
"""Functions that return the value of one row. They choose among the versions of a row, like ``row_number()``."""
_OF_WINDOWS = functions.EXACT_IN_WINDOWS | functions.INEXACT_IN_WINDOWS
_OF_SEVERAL = (functions.AGGREGATES | functions.UNSUPPORTED_AGGREGATES | _OF_WINDOWS) - _CHOOSING
"""Functions whose values depend on several rows, or on the place of a row among all rows."""


def use_of(sql: str, given: Mapping[str, Collection[Captured]], own: TableName) -> Use | None:
    """How a compiled query uses its captured changes. None if it cannot be parsed.

    ``given``: the captures of the macros, by the text that they add to the query. A text that represents both changes
    and a whole table, such as that of no rows, counts as a whole table. ``own``: the model's table.
    """
    texts = sorted(given, key=len, reverse=True)  # a text may be part of a longer one
    names = {text: f"_ip_captured_{number}" for number, text in enumerate(texts)}
    pattern = "|".join(map(re.escape, texts))
    try:
        tree = any_tree(re.sub(pattern, lambda found: names[str(found.group())], sql), {})
    except Exception:  # noqa: BLE001 (if the parser fails, Spark still checks the SQL)
        return None
    return None if tree is None else _Reader(tree, {names[text]: given[text] for text in texts}, _key(own)).use()


def _key(table: TableName) -> str:
    return f"{table.namespace}.{table.name}".casefold()


@dataclass(frozen=True)
class _Relation:
    """What rows consist of.

    ``changes``: the captured changes whose rows they contain, possibly filtered, joined, or reduced to the newest row
    of each key. ``keys``: the captured changes whose distinct values they contain. ``tables``: the whole tables.
    """

    changes: frozenset[Captured] = frozenset()
    keys: frozenset[Captured] = frozenset()
    tables: frozenset[str] = frozenset()

    def __or__(self, other: _Relation) -> _Relation:
        return _Relation(*map(or_, vars(self).values(), vars(other).values()))

    def within(self, join: _Relation) -> _Relation:
        """The relation in a join, in which changes only filter their own table, and distinct keys any table."""
        changes = frozenset(each for each in self.changes if _key(each.table) not in join.tables)
        return replace(self, changes=changes, keys=frozenset() if join.tables else self.keys)

    def distinct(self) -> _Relation:
        """Distinct values of the relation."""
        return replace(self, changes=frozenset(), keys=self.keys | self.changes)

    def filtered_by(self, other: _Relation) -> set[Captured]:
        """The changes of both relations, if the other one has changes of further tables. Empty otherwise."""
        tables = {_key(each.table) for each in self.changes}
        is_further = any(_key(each.table) not in tables for each in other.changes)
        return {*self.changes, *other.changes} if self.changes and is_further else set()


class _Reader:
    """Reads how the tree of a query uses its captures."""

    def __init__(self, tree: Tree, captured: Mapping[str, Collection[Captured]], own: str) -> None:
        """``captured``: the captures, by the name that represents them. ``own``: the model's table."""
        self._tree = tree
        self._flow = Flow(tree)
        self._captured = captured
        self._own = own
        filters = [each for each in self._flow.nodes if isinstance(each, (op.Filter, op.Join))]
        self._conditions = [condition for each in filters for condition in op.expressions_of(each)]
        self._filtering = self._flow.reached(self._conditions)
        self._relations: dict[op.Node, _Relation] = {}
        self._totals: dict[op.Column, Total | None] = {}

    def use(self) -> Use:
        """How the query uses its captures."""
        found, outputs = self._relation(self._tree.root), list(self._flow.outputs(self._tree.root, OPEN))
        totals = [total for select, each in outputs for total in (self._total(each), self._total_of_having(select))]
        stored = tuple(each for each in dict.fromkeys(totals) if each is not None)
        arrived = {*found.changes, *found.keys, *(each.captured for each in stored)}
        limits = [each for each in self._flow.nodes if isinstance(each, op.Limit) and each.count is not None]
        return Use(
            stored,
            self._own in found.tables,
            tuple(each for each in arrived - self._signed(outputs) if each.macro == SIGNED),
            _listed(map(self._joined, self._flow.nodes)),
            _listed(self._relation(each).changes for each in limits),
            any(map(self._has_watermark, self._flow.nodes)),
            any(map(_leaves_deletions_out, self._conditions)),
        )

    def _relation(self, node: op.Node) -> _Relation:
        if node not in self._relations:
            self._relations[node] = self._read(node)
        return self._relations[node]

    def _read(self, node: op.Node) -> _Relation:
        match node:
            case op.Scan():
                captured = frozenset(self._captured.get(node.table, ()))
                if captured and all(each.is_changes for each in captured):
                    return _Relation(changes=captured)
                return _Relation(tables=frozenset(_key(each.table) for each in captured) or frozenset((_name(node),)))
            case op.Project():
                rows, groups = self._relation(node.child), [e for e in level_nodes(node) if isinstance(e, op.Group)]
                measures = [(each, group) for group in groups for each in group.measures if not op.is_numbered(each)]
                is_total = groups and all(_sums_up(each, group) for each, group in measures)
                return rows.within(rows).distinct() if is_total else rows.within(rows)
            case op.Distinct(child=op.Project()):
                return self._relation(node.child).distinct()
            case op.SetOperation() | op.Join(kind="semi" | "anti"):
                return self._relation(node.left)
        parts = [*op.children_of(node), *(self._subqueries_in(node) if isinstance(node, op.Generate) else ())]
        return reduce(or_, map(self._relation, parts), _Relation())

    def _joined(self, node: op.Node) -> set[Captured]:
        """The changes of different tables that a SELECT joins, or of which others decide whether they are rows."""
        if isinstance(node, op.SetOperation):
            return self._relation(node.left).filtered_by(self._relation(node.right))
        if not isinstance(node, op.Project):
            return set()
        found, rows = set[Captured](), self._relation(node.child)
        for each in level_nodes(node.child):
            filters: list[op.Node] = list(self._subqueries_in(each))
            if isinstance(each, op.Join) and each.kind in ("semi", "anti"):
                filters.append(each.right)
            elif isinstance(each, op.Join) or (isinstance(each, op.Generate) and filters):
                sides = (each.left, each.right) if isinstance(each, op.Join) else (each.child, filters.pop(0))
                left, right = (self._relation(side).within(rows) for side in sides)
                found |= left.filtered_by(right) if right.filtered_by(left) else set()
            found = found.union(*(rows.within(rows).filtered_by(self._relation(other)) for other in filters))
        return found

    def _subqueries_in(self, node: op.Node) -> Iterator[op.Result]:
        """The queries in the expressions of an operator, and in those of these queries."""
        subqueries = self._tree.subqueries
        for name in op.subqueries_of(node):
            nodes = op.all_nodes(subqueries[name].query, subqueries)
            yield subqueries[name].query
            yield from (subqueries[inner].query for each in nodes for inner in op.subqueries_of(each))

    def _total(self, value: exp.Expr) -> Total | None:
        """The first expression over several changes in an expression. None without one."""
        columns = (each for each in value.dfs() if isinstance(each, exp.Column))
        return next(filter(None, map(self._total_of, columns)), None)

    def _total_of(self, column: exp.Column) -> Total | None:
        name = (column.table, column.name)
        if name not in self._totals:
            found = (self._total_in(name, *each) for each in self._flow.inputs(column))
            self._totals[name] = next(filter(None, found), None)
        return self._totals[name]

    def _total_in(self, name: op.Column, node: op.Node, value: exp.Expr) -> Total | None:
        is_written = isinstance(node, op.Group) or (isinstance(node, op.Window) and name not in self._filtering)
        if is_written and _sums_up(value, node):
            of_window = isinstance(value, exp.Window) and name_of(value) in _OF_WINDOWS
            captured = self._captured_by(value if of_window else call_of(value), node)
            if captured is not None:
                shown = value if isinstance(value, exp.Window) else call_of(value)
                return Total(shown.meta[TEXT], captured)
        return self._total(value) or (self._total_of_having(node) if isinstance(node, op.Project) else None)

    def _total_of_having(self, select: op.Project) -> Total | None:
        """The expression over several changes that decides which groups are rows. None without one."""
        filters = [each for each in level_nodes(select) if isinstance(each, op.Filter)]
        having = [each.condition for each in filters if isinstance(op.above_groups(each), op.Group)]
        return next(filter(None, map(self._total, having)), None)

    def _captured_by(self, value: exp.Expr, node: op.Node) -> Captured | None:
        """The changes that a function over the rows of an operator combines. None without any."""
        rows, found = self._relation(node), set[Captured | None]()
        columns = [(each, self._flow.owner(each)) for each in value.find_all(exp.Column)]
        known = [(each, owner) for each, owner in columns if owner is not None]
        for each, owner in known:
            if isinstance(owner, (op.Scan, op.Alias)):  # a name of their own reads also changes that only filter
                arrived, is_named = self._relation(owner), not _is_call(each.parent, EITHER)
                found |= arrived.within(arrived if is_named else rows).changes | arrived.within(rows).keys
            else:
                found |= {self._captured_by(inner, below) for below, inner in self._flow.inputs(each)}
        if not known:
            found |= rows.within(rows).changes | rows.within(rows).keys
        return min(filter(None, found), key=lambda each: (each.macro != SIGNED, str(each)), default=None)

    def _signed(self, outputs: Iterable[tuple[op.Node, exp.Expr]]) -> set[Captured]:
        """The signed changes whose sign the query returns or reads. ``outputs``: those of the result."""
        scans = {each.alias: self._relation(each).changes for each in self._flow.nodes if isinstance(each, op.Scan)}
        read = self._flow.reached(each for node in self._flow.nodes for each in op.expressions_of(node))
        if any(alias in scans and name.lower() == CHANGE_SIGN for alias, name in read):
            return set().union(*scans.values())
        if CHANGE_SIGN in map(str.lower, op.names_of(self._tree.root)):  # left out of *
            return set()
        stars = self._flow.reached(
            each for _, each in outputs if isinstance(each, exp.Column) and each.name in (OPEN, ANY_OF)
        )
        return {each for alias, name in stars if name in (OPEN, ANY_OF) for each in scans.get(alias, ())}

    def _has_watermark(self, node: op.Node) -> bool:
        """Whether a SELECT only reads changes above a maximum in the model's own table."""
        if not isinstance(node, op.Project):
            return False
        rows = self._relation(node.child)

        def is_changed(column: exp.Column) -> bool:
            owner = self._flow.owner(column)
            return isinstance(owner, (op.Scan, op.Alias)) and bool(self._relation(owner).within(rows).changes)

        filters = [each.condition for each in level_nodes(node) if isinstance(each, op.Filter)]
        for each in (each for condition in filters for each in op.conjuncts(condition)):
            if isinstance(each, (exp.GT, exp.GTE, exp.LT, exp.LTE)):
                is_less = isinstance(each, (exp.LT, exp.LTE))
                greater, lesser = (each.right, each.left) if is_less else (each.left, each.right)
                columns = list(greater.find_all(exp.Column))
                if columns and all(map(is_changed, columns)) and self._is_own_maximum(lesser):
                    return True
        return False

    def _is_own_maximum(self, value: exp.Expr) -> bool:
        """Whether a value is a maximum of the whole of the model's table, or another value if the table is empty."""
        value = next(iter(value.expressions), value) if _is_call(value, "coalesce") else value.unnest()
        if not isinstance(value, exp.Column) or value.table != op.SUBQUERY:
            return False
        nodes = op.all_nodes(self._tree.subqueries[value.name].query, self._tree.subqueries)
        groups = [each for each in nodes if isinstance(each, op.Group)]
        is_maximum = any(name_of(measure) == "max" and not each.keys for each in groups for measure in each.measures)
        tables = [_name(each) for each in nodes if isinstance(each, op.Scan)]
        return is_maximum and tables == [self._own] and not any(isinstance(each, op.Filter) for each in nodes)


def _listed(found: Iterable[Collection[Captured]]) -> tuple[Captured, ...]:
    """Captures without duplicates, in the order of their texts."""
    return tuple(sorted({captured for each in found for captured in each}, key=str))


def _name(scan: op.Scan) -> str:
    parts = scan.table.split(".")
    return ".".join(parts[1:] if len(parts) > 2 else parts).casefold()  # without the catalog


def _is_call(node: exp.Expr | None, *names: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in names


def _sums_up(value: exp.Expr, node: op.Node) -> bool:
    """Whether a value depends on several rows instead of choosing one row. ``node``: its operator.

    ``max(ts)`` next to ``max_by(v, ts)`` chooses the same row, and ``max(struct(ts, v))`` chooses a whole row.
    """
    name = name_of(value)
    if isinstance(node, op.Group) and name in ("max", "min"):
        arguments = call_of(value).expressions
        orders = [call_of(each).expressions[1:] for each in node.measures if name_of(each) == f"{name}_by"]
        return not (arguments in orders or any(_is_call(each, "struct", "named_struct") for each in arguments))
    return name in _OF_SEVERAL


def _leaves_deletions_out(condition: exp.Expr) -> bool:
    """Whether a condition on ``_change_type`` is false for deletions."""
    for each in condition.find_all(exp.EQ, exp.NEQ, exp.In):
        read = {column.name.lower() for column in each.this.find_all(exp.Column)}
        if read != {CHANGE_TYPE} or each.find_ancestor(exp.Or, exp.Case) is not None:
            continue
        values = each.expressions if isinstance(each, exp.In) else [each.expression]
        listed = any(isinstance(value, exp.Literal) and value.name.upper() == "DELETE" for value in values)
        negated = isinstance(each, exp.NEQ) != isinstance(each.parent, exp.Not)
        if bool(values) and listed is negated:
            return True
    return False

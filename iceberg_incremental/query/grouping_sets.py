"""Groups in a derived table of their own: those of several grouping sets, and those over which windows are computed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from itertools import count

from sqlglot import exp

from . import normal
from .reading import own_nodes
from .refusal import refused
from .stars import require_no_field_names
from .together import aggregates_of, windows_of

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_NUMBERED = ("grouping", "grouping_id")


def groups_apart(select: exp.Select, numbers: count[int]) -> None:
    """Compute the groups of a SELECT in a derived table, if it has several grouping sets, or windows over groups.

    Each grouping set is a branch of a UNION ALL, with NULL for the expressions by which it does not group. Raises
    Refusal.
    """
    sets = grouping_sets(select)
    if sets is None and not aggregates_of(select) and select.args.get("having") is None:
        return
    if sets is None and not windows_of(select):
        return
    if sets is None and (plain := normal.grouped_by(select)) is not None:
        sets = [plain]
    alias = f"ip_groups_{next(numbers)}"
    _Apart(select, sets or [[]], alias, has_sets=len(sets or ()) > 1 or _has_sets(select)).apply()


def grouping_sets(select: exp.Select) -> list[list[exp.Expr]] | None:
    """The grouping sets of a SELECT with ROLLUP, CUBE or GROUPING SETS, as lists of expressions. None without these.

    Several of them in one clause are multiplied.
    """
    group = select.args.get("group")
    if group is None or not _has_sets(select):
        return None
    plain = [each for each in group.expressions if not isinstance(each, _SETS)]
    written = [each for each in group.expressions if isinstance(each, _SETS)]
    later = [each for key in ("rollup", "cube", "grouping_sets") for each in group.args.get(key) or ()]
    factors = [[[value for each in plain for value in _values(each, select)]]]
    if later:  # GROUP BY a, b WITH ROLLUP, or GROUP BY a, b GROUPING SETS (…)
        factors = []
        written = [type(each)(expressions=each.expressions or plain) for each in later]
    factors += [_sets_of(each, select) for each in written]
    return [list(dict.fromkeys(itertools.chain(*each))) for each in itertools.product(*factors)]


def _has_sets(select: exp.Select) -> bool:
    group = select.args.get("group")
    return group is not None and (
        any(isinstance(each, _SETS) for each in group.expressions)
        or any(group.args.get(key) for key in ("rollup", "cube", "grouping_sets"))
    )


def _sets_of(node: exp.Expr, select: exp.Select) -> list[list[exp.Expr]]:
    listed = [_values(each, select) for each in node.expressions]
    if isinstance(node, exp.Rollup):
        return [list(itertools.chain(*listed[:length])) for length in range(len(listed), -1, -1)]
    if isinstance(node, exp.Cube):
        chosen = itertools.product((True, False), repeat=len(listed))
        return [list(itertools.chain(*itertools.compress(listed, each))) for each in chosen]
    found = []
    for each, values in zip(node.expressions, listed, strict=True):
        found += _sets_of(each, select) if isinstance(each, _SETS) else [values]
    return found


def _values(node: exp.Expr, select: exp.Select) -> list[exp.Expr]:
    """The expressions of an element of GROUP BY, with resolved ordinals."""
    inner = node.unnest()
    if isinstance(inner, exp.Tuple):
        return [value for each in inner.expressions for value in _values(each, select)]
    if isinstance(inner, exp.Literal) and not inner.is_string:
        inner = select.expressions[int(inner.name) - 1].unalias()
    return [] if isinstance(inner, _SETS) else [inner.copy()]


class _Apart:
    def __init__(self, select: exp.Select, sets: Sequence[Sequence[exp.Expr]], alias: str, *, has_sets: bool) -> None:
        self._select = select
        self._sets = sets
        self._alias = alias
        self._has_sets = has_sets
        self._groups = list(dict.fromkeys(itertools.chain(*sets)))
        if has_sets and any(each.find(exp.Column) is None for each in self._groups):
            raise refused("a constant in ROLLUP, CUBE or GROUPING SETS", select)
        self._measures = list(dict.fromkeys(map(_whole, aggregates_of(select))))
        listed = [node for part in normal.parts(select) for node in own_nodes(part)]
        self._numbered = list(dict.fromkeys(node for node in listed if has_sets and _is_numbered(node)))

    def apply(self) -> None:
        """Replace the FROM clause of the SELECT by the derived table, and read its columns."""
        select, inner = self._select, normal.alone(self._select)
        for each in (*self._groups, *self._measures):
            for column in each.find_all(exp.Column):
                require_no_field_names(column)
        branches = [self._branch(inner, each) for each in self._sets]
        query: exp.Query = branches[0]
        for branch in branches[1:]:
            query = exp.union(query, branch, distinct=False, copy=False)
        # a constant keeps its value everywhere, and may be one of a subquery
        names = {each: f"g{n}" for n, each in enumerate(self._groups) if each.find(exp.Column) is not None}
        names |= {each: f"m{number}" for number, each in enumerate(self._measures)}
        names |= {each: f"n{number}" for number, each in enumerate(self._numbered)}
        having = select.args.get("having")
        for each in [*select.expressions, *([] if having is None else [having])]:
            each.replace(self._renamed(each, names))
        having = select.args.get("having")
        for key in ("joins", "laterals", "where", "group", "having"):
            select.set(key, None)
        if having is not None:
            select.set("where", exp.Where(this=having.this))
        derived = exp.TableAlias(this=exp.to_identifier(self._alias, quoted=True))
        select.set("from_", exp.From(this=exp.Subquery(this=query, alias=derived)))

    def _renamed(self, node: exp.Expr, names: Mapping[exp.Expr, str]) -> exp.Expr:
        """An expression over the columns of the derived table.

        An aggregate in a subquery is one of the subquery, even if it looks like one of the SELECT.
        """

        def by_name(each: exp.Expr) -> exp.Expr:
            is_known = each in names and (each in self._groups or each.find_ancestor(exp.Query) is None)
            return exp.column(names[each], self._alias, quoted=True) if is_known else each

        return node.copy().transform(by_name)

    def _branch(self, inner: exp.Select, groups: Sequence[exp.Expr]) -> exp.Select:
        found = inner.copy()
        listed = [each.copy() if each in groups else exp.null() for each in self._groups]
        values = [exp.alias_(each, f"g{number}", quoted=True) for number, each in enumerate(listed)]
        values += [exp.alias_(each.copy(), f"m{n}", quoted=True) for n, each in enumerate(self._measures)]
        values += [
            exp.alias_(exp.Literal.number(self._number(each, groups)), f"n{number}", quoted=True)
            for number, each in enumerate(self._numbered)
        ]
        found.set("expressions", values)
        if groups:
            found.set("group", exp.Group(expressions=[each.copy() for each in groups]))
        elif self._has_sets:  # Spark returns no total of no rows
            found.set("having", exp.Having(this=exp.GT(this=_count(), expression=exp.Literal.number(0))))
        return found

    def _number(self, node: exp.Expr, groups: Sequence[exp.Expr]) -> int:
        """The value of ``grouping()`` or ``grouping_id()`` in a grouping set."""
        named = [each.unnest() for each in node.expressions] or self._groups
        return sum((each not in groups) << place for place, each in enumerate(reversed(named)))


def _count() -> exp.Expr:
    return exp.Anonymous(this="count", expressions=[exp.Star()])


def _is_numbered(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in _NUMBERED


def _whole(aggregate: exp.Expr) -> exp.Expr:
    """An aggregate with its FILTER and WITHIN GROUP."""
    node = aggregate
    while isinstance(node.parent, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)) and (
        node.parent.this is node
    ):
        node = node.parent
    return node

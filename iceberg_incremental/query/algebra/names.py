"""The resolution of names as in Spark: those of FROM, of the SELECT list, and of queries around a subquery.

Expressions have columns in the place of their subqueries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from sqlglot import exp

from ..text.refusal import Refusal, refused
from ..text.supported import is_aggregate
from . import nodes as op
from .nodes import SUBQUERY, Alias, Generate, Result, Scan, Values, column

_COMPARED = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In, exp.Values,
    exp.All, exp.Any, exp.Rollup, exp.Cube, exp.GroupingSets,
)  # fmt: skip
"""The nodes that compare or list tuples, so that the names of their fields do not matter."""
_MOST_QUALIFIERS = 3
OPEN = "*"
"""The name that stands for all columns of a relation whose columns are not known. ``any_sql`` has such relations."""
ANY_OF = ""
"""The name that stands for one of the columns of a relation."""
EITHER = "ip_either"
"""A call that stands for one of its arguments: the columns that a name may refer to."""

Visible = tuple[tuple[str, exp.Expr], ...]
"""The columns that a name can mean, in order."""


Ctes: TypeAlias = Mapping[str, tuple[Result, Sequence[str]]]
"""The CTEs in scope, with the names of their columns, by name in lower case."""


@dataclass(frozen=True)
class Source:
    """A relation of FROM. ``qualifier``: the parts of its name in lower case."""

    qualifier: tuple[str, ...]
    columns: Visible


@dataclass(frozen=True)
class Frame:
    """The relations of FROM. ``visible``: the columns without a qualifier, which ``*`` lists."""

    sources: tuple[Source, ...] = ()
    visible: Visible = ()

    @classmethod
    def of(cls, qualifier: tuple[str, ...], rows: Scan | Values | Alias | Generate, names: Sequence[str]) -> Frame:
        """The frame of one relation. ``names``: those of its columns in the query."""
        given = rows.names
        if len(names) != len(given):
            if OPEN not in given:
                raise _unresolved("a relation has another number of columns than of aliases")
            given = (ANY_OF,) * len(names)
        columns = tuple(zip(names, (column((rows.alias, name)) for name in given), strict=True))
        return cls((Source(qualifier, columns),), columns)

    def beside(self, other: Frame) -> Frame:
        """The frame of these relations and of others, as in a join."""
        return Frame((*self.sources, *other.sources), (*self.visible, *other.visible))

    def only(self, name: str) -> exp.Expr:
        """The column with a name, which USING needs."""
        found = self.find([name])
        if found is None:
            raise _unresolved(f"USING ({name})")
        return found

    def star(self, qualifier: Sequence[str]) -> Visible:
        """The columns of ``*``, or of ``t.*``."""
        if not qualifier:
            if not self.visible:
                raise _unresolved("* without relations")
            return self.visible
        wanted = tuple(each.lower() for each in qualifier)
        found = [each.columns for each in self.sources if each.qualifier[-len(wanted) :] == wanted]
        if len(found) != 1:
            raise _unresolved(f"{'.'.join(qualifier)}.*")
        return found[0]

    def named(self, name: str) -> list[exp.Expr]:
        """The columns of all relations with a name."""
        return [value for source in self.sources for each, value in source.columns if each.lower() == name.lower()]

    def find(self, parts: Sequence[str]) -> exp.Expr | None:
        """The column, or the field of a column, that the parts of a name refer to. None without one."""
        lower = [each.lower() for each in parts]
        for size in range(min(len(parts) - 1, _MOST_QUALIFIERS), -1, -1):
            qualifier, name, fields = tuple(lower[:size]), lower[size], parts[size + 1 :]
            if size:
                listed = [each.columns for each in self.sources if each.qualifier[-size:] == qualifier]
            else:
                listed = [self.visible]
            found = [value for columns in listed for each, value in columns if each.lower() == name]
            is_open = any(each == OPEN for columns in listed for each, _ in columns)
            if is_open and not found and (size or not fields):  # the first part may be the name of an outer relation
                found = [part_of(value, parts[size]) for columns in listed for each, value in columns if each == OPEN]
            if len(found) > 1 and not is_open:
                raise _unresolved(f"{'.'.join(parts)} is ambiguous")
            if found:
                return _field(either(found), fields)
        return None


@dataclass(frozen=True)
class Scope:
    """Where a name is resolved: in ``first``, in FROM, in ``later``, or in the query around it.

    ``first`` and ``later``: expressions of the SELECT list by name in lower case. ``first`` does not apply within
    aggregates. ``ctes``: the CTEs, by name.
    """

    frame: Frame
    outer: Scope | None
    ctes: Ctes
    first: Mapping[str, exp.Expr] = field(default_factory=dict)
    later: Mapping[str, exp.Expr] = field(default_factory=dict)


def either(values: Sequence[exp.Expr]) -> exp.Expr:
    """One of some expressions."""
    copies = [each.copy() for each in values]
    return copies[0] if len(copies) == 1 else exp.Anonymous(this=EITHER, expressions=copies)


def part_of(value: exp.Expr, name: str) -> exp.Expr:
    """The column with a name among those that an expression with ``OPEN`` stands for."""

    def with_name(node: exp.Expr) -> exp.Expr:
        is_open = isinstance(node, exp.Column) and node.name == OPEN
        return column((node.table, name)) if is_open else node  # type: ignore[attr-defined] # a column

    return value.transform(with_name)


def resolved(node: exp.Column, scope: Scope) -> exp.Expr:
    """The expression that a name refers to. Raises Refusal."""
    parts, within = [each.name for each in node.parts], scope
    is_in_aggregate, above = False, node.parent
    while above is not None:
        is_in_aggregate, above = is_in_aggregate or is_aggregate(above), above.parent
    while True:
        name = parts[0].lower() if len(parts) == 1 else ""
        if name in within.first and not is_in_aggregate:
            return within.first[name].copy()
        found = within.frame.find(parts)
        if found is not None:
            return found
        if name in within.later:
            value = within.later[name].copy()
            return exp.paren(value) if isinstance(value, (exp.Binary, exp.Unary)) else value
        if within.outer is None:
            return _field_of_open(node, parts, scope)
        within = within.outer


def _field_of_open(node: exp.Column, parts: Sequence[str], scope: Scope | None) -> exp.Expr:
    """The field of a column of the innermost relations whose columns are not known. Raises Refusal without any."""
    while scope is not None:
        found = [part_of(value, parts[0]) for name, value in scope.frame.visible if name == OPEN]
        if found:
            return _field(either(found), parts[1:])
        scope = scope.outer
    raise refused(f"names that cannot be resolved: {'.'.join(parts)}", node)


def _field(value: exp.Expr, fields: Sequence[str]) -> exp.Expr:
    for each in fields:
        value = exp.Dot(this=value, expression=exp.to_identifier(each, quoted=True))
    return value


def is_struct(node: exp.Expr) -> bool:
    """Whether a column is a field of ``struct(a, b)`` or ``(a, b)``, which has the name of the column."""
    call = _call_of(node)
    if not isinstance(call, exp.Tuple):
        return is_field_of(node, "struct")
    above = call.parent
    while isinstance(above, (exp.Tuple, exp.Paren)):
        above = above.parent
    return not isinstance(above, (*_COMPARED, exp.Group))


def is_field_of(node: exp.Expr, name: str) -> bool:
    """Whether a column is an argument of a function with a name."""
    call = _call_of(node)
    return isinstance(call, exp.Anonymous) and call.name.lower() == name


def _call_of(node: exp.Expr) -> exp.Expr | None:
    call = node.parent
    while isinstance(call, exp.Paren) and call.parent is not None:
        call = call.parent
    return call


def _unresolved(text: str) -> Refusal:
    return refused(
        f"names that cannot be resolved: {text}",
        None,
        "qualify columns by their relation's alias, and give computed columns an alias",
    )


def merged(kind: str, mine: exp.Expr, theirs: exp.Expr) -> exp.Expr:
    """The column of USING: that of the right side of a right join, and both sides' of a full join."""
    if kind == "full":
        return exp.Anonymous(this="coalesce", expressions=[mine.copy(), theirs.copy()])
    return theirs if kind == "right" else mine


def by_name(outputs: Sequence[tuple[str, exp.Expr]]) -> dict[str, exp.Expr]:
    """The expressions of a SELECT list, by name in lower case."""
    return {name.lower(): each for name, each in outputs}


def without_alias(node: exp.Subquery) -> exp.Expr:
    """A derived table as a query."""
    found = node.copy()
    found.set("alias", None)
    return found


_RESOLVED = "ip_resolved"
"""The mark of columns whose names are resolved."""


class Expressions(ABC):
    """The expressions of the query that a subclass builds. ``types``, ``subqueries``: as in ``Tree``."""

    def __init__(self) -> None:
        self._numbers = count()
        self.types = op.ColumnTypes()
        self.subqueries: dict[str, op.Subquery] = {}

    @abstractmethod
    def query(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> op.Result:
        """The operator of a query."""

    def _alias(self, kind: str = "t") -> str:
        return f"ip_{kind}{next(self._numbers)}"

    def _value(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """An expression with resolved names, and with columns in the place of its subqueries."""
        holder = exp.Paren(this=node.copy())
        self._expand_stars(holder, scope)

        def value_of(each: exp.Expr) -> exp.Expr:
            if isinstance(each, exp.Column) and each.meta.get(_RESOLVED):
                return each
            if isinstance(each, exp.Column):
                found = resolved(each, scope)
                if is_field_of(each, "arrays_zip") and len(scope.frame.named(each.name)) > 1:
                    raise refused("arrays_zip() in a SELECT whose columns are renamed", each, "compute it in a CTE")
                return exp.alias_(found, each.name, quoted=True) if is_struct(each) else found
            kind = "exists" if isinstance(each, exp.Exists) else "in" if isinstance(each, exp.In) else "scalar"
            inner = each.args.get("query") if kind == "in" else each.this if kind == "exists" else each
            while isinstance(inner, exp.Subquery) and isinstance(inner.this, exp.Subquery):
                inner = inner.this
            if not isinstance(inner, exp.Query):
                return each
            return self._subquery(kind, each.this if kind == "in" else None, inner, scope)

        holder.transform(value_of, copy=False)
        for inner in list(holder.find_all(exp.Paren)):
            if isinstance(inner.this, exp.Alias):  # the name of a field
                inner.replace(inner.this)
        found: exp.Expr = holder.this
        return found.pop()

    def _subquery(self, kind: str, value: exp.Expr | None, inner: exp.Expr, scope: Scope) -> exp.Expr:
        query = self.query(inner, scope.ctes, scope)
        values: list[exp.Expr] = []
        if value is not None:
            listed = value.unnest().expressions if isinstance(value.unnest(), exp.Tuple) else [value]
            listed = listed if len(listed) == len(op.names_of(query)) else [value]
            values = [self._value(each, scope) for each in listed]
        type_ = self.types.of_result(query)[0] if kind == "scalar" else "boolean"
        return self._marked(op.Subquery(kind, tuple(values), query), type_)  # type: ignore[arg-type]

    def _marked(self, found: op.Subquery, type_: str | None) -> exp.Column:
        name = f"s{len(self.subqueries)}"
        self.subqueries[name] = replace(found, outer=op.outer_aliases(found.query, self.subqueries))
        self.types.columns[SUBQUERY, name] = type_
        return column((SUBQUERY, name))

    def _pivoted(self, node: exp.Pivot, rows: op.Rows, scope: Scope) -> op.Alias:
        """The columns that PIVOT or UNPIVOT returns, each with an expression that it may consist of."""
        visible, parts = dict(scope.frame.visible), node.expressions
        names = [each.name for each in node.args.get("columns") or ()]
        if node.args.get("unpivot"):
            fields = node.args["fields"]
            names = [*(each.this.name for each in fields), *(each.name for each in parts)]
            parts = [part for each in fields for part in each.expressions]
        read = {
            each.name.lower()
            for part in (*node.expressions, *node.args["fields"])
            for each in part.find_all(exp.Column)
        }
        values = [self._value(part.unalias(), scope) for part in parts]
        if not node.args.get("unpivot"):
            rows = op.Group(rows, self._alias(), (), tuple(values))
            values = list(map(column, op.columns_of(rows)))
        rest = [(name, value) for name, value in visible.items() if name.lower() not in read]
        return op.Alias(op.Project(rows, (*rest, *((name, either(values)) for name in names))), self._alias())

    def _expand_stars(self, holder: exp.Expr, scope: Scope) -> None:
        """Replace stars in arguments by the columns of the relations in FROM."""
        for star in list(holder.find_all(exp.Star)):
            node = star.parent if isinstance(star.parent, exp.Column) else star
            if star.find_ancestor(exp.Query) is not None:
                continue
            call = node.parent
            if node is star and isinstance(call, exp.Anonymous) and call.name.lower() == "count":
                continue
            if any(star.args.values()):
                raise refused("* EXCEPT as an argument of a function", star, "list the columns")
            qualifier = [part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else []
            named = isinstance(call, exp.Anonymous) and call.name.lower() == "struct"
            listed: list[exp.Expr] = []
            for name, value in scope.frame.star(qualifier):
                found = value.copy()
                for each in found.find_all(exp.Column):
                    each.meta[_RESOLVED] = True
                listed.append(exp.alias_(found, name, quoted=True) if named else found)
            node.replace(listed)

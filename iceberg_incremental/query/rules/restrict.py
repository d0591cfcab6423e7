"""The rows with some keys, computed from as few rows of the sources as possible.

A column of a source holds the values of a key column if the query selects it unchanged, and groups or partitions by it
if it has groups or windows, or if a join equates it with such a column. A result row with a key depends only on the
source's rows with the key's value in this column.

Restricting the sources is an optimization. The rows of the result are compared with the keys as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlglot import exp

from ..algebra import nodes as op
from ..algebra.flow import level_nodes
from ..algebra.look_back import within_reach
from ..algebra.nodes import SUBQUERY, column
from ..algebra.tree import Tree
from ..states import Keys
from ..text.supported import is_of_row
from ..text.types import have_one_type

Leaf: TypeAlias = op.Scan | op.Alias
Wanted = Sequence[tuple[exp.Expr, str]]
"""Expressions over rows, each with the key column whose values it has."""

_Held = dict[op.Column, tuple[str, bool]]
"""The key column whose values a column holds, and whether it has the key's type, by this column."""


@dataclass(frozen=True)
class HeldKeys:
    """The key columns whose values a source's columns hold, by the names of these columns.

    ``exact``: without columns that have another type than the key. Their values may differ from the equal values of the
    key, for example if they are text.
    """

    all: Mapping[str, str] = field(default_factory=dict)
    exact: Mapping[str, str] = field(default_factory=dict)

    @property
    def converted(self) -> set[str]:
        """The key columns whose values a column holds in another type."""
        return {key for name, key in self.all.items() if name not in self.exact}


def selects(node: op.Result, tree: Tree, wanted: Mapping[str, str]) -> Iterator[tuple[op.Project, Wanted]]:
    """The SELECTs of a result, each with the expressions by which its rows can be restricted.

    ``wanted``: the key columns, by the names of the result's columns with their values. A set operation converts the
    values of columns that have different types. These columns are left out, because values that are equal afterwards
    may differ before.
    """
    match node:
        case op.Project():
            by_name = {name.lower(): each for name, each in node.outputs}
            yield node, [(by_name[name.lower()], key) for name, key in wanted.items() if name.lower() in by_name]
        case op.Union() | op.SetOperation():
            sides = op.children_of(node)
            listed = [tree.types.of_branch(side) for side in sides]  # type: ignore[arg-type] # results
            names = [name.lower() for name in op.names_of(node)]
            kept = {}
            for name, key in wanted.items():
                place = names.index(name.lower())
                first, *others = [types[place] for types in listed if types[place] != "void"] or [None]
                if all(have_one_type(first, other) for other in others):
                    kept[place] = key
            for side in sides:
                own = op.names_of(side)  # type: ignore[arg-type] # a result
                yield from selects(side, tree, {own[place]: key for place, key in kept.items()})  # type: ignore[arg-type]
        case op.Limit() | op.Opaque():
            for child in op.children_of(node):
                yield from selects(child, tree, {})  # type: ignore[arg-type] # a result
        case _:
            yield from selects(node.child, tree, wanted)


def below(node: op.Rows, wanted: Wanted) -> tuple[op.Rows, Wanted]:
    """The rows of FROM and WHERE below groups and windows, and those expressions by which they can be restricted."""
    inner = op.above_groups(node)
    return below(*into(inner, wanted)) if isinstance(inner, (op.Group, op.Window)) else (node, wanted)


def only(node: op.Rows, wanted: Wanted, keys: Keys, tree: Tree) -> op.Rows:
    """The rows for which some expressions have the values of a key, with restricted sources."""
    match node:
        case op.Filter() if isinstance(op.above_groups(node), (op.Group, op.Window)):
            return replace(node, child=only(node.child, wanted, keys, tree))
        case op.Group() | op.Window():
            _, inner = into(node, wanted)
            if len(inner) == len(wanted):
                return replace(node, child=only(node.child, inner, keys, tree))
            rows = replace(node, child=only(node.child, inner, keys, tree)) if inner else node
            return _keyed(_within_reach(rows, wanted, keys, tree), wanted, keys)
        case _:
            return _keyed(restricted_rows(node, wanted, keys, tree), wanted, keys)


def into(node: op.Group | op.Window, wanted: Wanted) -> tuple[op.Rows, Wanted]:
    """The rows below one operator, and the expressions over them by which they can be restricted."""
    if isinstance(node, op.Window):
        parts = [each.args.get("partition_by") or [] for each in node.functions]
        return node.child, [(each, key) for each, key in wanted if all(each in part for part in parts)]
    keys = common_keys(node)
    constants = {node.keys[at] for at in node.common if node.keys[at].find(exp.Column) is None}
    return node.child, [(keys.get(each, each), key) for each, key in wanted if each in keys or each in constants]


def common_keys(node: op.Group) -> dict[exp.Expr, exp.Expr]:
    """The keys that are in all grouping sets, by the columns with their values."""
    return {column((node.alias, f"g{at}")): node.keys[at] for at in node.common}


def _keyed(node: op.Rows, wanted: Wanted, keys: Keys) -> op.Rows:
    pairs = node.pairs if isinstance(node, op.Keyed) else ()
    if wanted and all((key, each) in pairs for each, key in wanted):
        return node
    return op.Keyed(node, keys, tuple((key, each) for each, key in wanted))


def restricted(
    node: op.Result, wanted: Mapping[str, str], keys: Keys, tree: Tree, converted: Collection[str] = ()
) -> op.Result:
    """A result whose sources are restricted. It may also contain rows with other keys.

    ``wanted``: as in ``selects``. ``converted``: as in ``sources``.
    """
    known = (node, frozenset(wanted.items()), keys.view, frozenset(converted))
    if known in tree.restricted:
        return tree.restricted[known]
    new = {each: _restricted_select(each, those, keys, tree, converted) for each, those in selects(node, tree, wanted)}

    def change(each: op.Node) -> op.Node:
        if isinstance(each, op.Project):
            return new[each]
        return each if isinstance(each, (op.Limit, op.Opaque)) else op.with_children(each, change)

    tree.restricted[known] = change(node)  # type: ignore[assignment] # a result
    return tree.restricted[known]


def _restricted_select(
    node: op.Project, wanted: Wanted, keys: Keys, tree: Tree, converted: Collection[str]
) -> op.Project:
    found = sources(node, wanted, tree, converted)
    new = _rewritten(node, {leaf: held for leaf, held in found if held.all}, keys, tree)
    assert isinstance(new, op.Project)
    return new if converted else replace(new, child=_within_reach(new.child, wanted, keys, tree))


def _within_reach(node: op.Rows, wanted: Wanted, keys: Keys, tree: Tree) -> op.Rows:
    """Rows whose windows, if there are any, read few rows for some keys."""
    match node:
        case op.Filter():
            return replace(node, child=_within_reach(node.child, wanted, keys, tree))
        case op.Window():
            return within_reach(node, wanted, keys, tree.types)
        case _:
            return node


def restricted_rows(node: op.Rows, wanted: Wanted, keys: Keys, tree: Tree) -> op.Rows:
    """Rows of FROM and WHERE whose sources are restricted."""
    found = _Level(node, wanted, tree, ()).found(level_nodes(node))
    return _rewritten(node, {leaf: held for leaf, held in found if held.all}, keys, tree)  # type: ignore[return-value]


def _rewritten(node: op.Node, held: Mapping[Leaf, HeldKeys], keys: Keys, tree: Tree) -> op.Node:
    """An operator whose sources, also those in subqueries of its expressions, are restricted."""
    if not held:
        return node

    def in_expression(each: exp.Expr) -> exp.Expr:
        names = {name: again(name) for name in op.subqueries_in(each)}
        if all(name == other for name, other in names.items()):
            return each

        def renamed(part: exp.Expr) -> exp.Expr:
            is_subquery = isinstance(part, exp.Column) and part.table == SUBQUERY
            return column((SUBQUERY, names[part.name])) if is_subquery else part

        return each.transform(renamed)

    def again(name: str) -> str:
        found = tree.subqueries[name]
        inner = change(found.query)
        if inner is found.query:
            return name
        new = f"s{len(tree.subqueries)}"
        tree.subqueries[new] = replace(found, query=inner)  # type: ignore[arg-type] # a result
        return new

    def change(each: op.Node) -> op.Node:
        if isinstance(each, (op.Scan, op.Alias)):
            return _restricted_leaf(each, held[each], keys, tree) if each in held else each
        if isinstance(each, (op.Delta, op.RowsInState)):
            return each
        return op.with_expressions(op.with_children(each, change), in_expression)

    return change(node)


def _restricted_leaf(node: Leaf, held: HeldKeys, keys: Keys, tree: Tree) -> op.Rows:
    if isinstance(node, op.Alias):
        found = replace(node, child=restricted(node.child, held.all, keys, tree, held.converted))
        if not _has_windows_within(node.child, held.all):
            return found
        node = found
    return op.Keyed(node, keys, tuple((key, column((node.alias, name))) for name, key in held.all.items()))


def _has_windows_within(node: op.Result, wanted: Mapping[str, str]) -> bool:
    """Whether a SELECT has windows that also need rows with other keys, which a join should not read."""
    inner = op.above_groups(node.child) if isinstance(node, op.Project) else None
    if not isinstance(node, op.Project) or not isinstance(inner, op.Window):
        return False
    values = [(each, wanted[name]) for name, each in node.outputs if name in wanted and is_of_row(each)]
    return len(into(inner, values)[1]) < len(values)


def sources(
    node: op.Project, wanted: Wanted, tree: Tree, converted: Collection[str] = ()
) -> list[tuple[Leaf, HeldKeys]]:
    """The sources of a SELECT and of its subqueries, each with its columns that hold values of a key.

    Equality is not transitive if types differ, so a column with another type ends a chain of equal columns.
    ``converted``: the key columns of which ``wanted`` has values of another type.
    """
    base, inner = below(node.child, wanted)
    return _Level(base, inner, tree, converted).found(level_nodes(node))


class _Level:
    """The columns that hold values of a key in the rows of FROM and WHERE of one SELECT."""

    def __init__(self, node: op.Rows, wanted: Wanted, tree: Tree, converted: Collection[str]) -> None:
        self._tree = tree
        self.held: _Held = {}
        optional, equal = optional_aliases(node), list(_equalities(node))
        for each, key in wanted:
            if isinstance(each, exp.Column) and each.table != SUBQUERY:
                first = (each.table, each.name)
                columns = {first: False} if key in converted else self._equal_to(first, equal)
                for found, same in columns.items():
                    if found[0] not in optional:
                        self.held.setdefault(found, (key, same))
        self._follow_joins(node)

    def found(self, nodes: Iterable[op.Node]) -> list[tuple[Leaf, HeldKeys]]:
        """The sources of some operators and of the subqueries in their expressions, with the keys that they hold."""
        listed: list[tuple[Leaf, HeldKeys]] = []
        names: list[str] = []
        for node in nodes:
            if isinstance(node, (op.Scan, op.Alias)):
                listed.append((node, _of_alias(self.held, node.alias)))
            names += op.subqueries_of(node)
        for name in dict.fromkeys(names):
            listed += self._within_subquery(self._tree.subqueries[name].query)
        return list(dict(listed).items())

    def _within_subquery(self, node: op.Result) -> Iterator[tuple[Leaf, HeldKeys]]:
        """The sources of a subquery. Its WHERE clause can equate them with columns of the outer query."""
        if isinstance(node, op.Project):
            yield from self._within_select(node)
        for child in () if isinstance(node, op.Project) else op.children_of(node):
            found = self._within_subquery(child)  # type: ignore[arg-type] # a result
            is_one = isinstance(node, (op.Limit, op.Distinct, op.Sort))
            yield from found if is_one else ((leaf, HeldKeys()) for leaf, _ in found)

    def _within_select(self, node: op.Project) -> Iterator[tuple[Leaf, HeldKeys]]:
        base, _ = below(node.child, ())
        known, optional = dict(self.held), optional_aliases(base)
        filters: list[exp.Expr] = []
        above = base
        while isinstance(above, op.Filter):
            filters += op.conjuncts(above.condition)
            above = above.child
        mine = [each for each in level_nodes(base) if isinstance(each, (op.Scan, op.Alias))]
        for leaf in mine:
            if leaf.alias not in optional:
                self._follow(filters, leaf.alias, known)
        for leaf in mine:
            yield leaf, HeldKeys() if leaf.alias in optional else _of_alias(known, leaf.alias)
        for name in [name for each in level_nodes(node) for name in op.subqueries_of(each)]:
            yield from ((leaf, HeldKeys()) for leaf, _ in self._within_subquery(self._tree.subqueries[name].query))

    def _type(self, found: op.Column) -> str | None:
        return self._tree.types.columns.get(found)

    def _equal_to(self, first: op.Column, equal: Sequence[set[op.Column]]) -> dict[op.Column, bool]:
        """The columns that are equal to a column, each with whether it has the same type."""
        type_ = self._type(first)
        found, next_ = {first: True}, [first]
        while next_:
            current = next_.pop()
            for other in {other for pair in equal if current in pair for other in pair if other not in found}:
                found[other] = have_one_type(type_, self._type(other))
                if found[other]:
                    next_.append(other)
        return found

    def _follow_joins(self, node: op.Rows) -> None:
        """Only matching rows of an optional side are needed, and rows with other keys do not match."""
        for child in op.children_of(node) if not isinstance(node, (op.Scan, op.Alias)) else ():
            self._follow_joins(child)  # type: ignore[arg-type] # of rows
        if not isinstance(node, op.Join) or node.kind in ("inner", "full"):
            return
        side = node.left if node.kind == "right" else node.right
        before = set(self.held)
        for alias in _aliases(side):
            self._follow(op.conjuncts(node.on), alias, self.held)
        equal, optional = list(_equalities(side)), optional_aliases(side)
        for new in [each for each in self.held if each not in before]:
            key, same = self.held[new]
            for other, type_is_same in self._equal_to(new, equal).items() if same else ():
                if other[0] not in optional:
                    self.held.setdefault(other, (key, type_is_same))

    def _follow(self, conditions: Sequence[exp.Expr], alias: str, held: _Held) -> None:
        """Add to ``held`` the columns of a source that conditions equate with a column in it."""
        for left, right in equal_columns(conditions):
            for own, other in ((left, right), (right, left)):
                if own[0] == alias and other[0] != alias and other in held and held[other][1]:
                    same = have_one_type(self._type(own), self._type(other))
                    held.setdefault(own, (held[other][0], same))


def equal_columns(conditions: Iterable[exp.Expr]) -> Iterator[tuple[op.Column, op.Column]]:
    """The pairs of columns that conditions equate."""
    for each in conditions:
        if isinstance(each, exp.EQ) and isinstance(each.this, exp.Column) and isinstance(each.expression, exp.Column):
            found = [(side.table, side.name) for side in (each.this, each.expression)]
            if SUBQUERY not in (found[0][0], found[1][0]):
                yield found[0], found[1]


def _equalities(node: op.Rows) -> Iterator[set[op.Column]]:
    """Pairs of columns that have the same value in every row."""
    match node:
        case op.Filter():
            yield from map(set, equal_columns(op.conjuncts(node.condition)))
            yield from _equalities(node.child)
        case op.Join(kind="inner"):
            yield from map(set, equal_columns(op.conjuncts(node.on)))
            yield from _equalities(node.left)
            yield from _equalities(node.right)
        case op.Join(kind="right"):
            yield from _equalities(node.right)
        case op.Join(kind="left" | "semi" | "anti"):
            yield from _equalities(node.left)
        case op.Generate() | op.Keyed():
            yield from _equalities(node.child)
        case _:
            return


def optional_aliases(node: op.Rows) -> set[str]:
    """The aliases of the rows that may be missing, so that a key must not restrict them."""
    match node:
        case op.Join(kind="inner"):
            return optional_aliases(node.left) | optional_aliases(node.right)
        case op.Join(kind="left" | "semi" | "anti"):
            return optional_aliases(node.left) | _aliases(node.right)
        case op.Join(kind="right"):
            return _aliases(node.left) | optional_aliases(node.right)
        case op.Join():
            return _aliases(node.left) | _aliases(node.right)
        case op.Filter() | op.Generate() | op.Keyed():
            return optional_aliases(node.child)
        case _:
            return set()


def _aliases(node: op.Rows) -> set[str]:
    return {alias for alias, _ in op.columns_of(node)}


def _of_alias(held: _Held, alias: str) -> HeldKeys:
    columns = {name: found for (source, name), found in held.items() if source == alias}
    return HeldKeys(
        {name: key for name, (key, _) in columns.items()}, {name: key for name, (key, same) in columns.items() if same}
    )

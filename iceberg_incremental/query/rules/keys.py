"""Rows without some of their relations, to find the keys of the affected rows.

The keys are values of few of the relations that a SELECT joins. Any other relation can affect a row only by matching it
in a join. Such a relation is left out. The rows that its changed rows match count as changed rows of the relation that
it is joined with. Each relation is then read at most once, regardless of how many relations have changed.

The remaining rows include at least the affected rows, because leaving out a relation and the conditions that mention it
can only add rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ..algebra import nodes as op


@dataclass(frozen=True)
class Match:
    """A relation that is left out, and how it matches the relation ``other``, which it is joined with.

    ``equal``: the conditions that equate columns of the two relations. ``filters``: the conditions that only read the
    relation. ``matches``: relations that were left out earlier and match this one.
    """

    node: op.Rows
    other: op.Rows
    equal: tuple[exp.Expr, ...]
    filters: tuple[exp.Expr, ...]
    matches: tuple[Match, ...] = ()

    @property
    def columns(self) -> dict[op.Column, op.Column]:
        """The columns by which it is joined, each with the equal column of the other relation."""
        mine = set(op.columns_of(self.node))
        pairs = [[(each.table, each.name) for each in (equal.this, equal.expression)] for equal in self.equal]
        return dict((first, second) if first in mine else (second, first) for first, second in pairs)


@dataclass(frozen=True)
class Fewer:
    """Rows of fewer relations. ``matches``: those left out, by the relation that they match."""

    node: op.Rows
    matches: Mapping[op.Rows, tuple[Match, ...]]
    items: tuple[_Item, ...] = ()
    filters: tuple[exp.Expr, ...] = ()

    def columns_of(self, node: op.Rows, keys: Iterable[exp.Expr], subqueries: Mapping[str, op.Subquery]) -> list[str]:
        """The distinct columns of a relation that the joins, the conditions and some keys read."""
        parts = [*keys, *(each for item in self.items for each in item.on), *self.filters]
        read: set[op.Column] = set().union(*(op.read_columns(each, subqueries) for each in parts))
        return [name for alias, name in op.columns_of(node) if (alias, name) in read]


@dataclass(frozen=True, eq=False)
class _Item:
    """A relation of FROM, and how it is joined with those before it."""

    node: op.Rows
    kind: op.JoinKind = "inner"
    on: tuple[exp.Expr, ...] = ()

    @property
    def aliases(self) -> set[str]:
        return {alias for alias, _ in op.columns_of(self.node)}

    @property
    def is_optional(self) -> bool:
        return self.kind == "left"


def fewer_relations(
    node: op.Rows,
    keys: Collection[exp.Expr],
    subqueries: Mapping[str, op.Subquery],
    is_changed: Callable[[op.Rows], bool],
    has_groups: Callable[[op.Rows, Sequence[str]], bool] = lambda node, columns: False,
) -> Fewer:
    """Rows of FROM and WHERE without the relations that some keys do not need.

    ``is_changed``: returns whether a relation may have changed. ``has_groups``: returns whether columns of a relation
    have the values of its groups. The values of its affected groups are known without computing its changed rows.
    """
    found = _Fewer(node, keys, subqueries, is_changed)
    while found.leave_out_one():
        pass
    fewer = found.result()
    for item in fewer.items:
        if is_changed(item.node) and isinstance(item.node, (op.Scan, op.Alias)):
            fewer = _without_filters(fewer, item, keys, subqueries, has_groups)
    return fewer


def _without_filters(
    fewer: Fewer,
    item: _Item,
    keys: Collection[exp.Expr],
    subqueries: Mapping[str, op.Subquery],
    has_groups: Callable[[op.Rows, Sequence[str]], bool],
) -> Fewer:
    """Remove the conditions that only read one relation, if its other columns that are read are those of its groups."""
    others = [each for each in fewer.filters if _read(each, subqueries) != item.aliases or op.subqueries_in(each)]
    without = replace(fewer, node=_joined(fewer.items, others), filters=tuple(others))
    if len(others) < len(fewer.filters) and has_groups(item.node, without.columns_of(item.node, keys, subqueries)):
        return without
    return fewer


class _Fewer:
    def __init__(
        self,
        node: op.Rows,
        keys: Collection[exp.Expr],
        subqueries: Mapping[str, op.Subquery],
        is_changed: Callable[[op.Rows], bool],
    ) -> None:
        self._subqueries = subqueries
        self._is_changed = is_changed
        self.matches: dict[op.Rows, list[Match]] = {}
        self._node = node
        self._items, self._filters = _flat(node)
        parts = [*keys, *(each for each in self._conditions() if op.subqueries_in(each))]
        parts += [each for item in self._items if item.kind in ("semi", "anti") for each in item.on]
        self._needed = {alias for part in parts for alias in _read(part, subqueries)}

    def result(self) -> Fewer:
        matches = {node: tuple(each) for node, each in self.matches.items()}
        return Fewer(_joined(self._items, self._filters), matches, tuple(self._items), tuple(self._filters))

    def leave_out_one(self) -> bool:
        """Leave out the last relation that is not needed. Returns whether there was one."""
        for item in reversed(self._items):
            if item.aliases & self._needed or not self._can_leave_out(item):
                continue
            if self._is_changed(item.node) or item.node in self.matches:
                match = self._match(item)
                if match is None:
                    continue
                self.matches.setdefault(match.other, []).append(match)
                self.matches.pop(item.node, None)
            self._remove(item)
            return True
        return False

    def _can_leave_out(self, item: _Item) -> bool:
        """Whether the remaining joins keep their rows, including those without a partner, and stay connected."""
        optional = [each for each in self._items if each is not item and each.is_optional]
        first = item is self._items[0]
        if item.kind not in ("inner", "left") or isinstance(item.node, op.Generate) or not item.aliases:
            return False
        if len(self._items) == 1 or (first and any(each.kind != "inner" for each in self._items[1:])):
            return False
        if item.is_optional and any(map(op.subqueries_in, item.on)):
            return False  # the subquery decides which rows have partners
        if any(item.aliases & _read(each, self._subqueries) for other in optional for each in other.on):
            return False
        rest = [each.aliases for each in self._items if each is not item and each.kind in ("inner", "left")]
        groups = self._connected([item.aliases, *rest])
        return len(self._connected(rest)) <= len(groups) - (item.aliases in groups)

    def _conditions(self) -> list[exp.Expr]:
        joined = [each for item in self._items if item.kind in ("inner", "left") for each in item.on]
        return [*self._filters, *joined]

    def _match(self, item: _Item) -> Match | None:
        """How a relation matches one of the remaining relations. None if no columns are equal."""
        # WHERE also applies to rows without a partner
        conditions = list(item.on) if item.is_optional else self._conditions()
        equal: dict[_Item, list[exp.Expr]] = {}
        for each in conditions:
            read = _read(each, self._subqueries)
            others = [other for other in self._items if other is not item and other.aliases & read]
            if not (_is_equality(each) and read & item.aliases and len(others) == 1 and len(read) == 2):
                continue
            (other,) = others
            # with <=>, NULL may also represent a missing partner, which is not a row of the relation
            is_relation = isinstance(other.node, (op.Scan, op.Alias))  # VALUES has no changed rows
            if is_relation and (isinstance(each, exp.EQ) or not other.is_optional):
                equal.setdefault(other, []).append(each)
        if not equal:
            return None
        best = max(equal, key=lambda other: len(equal[other]))
        filters = tuple(each for each in conditions if _read(each, self._subqueries) <= item.aliases
                        and _read(each, self._subqueries))  # fmt: skip
        return Match(item.node, best.node, tuple(equal[best]), filters, tuple(self.matches.get(item.node, ())))

    def _remove(self, item: _Item) -> None:
        """Remove a relation, and all conditions that mention it."""

        def kept(conditions: Iterable[exp.Expr]) -> list[exp.Expr]:
            return [each for each in conditions if not _read(each, self._subqueries) & item.aliases]

        self._filters = kept(self._filters)
        items = [each for each in self._items if each is not item]
        if not item.is_optional:
            self._filters += kept(item.on)
        if item is self._items[0]:  # in this case, all joins are inner joins
            self._filters += kept(items[0].on)
            items[0] = replace(items[0], on=())
        self._items = [replace(each, on=tuple(kept(each.on))) for each in items]

    def _connected(self, aliases: Sequence[set[str]]) -> list[set[str]]:
        """The groups of relations that conditions connect."""
        groups = [set(each) for each in aliases]
        for each in self._conditions():
            read = _read(each, self._subqueries)
            joined = [group for group in groups if group & read]
            if len(joined) > 1:
                groups = [group for group in groups if not group & read] + [set().union(*joined)]
        return groups


def meeting(
    node: op.Rows,
    leaf: op.Scan | op.Alias,
    keys: Collection[exp.Expr],
    columns: Collection[op.Column],
    subqueries: Mapping[str, op.Subquery],
) -> tuple[list[op.Scan | op.Alias], list[exp.Expr]] | None:
    """The relations by way of which a relation of FROM meets those of some keys, and columns that are equal if it does.

    A row of the result that a changed row of ``leaf`` affects has rows of these relations for which all of this holds.
    ``columns``: those that may be compared. None if no equal columns connect the relations.
    """
    items, filters = _flat(node)
    start = next((each for each in items if each.node is leaf), None)
    if start is None:
        return None
    inner = {alias for each in items if each.kind == "inner" for alias in each.aliases}
    anywhere = [*filters, *(each for item in items if item.kind == "inner" for each in item.on)]
    equal = [each for each in anywhere if _read(each, subqueries) <= inner]
    # WHERE also applies to rows without a partner
    equal += [each for item in items if item.is_optional or item is start
              for each in item.on if _read(each, subqueries) & item.aliases]  # fmt: skip
    equal = [each for each in equal if isinstance(each, exp.EQ) and _is_equality(each)
             and op.read_columns(each, subqueries) <= {*columns}]  # fmt: skip
    owners = {alias: each for each in items if each.kind in ("inner", "left") or each is start
              for alias in each.aliases if isinstance(each.node, (op.Scan, op.Alias))}  # fmt: skip
    sides = [_read(each, subqueries) for each in equal]
    towards = {start: start}
    waiting = [start]
    while waiting:
        item = waiting.pop(0)
        for other in [owners[alias] for each in sides if each & item.aliases for alias in each if alias in owners]:
            if other not in towards:
                towards[other] = item
                waiting.append(other)
    wanted = {alias for each in keys for alias in _read(each, subqueries)}
    if not wanted <= inner or not all(owners.get(alias) in towards for alias in wanted):
        return None
    found = {start: None} | {owners[alias]: None for alias in sorted(wanted)}
    for item in found.copy():
        while (item := towards[item]) not in found:
            found[item] = None
    aliases = {alias for each in found for alias in each.aliases}
    relations = [each.node for each in found if isinstance(each.node, (op.Scan, op.Alias))]
    return relations, [each for each in equal if _read(each, subqueries) <= aliases]


def _flat(node: op.Rows) -> tuple[list[_Item], list[exp.Expr]]:
    """The relations of FROM in order, and the conditions of WHERE."""
    filters: list[exp.Expr] = []
    items: list[_Item] = []
    while isinstance(node, op.Filter):
        filters += op.conjuncts(node.condition)
        node = node.child
    while isinstance(node, op.Join) and node.kind not in ("right", "full"):
        items.append(_Item(node.right, node.kind, tuple(op.conjuncts(node.on))))
        node = node.left
    if isinstance(node, op.Join) and node.kind == "right":
        items.append(_Item(node.left, "left", tuple(op.conjuncts(node.on))))
        node = node.right
    return [_Item(node), *reversed(items)], filters


def _joined(items: Sequence[_Item], filters: Sequence[exp.Expr]) -> op.Rows:
    node = items[0].node
    for each in items[1:]:
        on = op.all_of(each.on)
        node = op.Join(each.kind, node, each.node, exp.true() if on is None and each.kind != "inner" else on)
    return op.filtered(node, *filters)


def _read(node: exp.Expr, subqueries: Mapping[str, op.Subquery]) -> set[str]:
    """The aliases of the relations whose columns an expression reads."""
    return {alias for alias, _ in op.read_columns(node, subqueries)}


def _is_equality(node: exp.Expr) -> bool:
    sides = (node.this, node.args.get("expression"))
    return isinstance(node, (exp.EQ, exp.NullSafeEQ)) and all(isinstance(side, exp.Column) for side in sides)

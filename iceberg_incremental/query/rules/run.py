"""One run of a query: the states of its tables and of the clock, what has changed, and its views of keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ...table.clock import DATE, TIME
from ..algebra import nodes as op
from ..algebra.flow import level_nodes
from ..algebra.frames import with_short_frames
from ..algebra.look_back import LookBack, look_back, partitions
from ..algebra.nodes import SUBQUERY, column
from ..algebra.sql import Writer
from ..algebra.tree import Tree
from ..states import Broadcast, KeyView, State, TableStates
from ..text.clock import ClockStates, at_checkpoint, marks_in, reads
from ..text.supported import is_of_row
from ..text.types import Types, have_one_type, tells_apart

Variant = tuple[State, op.Rows]
"""Changed rows, and the state of the rest of what they are computed from.

With ``BOTH``, the rows are changed rows of both states at once. This is possible if no other relation has changed, or
if only inner joins combine tables. The variant may then also have rows that are in neither state.
"""


class Run(ABC):
    """What the rules know about a run.

    ``tables``: the states of its base tables. ``prefix``: the prefix of the names of its views. ``clock``: if the query
    reads it.
    """

    def __init__(
        self,
        tree: Tree,
        tables: Mapping[str, TableStates],
        prefix: str,
        broadcast: Broadcast = lambda alias, rows, types: "",
        clock: ClockStates | None = None,
    ) -> None:
        self.tree = replace(tree, subqueries=dict(tree.subqueries), restricted={})
        self.types = tree.types
        self.tables = tables
        self._prefix = prefix
        self.broadcast = broadcast
        self._clock = clock
        self._moved = frozenset() if clock is None else clock.moved((DATE, TIME))
        self._changed: dict[op.Node, bool] = {}
        self._joins_only: dict[op.Node, bool] = {}
        self._results: dict[tuple[op.Node, State], op.Result | None] = {}
        self._views: dict[object, tuple[op.View, op.Result]] = {}
        self._writer = Writer(self.tree.subqueries, self._relation, self._at_checkpoint)
        self._numbers = 0

    @abstractmethod
    def variants(self, node: op.Rows, state: State) -> list[Variant]:
        """The changed rows of an operator. ``state``: OLD or NEW for those of one state, or BOTH for all of them."""

    @abstractmethod
    def changed(self, node: op.Result, state: State) -> op.Result | None:
        """The changed rows of a result in its old state, its new state, or both. None if it has no such rows."""

    @abstractmethod
    def keys_of(self, node: op.Project | op.Group | op.Window, keys: Mapping[str, exp.Expr]) -> op.Result | None:
        """The values of expressions in affected rows, below the groups and windows of a SELECT."""

    @abstractmethod
    def view_of(self, node: op.Group | op.Window, at: object, keys: Sequence[exp.Expr]) -> op.View:
        """The view of groups or partitions with a changed row. ``keys``: their expressions.

        ``at``: which of an operator's groups or partitions.
        """

    @property
    def views(self) -> list[KeyView]:
        """The views of keys that the returned SQL reads, in the order of their creation."""
        return [KeyView(view.name, self.sql(query), view.names) for view, query in self._views.values()]

    @property
    def queries_by_view(self) -> Mapping[str, op.Result]:
        """The queries of the views, by their names."""
        return {view.name: query for view, query in self._views.values()}

    @property
    def view_queries(self) -> list[op.Result]:
        """The queries of the views."""
        return [query for _, query in self._views.values()]

    def sql(self, node: op.Result, state: State = State.NEW) -> str:
        """The query of a result, with the time in the places of the marks of the clock."""
        text = self._writer.query(with_short_frames(node, self.tree.subqueries, self.types), state)
        return text if self._clock is None else self._clock.sql(text)

    def _relation(self, name: str, state: State) -> str:
        return self.tables[name].sql(state) or ""

    def _at_checkpoint(self, node: exp.Expr) -> exp.Expr:
        return at_checkpoint(node) if self._moved and reads(node, self._moved) else node

    def is_changed(self, node: op.Node) -> bool:
        """Whether the rows of an operator may have changed."""
        if node not in self._changed:
            if isinstance(node, op.Scan):
                self._changed[node] = self.tables[node.table].changes is not None
            else:
                own = any(map(self.shifts, op.expressions_of(node)))
                self._changed[node] = own or any(map(self.is_changed, op.children_of(node)))
        return self._changed[node]

    def has(self, node: op.Scan, state: State) -> bool:
        """Whether a table has changed rows: removed rows, added rows, or any of them."""
        return self.tables[node.table].sql(state) is not None

    def shifts(self, node: exp.Expr) -> bool:
        """Whether an expression may have another value for the same row: by the clock, or by a subquery."""
        if self._moved and reads(node, self._moved):
            return True
        return any(self.is_changed_subquery(name) for name in op.subqueries_in(node))

    def is_changed_subquery(self, name: str) -> bool:
        """Whether the value of a subquery may have changed for the same row."""
        found = self.tree.subqueries[name]
        return self.is_changed(found.query) or any(map(self.shifts, found.values))

    def reads_clock(self, node: op.Node) -> bool:
        """Whether the operators of one SELECT read the clock, and its value has changed."""
        level = level_nodes(node) if self._moved else []
        inner = [self.tree.subqueries[name].query for each in level for name in op.subqueries_of(each)]
        nodes = [*level, *(each for query in inner for each in op.all_nodes(query, self.tree.subqueries))]
        return any(reads(part, self._moved) for each in nodes for part in op.expressions_of(each))

    def only_joins(self, node: op.Node) -> bool:
        """Whether an operator combines tables so that each of their rows can only add rows."""
        if node not in self._joins_only:
            is_plain = isinstance(
                node, (op.Scan, op.Alias, op.Filter, op.Project, op.Union, op.Sort, op.Generate, op.One, op.Values)
            )
            is_plain = is_plain or (isinstance(node, op.Join) and node.kind == "inner")
            parts = op.expressions_of(node)
            is_plain = is_plain and not any(op.subqueries_in(each) or self.shifts(each) for each in parts)
            self._joins_only[node] = is_plain and all(map(self.only_joins, op.children_of(node)))
        return self._joins_only[node]

    def look_back(self, node: op.Window) -> LookBack | None:
        """The order of windows whose rows before the first changed one are not affected. None if they may be."""
        found = look_back(node, self.types)
        return None if found is None or any(map(self.shifts, node.functions)) else found

    def is_total(self, node: op.Rows) -> bool:
        """Whether all rows may belong together, so that any change can affect all of them."""
        inner = op.above_groups(node)
        if isinstance(inner, op.Group):
            return not inner.keys
        return isinstance(inner, op.Window) and not all(partitions(inner)) and self.look_back(inner) is None

    def whole(self, node: op.Rows, state: State, wanted: op.Rows | None = None) -> list[Variant]:
        """All rows, for a condition that does not depend on the state. Rows that are in both states are read once.

        ``wanted``: those of the rows that are needed.
        """
        rows = node if wanted is None else wanted
        if state is not State.BOTH:
            return [(state, rows)]
        if not self.is_changed(node):
            return [(State.NEW, rows)]
        return [(state, op.RowsInState(rows, State.EITHER))] if self.only_joins(node) else whole_states(rows, state)

    def exists(self, rows: op.Rows, state: State, hint: str = "") -> exp.Expr:
        """The condition that there are rows."""
        name = f"s{len(self.tree.subqueries)}"
        query = at_state(op.Project(rows, (("ip_one", exp.Literal.number(1)),), hint), state)
        outer = op.outer_aliases(query, self.tree.subqueries)
        self.tree.subqueries[name] = op.Subquery("exists", (), query, outer)
        self._changed[query] = False
        return column((SUBQUERY, name))

    def can_compare(self, node: op.Result) -> bool:
        """Whether the rows of a result can be compared by value between the states."""
        return all(map(tells_apart, self.types.of_result(node)))

    def has_one_type(self, node: op.Union) -> bool:
        """Whether all branches certainly have the same types, so that none of them determines those of the result."""
        first, *others = map(self.types.of_result, node.children)
        return None not in first and all(each == first for each in others)

    def view(self, key: object, query: Callable[[], op.Result]) -> op.View:
        """The view with a key. ``query``: returns its query, if there is no view yet."""
        if key not in self._views:
            found = query()
            self._numbers += 1
            view = op.View(f"{self._prefix}_{self._numbers}", "", op.names_of(found))
            self._views[key] = (view, found)
        return self._views[key][0]

    def alias(self) -> str:
        """A new alias."""
        self._numbers += 1
        return f"ip_c{self._numbers}"


def at_state(node: op.Result, state: State) -> op.InState:
    """A result in a state. Changed rows of both states are joined with relations that have not changed."""
    return op.InState(node, State.NEW if state is State.BOTH else state)


def union_of(found: Sequence[op.Result]) -> op.Result | None:
    """All rows of some results. None without results."""
    return None if not found else found[0] if len(found) == 1 else op.Union(tuple(found))


def nothing_of(columns: int) -> op.Project:
    """A result with columns ``k0``, ``k1`` and so on, and no rows."""
    outputs = tuple((f"k{at}", exp.null()) for at in range(columns))
    return op.Project(op.Filter(op.One(), exp.false()), outputs)


def renamed(node: op.Result, names: Sequence[str], alias: str) -> op.Result:
    """A result with other names of its columns. ``alias``: a new alias."""
    if op.names_of(node) == tuple(names):
        return node
    listed = zip(names, op.names_of(node), strict=True)
    return op.Project(op.Alias(node, alias), tuple((name, column((alias, old))) for name, old in listed))


def none_of(node: op.Result, alias: str) -> op.Project:
    """A result without its rows, for the types of its columns."""
    rows = op.Filter(op.Alias(node, alias), exp.false())
    return op.Project(rows, tuple((name, column((alias, name))) for name in op.names_of(node)))


def whole_states(node: op.Rows, state: State) -> list[tuple[State, op.Rows]]:
    """All rows, in the states that are wanted."""
    return [(one, node) for one in state.each]


def together(select: op.Project, *, is_distinct: bool) -> list[exp.Expr] | None:
    """The expressions of a SELECT whose values are equal in rows that belong together. None if rows are independent."""
    inner = op.above_groups(select.child)
    if isinstance(inner, op.Window):
        listed = partitions(inner)
        return listed[0] if len(listed) == 1 else []
    if isinstance(inner, op.Group):
        return [inner.keys[at] if inner.keys[at].find(exp.Column) is None else column((inner.alias, f"g{at}"))
                for at in inner.common]  # fmt: skip
    return [each for _, each in select.outputs if is_of_row(each)] if is_distinct else None


def of_group(node: exp.Expr, group: op.Group) -> exp.Expr:
    """An expression over the columns of groups as one over the rows below, where that is possible."""
    keys = {column((group.alias, f"g{at}")): group.keys[at] for at in group.common}
    found = node.transform(lambda each: keys[each].copy() if each in keys else each)
    # the value of an aggregate is not one of a row
    is_measure = any(each.table == group.alias for each in found.find_all(exp.Column))
    return exp.Anonymous(this="count", expressions=[exp.Star()]) if is_measure else found


def now(node: exp.Expr) -> exp.Expr:
    """An expression that reads the present clock, in SQL for any state."""
    found = exp.paren(node.copy())
    for each in marks_in(found):
        each.replace(exp.Var(this=f"{each.name.lower()}()"))
    return found


_Conditions = tuple[list[exp.Expr], "exp.Expr | None"]


def of_values(
    values: Sequence[exp.Expr], outputs: Sequence[exp.Expr], types: Types, *, must_be_true: bool
) -> list[_Conditions]:
    """The conditions under which changed rows affect the value of IN: those of the rows, and that of the row around it.

    ``values``: those of IN. ``outputs``: those of the changed rows. ``must_be_true``: whether only the rows matter for
    which IN is true.
    """
    pairs = list(zip(values, outputs, strict=True)) if len(values) == len(outputs) else []
    pairs = [pair for pair in pairs if all(map(is_of_row, pair))]
    one_type = all(have_one_type(types.of(mine), types.of(value)) for mine, value in pairs)
    if one_type and must_be_true:
        return [([_equal(mine, value) for mine, value in pairs], None)]
    if one_type and len(pairs) == 1:
        ((mine, value),) = pairs
        return [([_equal(mine, value)], None), ([_is_null(value)], None), ([], _is_null(mine))]
    # IN and = may convert values of different types in different ways
    return [([_not_different(mine, value) for mine, value in pairs], None)]


def _equal(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.paren(value.copy()), expression=exp.paren(other.copy()))


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(value.copy()), expression=exp.null())


def _not_different(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=exp.paren(_equal(value, other)), expression=exp.false()))

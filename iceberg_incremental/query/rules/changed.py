"""The rows of a query's operators that a change of its sources can affect.

The invariant: the rows of an operator without its changed rows are the same in both states. Unaffected rows among the
changed rows only cost time. Each rule is one case of ``Changes.variants`` for rows, or of ``Changes.changed`` for
results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ...table.clock import DATE, TIME
from ..algebra.build import Tree
from ..algebra.nodes import (
    Alias,
    Column,
    Delta,
    Differing,
    Distinct,
    Filter,
    Generate,
    Group,
    InState,
    Join,
    Keyed,
    Keys,
    Limit,
    Node,
    One,
    Project,
    Result,
    Rows,
    Scan,
    SetOperation,
    Sort,
    Subquery,
    Union,
    Values,
    View,
    Window,
    all_nodes,
    children_of,
    column,
    conjuncts,
    expressions_of,
    filtered,
    names_of,
    outer_aliases,
    subqueries_in,
)  # fmt: skip
from ..algebra.sql import Writer
from ..states import Broadcast, KeyView, State, TableStates
from ..text.clock import ClockStates, at_checkpoint, compared_parts, reads
from ..text.supported import is_of_row
from ..text.types import tells_apart
from .context import now, of_values, partitions, whole_states
from .keys import Match, fewer_relations
from .restrict import Wanted, above_groups, into, only, restricted

Variant = tuple[State, Rows]
"""Changed rows, and the state of the rest of what they are computed from.

With ``BOTH``, the rows are changed rows of both states at once. This is possible if no other relation has changed, or
if only inner joins combine tables. The variant may then also have rows that are in neither state.
"""


_Own = Mapping[Rows, tuple[Sequence[str], Sequence[Match]]]
"""Relations of which only some columns are read, and those that were left out and match them."""


class Changes:
    """The changes of the operators of one query in one run.

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
        self.tree = replace(tree, subqueries=dict(tree.subqueries))
        self.types = tree.types
        self._tables = tables
        self._prefix = prefix
        self._broadcast = broadcast
        self._clock = clock
        self._moved = frozenset() if clock is None else clock.moved((DATE, TIME))
        self._changed: dict[Node, bool] = {}
        self._joins_only: dict[Node, bool] = {}
        self._results: dict[tuple[Node, State], Result | None] = {}
        self._views: dict[object, tuple[View, Result]] = {}
        self._writer = Writer(self.tree.subqueries, self._relation, self._at_checkpoint)
        self._numbers = 0

    # SQL

    @property
    def views(self) -> list[KeyView]:
        """The views of keys that the returned SQL reads, in the order of their creation."""
        return [KeyView(view.name, self.sql(query), view.names) for view, query in self._views.values()]

    @property
    def view_queries(self) -> list[Result]:
        """The queries of the views."""
        return [query for _, query in self._views.values()]

    def sql(self, node: Result, state: State = State.NEW) -> str:
        """The query of a result, with the time in the places of the marks of the clock."""
        text = self._writer.result(node, state)
        return text if self._clock is None else self._clock.sql(text)

    def _relation(self, name: str, state: State) -> str:
        return self._tables[name].sql(state) or ""

    def _at_checkpoint(self, node: exp.Expr) -> exp.Expr:
        return at_checkpoint(node) if self._moved and reads(node, self._moved) else node

    # What has changed

    def is_changed(self, node: Node) -> bool:
        """Whether the rows of an operator may have changed."""
        if node not in self._changed:
            if isinstance(node, Scan):
                self._changed[node] = self._tables[node.table].changes is not None
            else:
                own = any(map(self.shifts, expressions_of(node)))
                self._changed[node] = own or any(map(self.is_changed, children_of(node)))
        return self._changed[node]

    def has(self, node: Scan, state: State) -> bool:
        """Whether a table has changed rows: removed rows, added rows, or any of them."""
        return self._tables[node.table].sql(state) is not None

    def shifts(self, node: exp.Expr) -> bool:
        """Whether an expression may have another value for the same row: by the clock, or by a subquery."""
        if self._moved and reads(node, self._moved):
            return True
        return any(self._is_changed_subquery(name) for name in subqueries_in(node))

    def _is_changed_subquery(self, name: str) -> bool:
        found = self.tree.subqueries[name]
        return self.is_changed(found.query) or any(map(self.shifts, found.values))

    def reads_clock(self, node: Node) -> bool:
        """Whether the operators of one SELECT read the clock, and its value has changed."""
        if not self._moved or isinstance(node, (Scan, Alias)):
            return False
        if any(self._reads_clock(each) for each in expressions_of(node)):
            return True
        return any(map(self.reads_clock, children_of(node)))

    def _reads_clock(self, node: exp.Expr) -> bool:
        inner = (self.tree.subqueries[name].query for name in subqueries_in(node))
        listed = (part for query in inner for each in all_nodes(query, self.tree.subqueries) for part in expressions_of(each))
        return reads(node, self._moved) or any(reads(each, self._moved) for each in listed)

    def _only_joins(self, node: Node) -> bool:
        """Whether an operator combines tables so that each of their rows can only add rows."""
        if node not in self._joins_only:
            is_plain = isinstance(node, (Scan, Alias, Filter, Project, Union, Sort, Generate, One, Values))
            is_plain = is_plain or (isinstance(node, Join) and node.kind == "inner")
            parts = expressions_of(node)
            is_plain = is_plain and not any(subqueries_in(each) or self.shifts(each) for each in parts)
            self._joins_only[node] = is_plain and all(map(self._only_joins, children_of(node)))
        return self._joins_only[node]

    # Rows

    def variants(self, node: Rows, state: State, own: _Own | None = None) -> list[Variant]:
        """The changed rows of an operator. ``state``: OLD or NEW for those of one state, or BOTH for all of them.

        ``own``: relations that also match changed rows of relations that were left out.
        """
        if own and node in own:
            assert isinstance(node, (Scan, Alias))
            found = self._matching(node, *own[node], state)
            return [] if found is None else [(state, Alias(found, node.alias))]
        match node:
            case One() | View() | Delta() | Keyed() | InState():
                return []
            case Scan():
                return [(state, Delta(node, state.changes))] if self.has(node, state.changes) else []
            case Values():
                return whole_states(node, state) if self.is_changed(node) else []
            case Alias():
                if not self.is_changed(node.child):
                    return []
                if outer_aliases(node.child, self.tree.subqueries):  # no view has the rows for each row around it
                    return whole_states(node, state)
                found = self.changed(node.child, state)
                return [] if found is None else [(state, Alias(found, node.alias))]
            case Filter():
                return self._filter(node, state, own)
            case Generate():
                if self.shifts(node.call):
                    return whole_states(node, state)
                return [(at, replace(node, child=each)) for at, each in self.variants(node.child, state, own)]
            case Join(kind="inner"):
                return self._inner_join(node, state, own)
            case Join(kind="left" | "right" | "full"):
                return self._outer_join(node, state, own)
            case Join():
                return self._semi_join(node, state, own)
            case Group():
                return self._group(node, state) if self.is_changed(node) else []
            case Window():
                return self._window(node, state) if self.is_changed(node) else []

    def _has_changed(self, node: Rows, own: _Own | None) -> bool:
        return self.is_changed(node) or bool(own and any(each in own for each in _below(node)))

    def _filter(self, node: Filter, state: State, own: _Own | None) -> list[Variant]:
        """Changed rows, and rows for which the condition is decided otherwise."""
        states = state.each if self.shifts(node.condition) else [state]
        found = [(at, replace(node, child=each)) for one in states for at, each in self.variants(node.child, one, own)]
        conditions = conjuncts(node.condition)
        return [*found, *self._shifted(node.child, conditions, state, are_filters=True)]

    def _inner_join(self, node: Join, state: State, own: _Own | None) -> list[Variant]:
        """Changed rows of one side with all rows of the other one."""
        if node.on is not None and self.shifts(node.on):
            return self._filter(Filter(replace(node, on=None), node.on), state, own)
        sides = [self._has_changed(each, own) for each in (node.left, node.right)]
        adds = state is State.BOTH and all(sides) and self._only_joins(node)
        if all(sides) and state is State.BOTH and not adds:
            return [each for one in state.each for each in self._inner_join(node, one, own)]
        left, right = ((InState(each, State.EITHER) if adds else each) for each in (node.left, node.right))
        found = [(at, replace(node, left=each, right=right)) for at, each in self.variants(node.left, state, own)]
        return found + [(at, replace(node, left=left, right=each)) for at, each in self.variants(node.right, state, own)]

    def _outer_join(self, node: Join, state: State, own: _Own | None) -> list[Variant]:
        """Changed rows of a preserved side, and rows that a changed row of an optional side meets in either state."""
        if node.on is not None and self.shifts(node.on):
            return whole_states(node, state)
        preserved = {"left": [node.left], "right": [node.right], "full": [node.left, node.right]}[node.kind]
        optional = {"left": [node.right], "right": [node.left], "full": [node.left, node.right]}[node.kind]
        found: list[Variant] = []
        met = [each for side in optional if (each := self._met_by(side, node.on, own)) is not None]
        for one in state.each if met else [state]:
            for side in preserved:
                for at, each in self.variants(side, one, own):
                    kept = replace(node, left=each) if side is node.left else replace(node, right=each)
                    kind = node.kind if node.kind != "full" else "left" if side is node.left else "right"
                    found.append((at, replace(kept, kind=kind)))
            found += [(one, Filter(node, each)) for each in met if one is not State.BOTH]
        return found

    def _semi_join(self, node: Join, state: State, own: _Own | None) -> list[Variant]:
        """Changed rows of the left side, and those that a changed row of the right side meets in either state."""
        if node.on is not None and self.shifts(node.on):
            return whole_states(node.left, state)
        met = self._met_by(node.right, node.on, own)
        found: list[Variant] = []
        if met is not None and state is State.BOTH and not self._has_changed(node.left, own):
            return [(State.NEW, Filter(node.left, met))]
        for one in state.each if met is not None else [state]:
            found += [(at, replace(node, left=each)) for at, each in self.variants(node.left, one, own)]
            found += [] if met is None else [(one, Filter(node.left, met))]
        return found

    def _met_by(self, side: Rows, on: exp.Expr | None, own: _Own | None) -> exp.Expr | None:
        """The condition that a changed row of a side meets a row of the other one. None if there are no such rows."""
        conditions = [each for each in conjuncts(on) if not subqueries_in(each)]
        found = [
            self._exists(filtered(each, *conditions), at) for at, each in self.variants(side, State.BOTH, own)
        ]
        return exp.or_(*found) if found else None

    def _group(self, node: Group, state: State) -> list[Variant]:
        """The groups of each grouping set that contain a changed row."""
        found: list[Variant] = []
        for members in node.sets or (tuple(range(len(node.keys))),):
            one = node if node.sets is None else replace(node, sets=(members,))
            if not members:
                found += whole_states(one, state)
                continue
            view = self._view((node, members), lambda those=members: self._groups(node, [node.keys[at] for at in those]))
            pairs = [(node.keys[at], key) for at, key in zip(members, view.names, strict=True)]
            rows = only(node.child, pairs, Keys(view.name, view.names), self.tree)
            found += whole_states(replace(one, child=rows), state)
        return found

    def _groups(self, node: Group | Window, keys: Sequence[exp.Expr]) -> Result:
        """The values of expressions in changed rows below groups or partitions."""
        found = self.keys_of(node, {f"k{at}": each for at, each in enumerate(keys)})
        return Distinct(self._all(found)) if found is not None else Distinct(_nothing(len(keys)))

    def _all(self, node: Result) -> Result:
        """A result as one SELECT."""
        if isinstance(node, Project):
            return node
        alias = self._alias()
        return Project(Alias(node, alias), tuple((name, column((alias, name))) for name in names_of(node)))

    def _window(self, node: Window, state: State) -> list[Variant]:
        """The rows in a partition of any of the windows that contains a changed row."""
        listed = partitions(node)
        if len(listed) == 1 and listed[0]:
            view = self._view((node, "common"), lambda: self._groups(node, listed[0]))
            rows = only(node.child, list(zip(listed[0], view.names, strict=True)), Keys(view.name, view.names), self.tree)
            return whole_states(replace(node, child=rows), state)
        if not all(listed):
            return whole_states(node, state)
        conditions = []
        for at, keys in enumerate(listed):
            view = self._view((node, at), lambda those=keys: self._groups(node, those))
            inner = View(view.name, self._alias(), view.names)
            same = [exp.NullSafeEQ(this=column((inner.alias, key)), expression=exp.paren(each.copy()))
                    for key, each in zip(view.names, keys, strict=True)]  # fmt: skip
            conditions.append(self._exists(filtered(inner, *same), State.NEW))
        return whole_states(Filter(node, exp.or_(*conditions)), state)

    # Rows for which an expression has another value

    def _shifted(
        self, node: Rows, parts: Sequence[exp.Expr], state: State, *, are_filters: bool = False
    ) -> list[Variant]:
        """The rows for which expressions may differ between the states, although the row has not changed.

        ``are_filters``: whether only rows matter for which all expressions are true.
        """
        found: list[Variant] = []
        clock = [each for part in parts for each in compared_parts(part, self._moved)] if self._moved else []
        if clock:
            differs = exp.or_(
                *(
                    exp.not_(exp.NullSafeEQ(this=exp.paren(at_checkpoint(each)), expression=exp.paren(now(each))))
                    for each in dict.fromkeys(clock)
                )
            )
            others = list(parts) if are_filters else []
            found += [(one, filtered(node, differs, *others)) for one in state.each]
        for part in parts:
            for name in dict.fromkeys(subqueries_in(part)):
                if not self._is_changed_subquery(name):
                    continue
                is_part = part == column(("ip_sub", name))
                others = [each for each in parts if each is not part] if are_filters else []
                condition = self._can_change(self.tree.subqueries[name], node, must_be_true=are_filters and is_part)
                same = not self.is_changed(node) and not any(map(self.shifts, others))
                states = [State.NEW] if same and state is State.BOTH else state.each
                found += [(one, filtered(node, *others, condition)) for one in states]
        return found

    def _can_change(self, node: Subquery, around: Rows, *, must_be_true: bool) -> exp.Expr:
        """The condition for the rows ``around`` for which the value of a subquery can change.

        A changed row affects IN if its value is equal, or if one of both values is NULL. These are separate conditions,
        because Spark joins by hash for an equality, but compares all pairs of rows for other conditions.
        """
        if any(map(self.shifts, node.values)):
            return exp.true()
        found, group = [], above_groups(around)
        # a subquery cannot read an aggregate of the query around it
        reads_rows = not any(
            isinstance(group, Group) and each.table == group.alias and each.name.startswith("m")
            for value in node.values
            for each in value.find_all(exp.Column)
        )
        for state, rows, outputs in self._touched(node.query):
            compared = (outputs or ()) if reads_rows else ()
            conditions = of_values(node.values, compared, self.types, must_be_true=must_be_true)
            for inner, outer in conditions:
                exists = self._exists(filtered(rows, *inner), state)
                found.append(exists if outer is None else exp.and_(outer, exists))
        return exp.or_(*found) if found else exp.false()

    def _touched(self, node: Result) -> list[tuple[State, Rows, list[exp.Expr] | None]]:
        """The changed rows below the groups of a subquery, which decide whether its value can change.

        Each with the values of its SELECT list over these rows. None if other rows also decide about them.
        """
        match node:
            case Project():
                outputs: list[exp.Expr] | None = [each for _, each in node.outputs]
                base, inner = node.child, node.child
                shifted = any(map(self.shifts, outputs or ()))
                while isinstance(above_groups(base), (Group, Window)):
                    for each in _above(base):
                        shifted = shifted or any(map(self.shifts, expressions_of(each)))
                    inner = above_groups(base)
                    if isinstance(inner, Group) and outputs is not None:
                        outputs = [_of_group(each, inner) for each in outputs]
                    if isinstance(inner, Window):
                        outputs = None
                    shifted = shifted or any(map(self.shifts, expressions_of(inner)))
                    base = inner.child  # type: ignore[union-attr] # a group or window
                if shifted:
                    return [(state, rows, None) for state, rows in whole_states(base, State.BOTH)]
                return [(state, rows, outputs) for state, rows in self.variants(base, State.BOTH)]
            case Limit():
                return [(state, rows, None) for state, rows, _ in self._touched(node.child)]
            case _:
                return [each for child in children_of(node) for each in self._touched(child)]  # type: ignore[arg-type]

    def _exists(self, rows: Rows, state: State, hint: str = "") -> exp.Expr:
        """The condition that there are rows."""
        name = f"s{len(self.tree.subqueries)}"
        query = _at(Project(rows, (("ip_one", exp.Literal.number(1)),), hint), state)
        outer = outer_aliases(query, self.tree.subqueries)
        self.tree.subqueries[name] = Subquery("exists", (), query, outer)
        self._changed[query] = False
        return column(("ip_sub", name))

    # Results

    def changed(self, node: Result, state: State) -> Result | None:
        """The changed rows of a result in its old state, its new state, or both. None if it has no such rows."""
        if not self.is_changed(node):
            return None
        if (node, state) not in self._results:
            self._results[node, state] = self._changed_result(node, state)
        return self._results[node, state]

    def _changed_result(self, node: Result, state: State) -> Result | None:
        match node:
            case Project():
                if self._is_total(node.child) and self._can_compare(node):
                    return Differing(node, state.changes)
                parts = [each for _, each in node.outputs]
                found = self._of_expressions(node.child, parts, state)
                return _union([_at(replace(node, child=rows), at) for at, rows in found])
            case Union():
                return self._branches(node, state)
            case Distinct() | SetOperation():
                return self._of_values(node, state)
            case Sort():
                return self.changed(node.child, state)
            case Limit():
                if self._can_compare(node):
                    return Differing(node, state.changes)
                return _union([InState(node, one) for one in state.each])
            case Differing() | InState():
                return None

    def _of_expressions(self, node: Rows, parts: Sequence[exp.Expr], state: State) -> list[Variant]:
        """The changed rows, and those for which expressions over them have other values."""
        states = state.each if any(map(self.shifts, parts)) else [state]
        found = [each for one in states for each in self.variants(node, one)]
        return found + self._shifted(node, parts, state)

    def _is_total(self, node: Rows) -> bool:
        """Whether all rows may belong together, so that any change can affect all of them."""
        inner = above_groups(node)
        if isinstance(inner, Group):
            return not inner.keys
        return isinstance(inner, Window) and not all(partitions(inner))

    def _can_compare(self, node: Result) -> bool:
        """Whether the rows of a result can be compared by value between the states."""
        return all(map(tells_apart, self.types.of_result(node)))

    def _branches(self, node: Union, state: State) -> Result | None:
        """The changed rows of each branch. One without such rows is kept if it may determine the types of columns."""
        listed = [self.changed(child, state) for child in node.children]
        if all(each is None for each in listed):
            return None
        types = [self.types.of_result(child) for child in node.children]
        if not all(None not in each and each == types[0] for each in types):
            listed = [
                self.none_of(child) if each is None else each for child, each in zip(node.children, listed, strict=True)
            ]
        names = names_of(node)
        return _union([self.with_names(each, names) for each in listed if each is not None])

    def none_of(self, node: Result) -> Result:
        """A result without its rows, for the types of its columns."""
        alias = self._alias()
        rows = Filter(Alias(node, alias), exp.false())
        return Project(rows, tuple((name, column((alias, name))) for name in names_of(node)))

    def with_names(self, node: Result, names: Sequence[str]) -> Result:
        """A result with other names of its columns."""
        if names_of(node) == tuple(names):
            return node
        alias = self._alias()
        listed = zip(names, names_of(node), strict=True)
        return Project(Alias(node, alias), tuple((name, column((alias, old))) for name, old in listed))

    def _of_values(self, node: Distinct | SetOperation, state: State) -> Result | None:
        """The rows whose values are among the changed rows: the number of rows of a value depends on it alone."""
        names = tuple(f"k{at}" for at in range(len(names_of(node))))
        inner = node.child if isinstance(node, Distinct) else None
        if isinstance(inner, Project) and not isinstance(above_groups(inner.child), Window):
            wanted = [(each, name) for name, each in self.distinguishing(inner)]
            if wanted:
                view = self._view(node, lambda: self._distinct_keys(inner, wanted))
                keys = Keys(view.name, view.names)
                pairs = [(each, key) for (each, _), key in zip(wanted, view.names, strict=True)]
                rows = replace(node, child=replace(inner, child=only(inner.child, pairs, keys, self.tree)))
                return _union([InState(rows, one) for one in state.each])
        sides = [node.child] if isinstance(node, Distinct) else [node.left, node.right]
        view = self._view(node, lambda: self._value_keys(sides, names))
        keys, alias = Keys(view.name, view.names), self._alias()
        columns = dict(zip(names_of(node), names, strict=True))
        rows = restricted(node, columns, keys, self.tree)
        listed = tuple((name, column((alias, name))) for name in columns)
        kept = Keyed(Alias(rows, alias), keys, tuple((columns[name], each) for name, each in listed))
        return _union([InState(Project(kept, listed), one) for one in state.each])

    def distinguishing(self, node: Project) -> list[tuple[str, exp.Expr]]:
        """The outputs of a SELECT DISTINCT that are computed from one row: equal rows are also equal in these."""
        group = above_groups(node.child)
        if isinstance(group, Group):
            keys = [column((group.alias, f"g{at}")) for at in group.common]
            return [(name, each) for name, each in node.outputs if each in keys]
        return [(name, each) for name, each in node.outputs if is_of_row(each)]

    def _distinct_keys(self, node: Project, wanted: Wanted) -> Result:
        keys = {f"k{at}": each for at, (each, _) in enumerate(wanted)}
        found = self.keys_of(node, keys)
        return Distinct(self._all(found)) if found is not None else Distinct(_nothing(len(keys)))

    def _value_keys(self, sides: Sequence[Result], names: Sequence[str]) -> Result:
        found = [self.changed(side, State.BOTH) for side in sides]
        both = _union([self.with_names(each, names) for each in found if each is not None])
        return Distinct(self._all(both)) if both is not None else Distinct(_nothing(len(names)))

    def _view(self, key: object, query: object) -> View:
        if key not in self._views:
            found = query()  # type: ignore[operator]
            self._numbers += 1
            view = View(f"{self._prefix}_{self._numbers}", "", names_of(found))
            self._views[key] = (view, found)
        return self._views[key][0]

    def _alias(self) -> str:
        self._numbers += 1
        return f"ip_c{self._numbers}"

    # Keys

    def keys_of(self, node: Project | Group | Window, keys: Mapping[str, exp.Expr]) -> Result | None:
        """The values of expressions in affected rows, below the groups and windows of a SELECT.

        ``keys``: expressions over the rows of the SELECT, which have one value in each group or partition. None if no
        rows are affected.
        """
        found: list[Result] = []
        rows: Rows
        if isinstance(node, Project):
            rows = node.child
            found += self._keys_at(rows, [each for _, each in node.outputs], keys)
        else:
            rows = node.child
            found += self._keys_at(rows, expressions_of(node), keys)
        while isinstance(inner := above_groups(rows), (Group, Window)):
            _, mapped = into(inner, [(each, name) for name, each in keys.items()])
            if len(mapped) < len(keys):
                found += self._projected([each for one in State.BOTH.each for each in self.variants(rows, one)], keys)
                return _union(found)
            while isinstance(rows, Filter):
                if self.shifts(rows.condition):
                    shifted = self._shifted(rows.child, conjuncts(rows.condition), State.BOTH, are_filters=True)
                    found += self._projected(shifted, keys)
                rows = rows.child
            keys = {name: each for each, name in mapped}
            rows = inner.child
            found += self._keys_at(rows, expressions_of(inner), keys)
        return _union([*self._keys_of_rows(rows, keys), *found])

    def _keys_at(self, node: Rows, parts: Sequence[exp.Expr], keys: Mapping[str, exp.Expr]) -> list[Result]:
        return self._projected(self._shifted(node, parts, State.BOTH), keys)

    def _projected(self, found: Iterable[Variant], keys: Mapping[str, exp.Expr]) -> list[Result]:
        return [_at(Project(rows, tuple(keys.items())), at) for at, rows in found]

    def _keys_of_rows(self, node: Rows, keys: Mapping[str, exp.Expr]) -> list[Result]:
        """The values of expressions in changed rows of FROM and WHERE, read from as few relations as possible."""
        own: dict[Rows, tuple[Sequence[str], Sequence[Match]]] = {}
        if not self.reads_clock(node):
            values, subqueries = list(keys.values()), self.tree.subqueries
            fewer = fewer_relations(node, values, subqueries, self.is_changed, self.has_groups)
            node = fewer.node
            for item in fewer.items:
                names = fewer.columns_of(item.node, values, subqueries)
                if item.node in fewer.matches or self.has_groups(item.node, names):
                    own[item.node] = names, fewer.matches.get(item.node, ())
        states = State.BOTH.each if any(map(self.shifts, keys.values())) else [State.BOTH]
        return self._projected([each for one in states for each in self.variants(node, one, own)], keys)

    def _matching(
        self, node: Scan | Alias, names: Sequence[str], matches: Sequence[Match], state: State
    ) -> Result | None:
        """Some columns of the changed rows of a relation, and of its rows that match changed rows of ``matches``."""
        listed = tuple((name, column((node.alias, name))) for name in names)
        found: list[Result] = []
        own: Result | None
        if names and (state is State.BOTH or self.has_groups(node, names)):
            own = self.affected_values(node, names)
        else:
            own = _union([_at(Project(rows, listed), at) for at, rows in self.variants(node, state)])
        found += [] if own is None else [own]
        conditions = []
        for match in matches:
            text = self._matched(match)
            if text is None:
                continue
            known = self._known_columns(match)
            alias = self._alias()
            if all((node.alias, name) in known for name in names):
                values = ((name, column((alias, _place(match, known[node.alias, name])))) for name in names)
                found.append(Project(Alias(text, alias), tuple(values)))
            else:
                conditions.append(self._matches(match, text))
        if conditions:
            whole = {State.OLD: State.OLD, State.NEW: State.NEW}.get(state, State.EITHER)
            if whole is State.EITHER and not self._only_joins(node):
                wholes = [State.OLD, State.NEW]
            else:
                wholes = [whole]
            rows = [InState(Project(Filter(InState(node, one), exp.or_(*conditions)), listed), State.NEW) for one in wholes]
            found += rows
        return _union(found)

    def _matched(self, match: Match) -> Result | None:
        """The columns of the join in the changed rows of a relation that was left out. None if it has no such rows."""
        node = match.node
        listed = {each: f"k{at}" for at, each in enumerate(match.columns)}
        if not isinstance(node, (Scan, Alias)):
            found = [
                _at(Project(rows, tuple((name, column(each)) for each, name in listed.items())), at)
                for at, rows in self.variants(node, State.BOTH)
            ]
            return _union(found)
        filters = match.filters if isinstance(node, Scan) else ()
        read = [each.name for part in filters for each in part.find_all(exp.Column)]
        names = list(dict.fromkeys([*(name for _, name in match.columns), *read]))
        text = self._matching(node, names, match.matches, State.BOTH)
        if text is None:
            return None
        rows = filtered(Alias(text, node.alias), *filters)
        return Project(rows, tuple((name, column(each)) for each, name in listed.items()))

    def _known_columns(self, match: Match) -> dict[Column, Column]:
        """The columns whose values are those of a column of the relation that was left out, with this column.

        Both columns have the same type, of which equal values are identical, unlike 0.0 and -0.0.
        """
        types = self.types.columns
        return {
            own: other
            for other, own in match.columns.items()
            if tells_apart(types.get(own)) and types.get(own) == types.get(other)
        }

    def _matches(self, match: Match, text: Result) -> exp.Expr:
        """The condition that a row matches a changed row of a relation that was left out."""
        alias = self._alias()
        mine = {each: column((alias, f"k{at}")) for at, each in enumerate(match.columns)}
        equal = [
            each.transform(lambda part: mine.get((part.table, part.name), part) if isinstance(part, exp.Column) else part)
            for each in match.equal
        ]
        types = [self.types.columns.get(each) or "string" for each in match.columns]
        rows = self._most_rows(match.node, changed=not match.matches)
        hint = "" if rows is None else self._broadcast(alias, rows, types)
        return self._exists(filtered(Alias(text, alias), *equal), State.NEW, hint)

    def _most_rows(self, node: Node, *, changed: bool) -> int | None:
        """The maximum number of rows, or of changed rows, of an operator in either state. None if it is unknown."""
        if isinstance(node, Scan):
            states = self._tables[node.table]
            if changed:
                return states.most_changes
            return None if states.rows is None else states.rows + (states.most_changes or 0)
        children = children_of(node)
        has_others = isinstance(node, Generate) or any(map(subqueries_in, expressions_of(node)))
        return None if len(children) != 1 or has_others else self._most_rows(children[0], changed=changed)

    def has_groups(self, node: Rows, names: Sequence[str]) -> bool:
        """Whether columns of a derived table have the values of the expressions by which it keeps rows together."""
        found = self._groups_of(node, names)
        return found is not None and found[1] is not None

    def _groups_of(self, node: Rows, names: Sequence[str]) -> tuple[Project, list[exp.Expr] | None] | None:
        """The SELECT of a derived table, and the expressions of some columns if they are those of groups."""
        found = node.child if isinstance(node, Alias) else None
        while isinstance(found, (Sort, Distinct)):
            if isinstance(found, Distinct) and (
                not isinstance(found.child, Project) or isinstance(above_groups(found.child.child), (Group, Window))
            ):
                return None
            is_distinct, found = isinstance(found, Distinct), found.child
            if is_distinct:
                assert isinstance(found, Project)
                values = [dict(found.outputs)[name] for name in names]
                return found, values if names and all(map(is_of_row, values)) else None
        if not isinstance(found, Project) or not names:
            return None
        outputs = dict(found.outputs)
        values, inner = [outputs[name] for name in names], above_groups(found.child)
        if isinstance(inner, Group):
            keys = [column((inner.alias, f"g{at}")) for at in range(len(inner.keys))]
            constants = [each for each in inner.keys if each.find(exp.Column) is None]
            return found, values if inner.sets is None and all(each in (*keys, *constants) for each in values) else None
        if isinstance(inner, Window):
            listed = partitions(inner)
            # rows of the same partition may have different values, such as 0.0 and -0.0
            one = len(listed) == 1 and all(each in listed[0] and tells_apart(self.types.of(each)) for each in values)
            return found, values if one else None
        return found, None

    def affected_values(self, node: Scan | Alias, names: Sequence[str]) -> Result | None:
        """The values of columns in a relation's changed rows. None if it has no such rows."""
        listed = tuple((name, column((node.alias, name))) for name in names)
        if not self.is_changed(node):
            return None
        known = self._groups_of(node, names)
        if known is not None and not outer_aliases(node, self.tree.subqueries):
            select, values = known
            inner = above_groups(select.child)
            if values is None and not isinstance(inner, (Group, Window)):
                outputs = {name: dict(select.outputs)[name] for name in names}
                if all(map(is_of_row, outputs.values())) and not isinstance(node.child, Distinct):  # type: ignore[union-attr]
                    return self.keys_of(select, outputs)
            if values is not None and isinstance(inner, (Group, Window)):
                return self._from_view(inner, dict(zip(names, values, strict=True)))
            if values is not None:
                return self.keys_of(select, dict(zip(names, values, strict=True)))
        found = self.variants(node, State.BOTH)
        return _union([_at(Project(rows, listed), at) for at, rows in found])

    def _from_view(self, node: Group | Window, values: Mapping[str, exp.Expr]) -> Result:
        """The values of groups or partitions that contain a changed row, from the view of these."""
        alias = self._alias()
        if isinstance(node, Group):
            members = tuple(range(len(node.keys)))
            view = self._view((node, members), lambda: self._groups(node, list(node.keys)))
            keys: list[exp.Expr] = [
                column((node.alias, f"g{at}")) if each.find(exp.Column) is not None else each
                for at, each in enumerate(node.keys)
            ]
        else:
            (keys,) = partitions(node)
            view = self._view((node, "common"), lambda: self._groups(node, keys))
        places = {name: column((alias, view.names[keys.index(each)])) for name, each in values.items()}
        return Project(View(view.name, alias, view.names), tuple(places.items()))


def _below(node: Rows) -> list[Rows]:
    return [node, *(each for child in children_of(node) for each in _below(child))]  # type: ignore[arg-type, list-item]


def _above(node: Rows) -> list[Rows]:
    """The filters on top of rows."""
    return [node, *_above(node.child)] if isinstance(node, Filter) else []


def _of_group(node: exp.Expr, group: Group) -> exp.Expr:
    """An expression over the columns of groups as one over the rows below, where that is possible."""
    keys = {column((group.alias, f"g{at}")): group.keys[at] for at in group.common}
    found = node.transform(lambda each: keys[each].copy() if each in keys else each)
    # the value of an aggregate is not one of a row
    is_measure = any(each.table == group.alias for each in found.find_all(exp.Column))
    return exp.Anonymous(this="count", expressions=[exp.Star()]) if is_measure else found


def _at(node: Result, state: State) -> InState:
    """A result in a state. Changed rows of both states are joined with relations that have not changed."""
    return InState(node, State.NEW if state is State.BOTH else state)


def _place(match: Match, found: Column) -> str:
    return f"k{list(match.columns).index(found)}"


def _union(found: Sequence[Result]) -> Result | None:
    return None if not found else found[0] if len(found) == 1 else Union(tuple(found))


def _nothing(columns: int) -> Project:
    outputs = tuple((f"k{at}", exp.null()) for at in range(columns))
    return Project(Filter(One(), exp.false()), outputs)

"""The rows of a query's operators that a change of its sources can affect.

The invariant: the rows of an operator without its changed rows are the same in both states. Unaffected rows among the
changed rows only cost time. Each rule is one case of ``Changes.variants`` for rows, or of ``Changes.changed`` for
results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from ..algebra import nodes as op
from ..algebra.look_back import partitions, reads, without_windows
from ..algebra.nodes import SUBQUERY, column
from ..states import Keys, State
from ..text.clock import at_checkpoint, compared_parts
from .keys import Match, fewer_relations
from .matching import has_groups, matching
from .restrict import into, only, restricted
from .run import (
    Run,
    Variant,
    at_state,
    none_of,
    nothing_of,
    now,
    of_group,
    of_values,
    renamed,
    together,
    union_of,
    whole_states,
)
from .windows import affected_of_windows, keys_of_windows

_Own = Mapping[op.Rows, tuple[Sequence[str], Sequence[Match]]]
"""Relations of which only some columns are read, and those that were left out and match them."""


class Changes(Run):
    """The changes of the operators of one query in one run."""

    # Rows

    def variants(  # noqa: C901 (one case per operator)
        self, node: op.Rows, state: State, own: _Own | None = None
    ) -> list[Variant]:
        """The changed rows of an operator. ``state``: OLD or NEW for those of one state, or BOTH for all of them.

        ``own``: relations that also match changed rows of relations that were left out.
        """
        if own and node in own:
            assert isinstance(node, (op.Scan, op.Alias))
            found = matching(self, node, *own[node], state)
            return [] if found is None else [(state, op.Alias(found, node.alias))]
        match node:
            case op.One() | op.View() | op.Delta() | op.Keyed() | op.RowsInState():
                return []
            case op.Scan():
                return [(state, op.Delta(node, state.changes))] if self.has(node, state.changes) else []
            case op.Values():
                return whole_states(node, state) if self.is_changed(node) else []
            case op.Alias():
                if not self.is_changed(node.child):
                    return []
                if op.outer_aliases(node.child, self.tree.subqueries):  # no view has the rows for each row around it
                    return whole_states(node, state)
                found = self.changed(node.child, state)
                return [] if found is None else [(state, op.Alias(found, node.alias))]
            case op.Filter():
                return self._filter(node, state, own)
            case op.Generate():
                return self._generate(node, state, own)
            case op.Join(kind="inner"):
                return self._inner_join(node, state, own)
            case op.Join(kind="left" | "right"):
                return self._outer_join(node, state, own)
            case op.Join(kind="full"):
                return self._full_join(node, state, own)
            case op.Join():
                return self._semi_join(node, state, own)
            case op.Group():
                return self._group(node, state) if self.is_changed(node) else []
            case op.Window():
                return affected_of_windows(self, node, state) if self.is_changed(node) else []

    def _has_changed(self, node: op.Rows, own: _Own | None) -> bool:
        return self.is_changed(node) or bool(own and any(each in own for each in _below(node)))

    def _filter(self, node: op.Filter, state: State, own: _Own | None) -> list[Variant]:
        """Changed rows, and rows for which the condition is decided otherwise."""
        states = state.each if self.shifts(node.condition) else [state]
        found = [(at, replace(node, child=each)) for one in states for at, each in self.variants(node.child, one, own)]
        conditions = op.conjuncts(node.condition)
        return [*found, *self._shifted(node.child, conditions, state, are_filters=True)]

    def _generate(self, node: op.Generate, state: State, own: _Own | None) -> list[Variant]:
        """What changed rows generate, and rows for which the subquery of JOIN LATERAL may return others."""
        if any(self.shifts(each) for each in op.expressions_of(node) if not op.subqueries_in(each)):
            return whole_states(node, state)
        found = self._of_expressions(node.child, [node.call], state, own)
        return [(at, replace(node, child=each)) for at, each in found]

    def _inner_join(self, node: op.Join, state: State, own: _Own | None) -> list[Variant]:
        """Changed rows of one side with all rows of the other one."""
        if node.on is not None and self.shifts(node.on):
            return self._filter(op.Filter(replace(node, on=None), node.on), state, own)
        sides = [self._has_changed(each, own) for each in (node.left, node.right)]
        adds = state is State.BOTH and all(sides) and self.only_joins(node)
        if all(sides) and state is State.BOTH and not adds:
            return [each for one in state.each for each in self._inner_join(node, one, own)]
        left, right = ((op.RowsInState(each, State.EITHER) if adds else each) for each in (node.left, node.right))
        found: list[Variant] = []
        found += [(at, replace(node, left=each, right=right)) for at, each in self.variants(node.left, state, own)]
        found += [(at, replace(node, left=left, right=each)) for at, each in self.variants(node.right, state, own)]
        return found

    def _outer_join(self, node: op.Join, state: State, own: _Own | None) -> list[Variant]:
        """Changed rows of the preserved side, and rows that a changed row of the other side meets in either state."""
        left = node.kind == "left"
        preserved, optional = (node.left, node.right) if left else (node.right, node.left)
        found: list[Variant] = []
        met = self._met_by(optional, node.on, own)
        for one in state.each if met is not None else [state]:
            for at, each in self.variants(preserved, one, own):
                found.append((at, replace(node, left=each) if left else replace(node, right=each)))
            found += [] if met is None else [(one, op.Filter(node, met))]
        return found

    def _full_join(self, node: op.Join, state: State, own: _Own | None) -> list[Variant]:
        """The rows of the left join, and rows of the right side that may have no partner.

        These are its changed rows, and those that a changed row of the left side meets in either state.
        """
        found = self._outer_join(replace(node, kind="left"), state, own)
        alone = self.variants(node.right, state, own)
        if (met := self._met_by(node.left, node.on, own)) is not None:
            alone += [(at, op.Filter(rows, met)) for at, rows in self.whole(node.right, state)]
        nothing = op.Filter(node.left, exp.false())
        return found + [(at, replace(node, kind="right", left=nothing, right=each)) for at, each in alone]

    def _semi_join(self, node: op.Join, state: State, own: _Own | None) -> list[Variant]:
        """Changed rows of the left side, and those that a changed row of the right side meets in either state."""
        met = self._met_by(node.right, node.on, own)
        if met is None:
            return [(at, replace(node, left=each)) for at, each in self.variants(node.left, state, own)]
        found: list[Variant] = [(at, op.Filter(rows, met)) for at, rows in self.whole(node.left, state)]
        for one in state.each if self._has_changed(node.left, own) else ():
            found += [(at, replace(node, left=each)) for at, each in self.variants(node.left, one, own)]
        return found

    def _met_by(self, side: op.Rows, on: exp.Expr | None, own: _Own | None) -> exp.Expr | None:
        """The condition that a row of the other side meets a changed row of a side, or another row than before.

        None if there are no such rows.
        """
        parts = op.conjuncts(on)
        steady = [each for each in parts if not op.subqueries_in(each) and not self.shifts(each)]
        found = [self.exists(op.filtered(each, *steady), at) for at, each in self.variants(side, State.BOTH, own)]
        mine = {alias for alias, _ in op.columns_of(side)}
        for part in [each for each in parts if self.shifts(each)]:
            read = {alias for alias, _ in op.read_columns(part, self.tree.subqueries)}
            condition = exp.or_(*self._shift_conditions([part], side))
            if read <= mine or not op.subqueries_in(part):
                found += [self.exists(op.filtered(side, *steady, condition), one) for one in State.BOTH.each]
            else:  # a subquery cannot read columns of a query around the query around it
                found.append(exp.true() if read & mine else condition)
        return exp.or_(*found) if found else None

    def _group(self, node: op.Group, state: State) -> list[Variant]:
        """The groups of each grouping set that contain a changed row."""
        found: list[Variant] = []
        for members in node.sets or (tuple(range(len(node.keys))),):
            one = node if node.sets is None else replace(node, sets=(members,))
            if not members:
                found += whole_states(one, state)
                continue
            keys = [node.keys[at] for at in members]
            view = self.view_of(node, members, keys)
            pairs = list(zip(keys, view.names, strict=True))
            rows = only(node.child, pairs, Keys(view.name, view.names), self.tree)
            found += whole_states(replace(one, child=rows), state)
        return found

    def view_of(self, node: op.Group | op.Window, at: object, keys: Sequence[exp.Expr]) -> op.View:
        """The view of groups or partitions with a changed row, as in ``Run``.

        That of partitions of windows that only look back also has the first changed value of their order.
        """
        back = self.look_back(node) if isinstance(node, op.Window) and at == "common" else None
        if back is None:
            return self.view((node, at), partial(self._groups, node, keys))
        return self.view((node, at), lambda: back.first(self._values(node, back.parts), self.alias()))

    def _groups(self, node: op.Project | op.Group | op.Window, keys: Sequence[exp.Expr]) -> op.Result:
        return op.Distinct(self._values(node, keys))

    def _values(self, node: op.Project | op.Group | op.Window, keys: Sequence[exp.Expr]) -> op.Result:
        """The values of expressions in changed rows below groups or partitions."""
        found = self.keys_of(node, {f"k{at}": each for at, each in enumerate(keys)})
        return nothing_of(len(keys)) if found is None else found

    # Rows for which an expression has another value

    def _shifted(
        self, node: op.Rows, parts: Sequence[exp.Expr], state: State, *, are_filters: bool = False
    ) -> list[Variant]:
        """The rows for which expressions may differ between the states, although the row has not changed.

        ``are_filters``: whether only rows matter for which all expressions are true.
        """
        found: list[Variant] = []
        if (differs := self._clock_condition(parts)) is not None:
            found += [(one, op.filtered(node, differs, *(parts if are_filters else ()))) for one in state.each]
        for part in parts:
            others = [each for each in parts if each is not part] if are_filters else []
            conditions = self._subquery_conditions(part, node, are_filters=are_filters)
            whole = whole_states(node, state) if any(map(self.shifts, others)) else self.whole(node, state)
            found += [(at, op.filtered(rows, *others, each)) for each in conditions for at, rows in whole]
        return found

    def _shift_conditions(self, parts: Sequence[exp.Expr], around: op.Rows) -> list[exp.Expr]:
        """The conditions for the rows for which expressions may differ between the states."""
        clock = self._clock_condition(parts)
        found = [each for part in parts for each in self._subquery_conditions(part, around, are_filters=False)]
        return found if clock is None else [clock, *found]

    def _clock_condition(self, parts: Sequence[exp.Expr]) -> exp.Expr | None:
        """The condition for the rows for which expressions differ by the clock alone. None if they do not read it."""
        found = [each for part in parts for each in compared_parts(part, self._moved)] if self._moved else []
        same = [
            exp.NullSafeEQ(this=exp.paren(at_checkpoint(each)), expression=exp.paren(now(each)))
            for each in dict.fromkeys(found)
        ]
        return exp.or_(*map(exp.not_, same)) if same else None

    def _subquery_conditions(self, part: exp.Expr, around: op.Rows, *, are_filters: bool) -> list[exp.Expr]:
        """The conditions for the rows for which the values of an expression's subqueries can change."""
        return [
            self._can_change(found, around, must_be_true=are_filters and part == column((SUBQUERY, name)))
            for name in dict.fromkeys(op.subqueries_in(part))
            if self.is_changed_subquery(name)
            for found in [self.tree.subqueries[name]]
        ]

    def _can_change(self, node: op.Subquery, around: op.Rows, *, must_be_true: bool) -> exp.Expr:
        """The condition for the rows ``around`` for which the value of a subquery can change.

        A changed row affects IN if its value is equal, or if one of both values is NULL. These are separate conditions,
        because Spark joins by hash for an equality, but compares all pairs of rows for other conditions.
        """
        if any(map(self.shifts, node.values)):
            return exp.true()
        found, group = [], op.above_groups(around)
        # a subquery cannot read an aggregate of the query around it
        reads_rows = not any(
            isinstance(group, op.Group) and each.table == group.alias and each.name.startswith("m")
            for value in node.values
            for each in value.find_all(exp.Column)
        )
        for state, rows, outputs in self._touched(node.query):
            compared = (outputs or ()) if reads_rows else ()
            conditions = of_values(node.values, compared, self.types, must_be_true=must_be_true)
            for inner, outer in conditions:
                exists = self.exists(op.filtered(rows, *inner), state)
                found.append(exists if outer is None else exp.and_(outer, exists))
        return exp.or_(*found) if found else exp.false()

    def _touched(self, node: op.Result, *, shifted: bool = False) -> list[tuple[State, op.Rows, list[exp.Expr] | None]]:
        """The changed rows below the groups of a subquery, which decide whether its value can change.

        Each with the values of its SELECT list over these rows. None if other rows also decide about them.
        ``shifted``: whether rows that have not changed may also have other values, such as in ORDER BY.
        """
        shifted = shifted or any(map(self.shifts, op.expressions_of(node)))
        match node:
            case op.Project():
                outputs: list[exp.Expr] | None = [each for _, each in node.outputs]
                base, inner = node.child, node.child
                while isinstance(op.above_groups(base), (op.Group, op.Window)):
                    for each in _above(base):
                        shifted = shifted or any(map(self.shifts, op.expressions_of(each)))
                    inner = op.above_groups(base)
                    if isinstance(inner, op.Group) and outputs is not None:
                        outputs = [of_group(each, inner) for each in outputs]
                    if isinstance(inner, op.Window):
                        outputs = None
                    shifted = shifted or any(map(self.shifts, op.expressions_of(inner)))
                    base = inner.child  # type: ignore[union-attr, assignment] # of rows
                if shifted:
                    return [(state, rows, None) for state, rows in whole_states(base, State.BOTH)]
                return [(state, rows, outputs) for state, rows in self.variants(base, State.BOTH)]
            case _:
                children: Sequence[op.Result] = op.children_of(node)  # type: ignore[assignment] # of results
                found = [each for child in children for each in self._touched(child, shifted=shifted)]
                has_values = not isinstance(node, (op.Limit, op.Opaque))
                return [(state, rows, outputs if has_values else None) for state, rows, outputs in found]

    # Results

    def changed(self, node: op.Result, state: State) -> op.Result | None:
        """The changed rows of a result in its old state, its new state, or both. None if it has no such rows."""
        if not self.is_changed(node):
            return None
        if (node, state) not in self._results:
            self._results[node, state] = self._changed_result(node, state)
        return self._results[node, state]

    def _changed_result(self, node: op.Result, state: State) -> op.Result | None:
        match node:
            case op.Project():
                if self.is_total(node.child) and self.can_compare(node):
                    return op.Differing(node, state.changes)
                parts = [each for _, each in node.outputs]
                found = self._of_expressions(node.child, parts, state)
                return union_of([at_state(replace(node, child=rows), at) for at, rows in found])
            case op.Union():
                return self._branches(node, state)
            case op.Distinct() | op.SetOperation():
                return self._of_values(node, state)
            case op.Sort():
                return self.changed(node.child, state)
            case op.Limit() | op.Opaque():
                if self.can_compare(node):
                    return op.Differing(node, state.changes)
                return union_of([op.InState(node, one) for one in state.each])
            case op.Differing() | op.InState():
                return None

    def _of_expressions(
        self, node: op.Rows, parts: Sequence[exp.Expr], state: State, own: _Own | None = None
    ) -> list[Variant]:
        """The changed rows, and those for which expressions over them have other values.

        Also rows that have not changed are read in each state, because the expressions have both values.
        """
        states = state.each if any(map(self.shifts, parts)) else [state]
        return [each for one in states for each in (*self.variants(node, one, own), *self._shifted(node, parts, one))]

    def _branches(self, node: op.Union, state: State) -> op.Result | None:
        """The changed rows of each branch. One without such rows is kept if it may determine the types of columns."""
        listed = [self.changed(child, state) for child in node.children]
        if all(each is None for each in listed):
            return None
        if not self.has_one_type(node):
            listed = [
                none_of(child, self.alias()) if each is None else each
                for child, each in zip(node.children, listed, strict=True)
            ]
        names = op.names_of(node)
        return union_of([renamed(each, names, self.alias()) for each in listed if each is not None])

    def _of_values(self, node: op.Distinct | op.SetOperation, state: State) -> op.Result | None:
        """The rows whose values are among the changed rows: the number of rows of a value depends on it alone."""
        names = tuple(f"k{at}" for at in range(len(op.names_of(node))))
        if isinstance(node, op.Distinct) and isinstance(select := node.child, op.Project):
            values = together(select, is_distinct=True)
            if values and not isinstance(op.above_groups(select.child), op.Window):
                view = self.view(node, partial(self._groups, select, values))
                keys = Keys(view.name, view.names)
                kept = only(select.child, list(zip(values, view.names, strict=True)), keys, self.tree)
                return union_of([op.InState(op.Distinct(replace(select, child=kept)), one) for one in state.each])
        sides = [node.child] if isinstance(node, op.Distinct) else [node.left, node.right]
        view = self.view(node, lambda: self._value_keys(sides, names))
        keys, alias = Keys(view.name, view.names), self.alias()
        columns = dict(zip(op.names_of(node), names, strict=True))
        rows = op.Alias(restricted(node, columns, keys, self.tree), alias)
        listed = tuple((name, column((alias, name))) for name in columns)
        found = op.Project(op.Keyed(rows, keys, tuple((columns[name], each) for name, each in listed)), listed)
        return union_of([op.InState(found, one) for one in state.each])

    def _value_keys(self, sides: Sequence[op.Result], names: Sequence[str]) -> op.Result:
        both = self.values_of(sides, names)
        return op.Distinct(nothing_of(len(names)) if both is None else both)

    def values_of(self, sides: Sequence[op.Result], names: Sequence[str]) -> op.Result | None:
        """The changed rows of some results in both states. None if there are none."""
        found = [self.changed(side, State.BOTH) for side in sides]
        return union_of([renamed(each, names, self.alias()) for each in found if each is not None])

    # Keys

    def keys_of(self, node: op.Project | op.Group | op.Window, keys: Mapping[str, exp.Expr]) -> op.Result | None:
        """The values of expressions in affected rows, below the groups and windows of a SELECT.

        ``keys``: expressions over the rows of the SELECT, which have one value in each group or partition. None if no
        rows are affected.
        """
        rows = node.child
        found = self._keys_at(rows, op.expressions_of(node), keys)
        while isinstance(inner := op.above_groups(rows), (op.Group, op.Window)):
            _, mapped = into(inner, [(each, name) for name, each in keys.items()])
            if len(mapped) < len(keys):
                finer = self._finer_keys(inner, keys) if isinstance(inner, op.Window) else None
                if finer is not None:
                    return union_of([*found, *self._keys_of_filters(rows, keys), *finer])
                of_rows = [each for one in State.BOTH.each for each in self.variants(rows, one)]
                return union_of([*found, *self._projected(of_rows, keys)])
            found += self._keys_of_filters(rows, keys)
            keys = {name: each for each, name in mapped}
            rows = inner.child
            found += self._keys_at(rows, op.expressions_of(inner), keys)
        return union_of([*self._keys_of_rows(rows, keys), *found])

    def _finer_keys(self, node: op.Window, keys: Mapping[str, exp.Expr]) -> list[op.Result] | None:
        """The values of keys that differ within partitions, in affected rows. None if the windows must be computed."""
        if len(partitions(node)) > 1 or self.is_total(node) or reads(keys.values(), node):
            return None
        if any(map(self.shifts, keys.values())):
            return None
        return keys_of_windows(self, node, keys) if self.is_changed(node) else []

    def _keys_of_filters(self, node: op.Rows, keys: Mapping[str, exp.Expr]) -> list[op.Result]:
        """The values of expressions in rows for which the filters on top of groups or windows are decided otherwise."""
        found: list[op.Result] = []
        while isinstance(node, op.Filter):
            if self.shifts(node.condition):
                shifted = self._shifted(node.child, op.conjuncts(node.condition), State.BOTH, are_filters=True)
                found += self._projected(shifted, keys)
            node = node.child
        return found

    def _keys_at(self, node: op.Rows, parts: Sequence[exp.Expr], keys: Mapping[str, exp.Expr]) -> list[op.Result]:
        found = [each for one in self._states_of_keys(keys) for each in self._shifted(node, parts, one)]
        return self._projected(found, keys)

    def _states_of_keys(self, keys: Mapping[str, exp.Expr]) -> list[State]:
        """The states in which keys are computed. Keys that may differ for the same row are computed in each."""
        return State.BOTH.each if any(map(self.shifts, keys.values())) else [State.BOTH]

    def _projected(self, found: Iterable[Variant], keys: Mapping[str, exp.Expr]) -> list[op.Result]:
        return [at_state(op.Project(rows, tuple(keys.items())), at) for at, rows in found]

    def _keys_of_rows(self, node: op.Rows, keys: Mapping[str, exp.Expr]) -> list[op.Result]:
        """The values of expressions in changed rows of FROM and WHERE, read from as few relations as possible."""
        own: dict[op.Rows, tuple[Sequence[str], Sequence[Match]]] = {}
        if not self.reads_clock(node):
            values, subqueries = list(keys.values()), self.tree.subqueries
            fewer = fewer_relations(node, values, subqueries, self.is_changed, partial(has_groups, self))
            node = fewer.node
            for item in fewer.items:
                names = fewer.columns_of(item.node, values, subqueries)
                is_pruned = isinstance(item.node, op.Alias) and without_windows(item.node, names) is not item.node
                if item.node in fewer.matches or has_groups(self, item.node, names) or is_pruned:
                    own[item.node] = names, fewer.matches.get(item.node, ())
        states = self._states_of_keys(keys)
        return self._projected([each for one in states for each in self.variants(node, one, own)], keys)


def _below(node: op.Rows) -> list[op.Rows]:
    return [node, *(each for child in op.children_of(node) for each in _below(child))]  # type: ignore[arg-type]


def _above(node: op.Rows) -> list[op.Rows]:
    """The filters on top of rows."""
    return [node, *_above(node.child)] if isinstance(node, op.Filter) else []

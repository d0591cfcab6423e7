"""The changed rows of relations from which others were left out, including rows that match changed rows of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ..algebra import nodes as op
from ..algebra.look_back import partitions, reads, without_windows
from ..algebra.nodes import column
from ..states import State
from ..text.supported import is_of_row
from ..text.types import tells_apart
from .keys import Match
from .run import Run, at_state, together, union_of


def matching(
    run: Run, node: op.Scan | op.Alias, names: Sequence[str], matches: Sequence[Match], state: State
) -> op.Result | None:
    """Some columns of the changed rows of a relation, and of its rows that match changed rows of ``matches``."""
    listed = tuple((name, column((node.alias, name))) for name in names)
    found: list[op.Result] = []
    own: op.Result | None
    if names and (state is State.BOTH or has_groups(run, node, names)):
        own = affected_values(run, node, names)
    else:
        own = union_of([at_state(op.Project(rows, listed), at) for at, rows in run.variants(node, state)])
    found += [] if own is None else [own]
    conditions = []
    for match in matches:
        text = matched(run, match)
        if text is None:
            continue
        known = _known_columns(run, match)
        alias = run.alias()
        if all((node.alias, name) in known for name in names):
            values = ((name, column((alias, _place(match, known[node.alias, name])))) for name in names)
            found.append(op.Project(op.Alias(text, alias), tuple(values)))
        else:
            conditions.append(_matches(run, match, text))
    if conditions:
        read = {each for part in conditions for each in op.read_columns(part, run.tree.subqueries)}
        needed = {*names, *(name for alias, name in read if alias == node.alias)}
        whole = run.whole(without_windows(node, needed), state)
        matched_rows = [(at, op.Filter(rows, exp.or_(*conditions))) for at, rows in whole]
        found += [at_state(op.Project(rows, listed), at) for at, rows in matched_rows]
    return union_of(found)


def matched(run: Run, match: Match) -> op.Result | None:
    """The columns of the join in the changed rows of a relation that was left out. None if it has no such rows."""
    node = match.node
    listed = {each: f"k{at}" for at, each in enumerate(match.columns)}
    if not isinstance(node, (op.Scan, op.Alias)):
        found = [
            at_state(op.Project(rows, tuple((name, column(each)) for each, name in listed.items())), at)
            for at, rows in run.variants(node, State.BOTH)
        ]
        return union_of(found)
    filters = match.filters if isinstance(node, op.Scan) else ()
    read = [each.name for part in filters for each in part.find_all(exp.Column)]
    names = list(dict.fromkeys([*(name for _, name in match.columns), *read]))
    text = matching(run, node, names, match.matches, State.BOTH)
    if text is None:
        return None
    rows = op.filtered(op.Alias(text, node.alias), *filters)
    return op.Project(rows, tuple((name, column(each)) for each, name in listed.items()))


def _known_columns(run: Run, match: Match) -> dict[op.Column, op.Column]:
    """The columns whose values are those of a column of the relation that was left out, with this column.

    Both columns have the same type, of which equal values are identical, unlike 0.0 and -0.0.
    """
    types = run.types.columns
    return {
        own: other
        for other, own in match.columns.items()
        if tells_apart(types.get(own)) and types.get(own) == types.get(other)
    }


def _matches(run: Run, match: Match, text: op.Result) -> exp.Expr:
    """The condition that a row matches a changed row of a relation that was left out."""
    alias = run.alias()
    mine = {each: column((alias, f"k{at}")) for at, each in enumerate(match.columns)}

    def over_view(part: exp.Expr) -> exp.Expr:
        return mine.get((part.table, part.name), part) if isinstance(part, exp.Column) else part

    equal = [each.transform(over_view) for each in match.equal]
    types = [run.types.columns.get(each) or "string" for each in match.columns]
    rows = _most_rows(run, match.node, changed=not match.matches)
    hint = "" if rows is None else run.broadcast(alias, rows, types)
    return run.exists(op.filtered(op.Alias(text, alias), *equal), State.NEW, hint)


def _most_rows(run: Run, node: op.Node, *, changed: bool) -> int | None:
    """The maximum number of rows, or of changed rows, of an operator in either state. None if it is unknown."""
    if isinstance(node, op.Scan):
        states = run.tables[node.table]
        if changed:
            return states.most_changes
        return None if states.rows is None else states.rows + (states.most_changes or 0)
    children = op.children_of(node)
    has_others = isinstance(node, op.Generate) or any(map(op.subqueries_in, op.expressions_of(node)))
    return None if len(children) != 1 or has_others else _most_rows(run, children[0], changed=changed)


def has_groups(run: Run, node: op.Rows, names: Sequence[str]) -> bool:
    """Whether columns of a derived table have the values of the expressions by which it keeps rows together."""
    found = _groups_of(run, node, names)
    return found is not None and found[1] is not None


def _groups_of(run: Run, node: op.Rows, names: Sequence[str]) -> tuple[op.Project, list[exp.Expr] | None] | None:
    """The SELECT of a derived table, and the expressions of some columns if they are those of groups."""
    found, is_distinct = node.child if isinstance(node, op.Alias) else None, False
    while isinstance(found, op.Distinct) and not is_distinct:
        found, is_distinct = found.child, True
    if not isinstance(found, op.Project) or not names:
        return None
    outputs, inner = dict(found.outputs), op.above_groups(found.child)
    values, kept = [outputs[name] for name in names], together(found, is_distinct=is_distinct)
    if isinstance(inner, (op.Group, op.Window)) and (is_distinct or getattr(inner, "sets", None) is not None):
        return None if is_distinct else (found, None)
    if kept is None or not all(each in kept for each in values):
        return None if is_distinct else (found, None)
    # rows of the same partition may have different values, such as 0.0 and -0.0
    is_one = not isinstance(inner, op.Window) or all(tells_apart(run.types.of(each)) for each in values)
    return found, values if is_one else None


def affected_values(run: Run, node: op.Scan | op.Alias, names: Sequence[str]) -> op.Result | None:
    """The values of columns in a relation's changed rows. None if it has no such rows."""
    listed = tuple((name, column((node.alias, name))) for name in names)
    if not run.is_changed(node):
        return None
    known = _groups_of(run, node, names)
    if known is not None and not op.outer_aliases(node, run.tree.subqueries):
        select, values = known
        inner = op.above_groups(select.child)
        if values is None and not isinstance(inner, op.Group):
            outputs = {name: dict(select.outputs)[name] for name in names}
            reads_windows = isinstance(inner, op.Window) and reads(outputs.values(), inner)
            if not reads_windows and all(map(is_of_row, outputs.values())):
                return run.keys_of(select, outputs)
        if values is not None and isinstance(inner, (op.Group, op.Window)):
            return _from_view(run, inner, dict(zip(names, values, strict=True)))
        if values is not None:
            return run.keys_of(select, dict(zip(names, values, strict=True)))
    found = run.variants(node, State.BOTH)
    return union_of([at_state(op.Project(rows, listed), at) for at, rows in found])


def _from_view(run: Run, node: op.Group | op.Window, values: Mapping[str, exp.Expr]) -> op.Result:
    """The values of groups or partitions that contain a changed row, from the view of these."""
    alias = run.alias()
    if isinstance(node, op.Group):
        members = tuple(range(len(node.keys)))
        view = run.view_of(node, members, list(node.keys))
        keys: list[exp.Expr] = [
            column((node.alias, f"g{at}")) if each.find(exp.Column) is not None else each
            for at, each in enumerate(node.keys)
        ]
    else:
        (keys,) = partitions(node)
        view = run.view_of(node, "common", keys)
    places = {name: column((alias, view.names[keys.index(each)])) for name, each in values.items()}
    return op.Project(op.View(view.name, alias, view.names), tuple(places.items()))


def _place(match: Match, found: op.Column) -> str:
    return f"k{list(match.columns).index(found)}"

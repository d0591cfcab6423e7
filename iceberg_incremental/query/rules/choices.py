"""The affected keys of a query in which other parts depend on a choice among rows, such as ``row_number()``.

Only the table shows which row was chosen. If the choice is computed again, another row may be chosen, even in the old
state. It is therefore unknown which rows the chosen row was joined with, and which filters it passed. However, all rows
that depend on a choice have the key values of its group or partition. A key is affected only if a relation that is
joined with a choice has changed rows with this key, or rows that meet one of the rows that may be chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from ..algebra import nodes as op
from ..algebra.flow import level_nodes
from ..algebra.nodes import Project, Result, column
from ..text.supported import is_of_row
from .keys import meeting
from .matching import affected_values
from .restrict import Leaf, below, common_keys, selects, sources
from .run import Run


def keys_of_choices(
    node: Result, columns: Mapping[str, str], changes: Run, choosing: Collection[Project]
) -> list[Result] | None:
    """The queries for the affected keys of a result. None if they are unknown for a changed relation.

    ``columns``: the key columns, by the names of the result's columns with their values. ``choosing``: the SELECTs that
    choose among rows.
    """
    wanted = set(columns.values())
    found: list[Result] = []
    listed = list(selects(node, changes.tree, columns))
    for select, values in listed:
        base, expressions = below(select.child, values)
        keys = {key: each for each, key in expressions}
        if keys.keys() != wanted or changes.reads_clock(select):
            return None
        leaves = sources(select, values, changes.tree)
        if len(listed) == 1 and not any(_depends_on_choices(leaf, changes, choosing) for leaf, _ in leaves):
            of_rows = changes.keys_of(select, {key: each for each, key in values})
            return [] if of_rows is None else [of_rows]
        for leaf, held in leaves:
            if not changes.is_changed(leaf):
                continue
            names = {key: name for name, key in held.exact.items()}
            has_keys = names.keys() == wanted
            of_leaf = (_keys_in(leaf, names, changes, choosing) if has_keys
                       else _keys_met(base, keys, leaf, changes, choosing))  # fmt: skip
            if of_leaf is None:
                return None
            found += of_leaf
    return found


def _keys_in(leaf: Leaf, names: Mapping[str, str], changes: Run, choosing: Collection[Project]) -> list[Result] | None:
    """The keys in changed rows of a relation. ``names``: its columns with their values, by key column."""
    if isinstance(leaf, op.Alias) and _depends_on_choices(leaf, changes, choosing):
        return keys_of_choices(leaf.child, {name: key for key, name in names.items()}, changes, choosing)
    rows = affected_values(changes, leaf, list(names.values()))
    if rows is None:
        return []
    alias = changes.alias()
    return [Project(op.Alias(rows, alias), tuple((key, column((alias, name))) for key, name in names.items()))]


def _keys_met(
    node: op.Rows, keys: Mapping[str, exp.Expr], leaf: Leaf, changes: Run, choosing: Collection[Project]
) -> list[Result] | None:
    """The keys of the rows that changed rows of a relation may meet, whichever rows are chosen. None if unknown.

    ``node``: the rows of FROM and WHERE. ``keys``: expressions over them.
    """
    if _depends_on_choices(leaf, changes, choosing):
        return None
    leaves = [each for each in level_nodes(node) if isinstance(each, (op.Scan, op.Alias))]
    possible = {each: rows for each in leaves if (rows := _possible(each, changes, choosing)) is not None}
    columns = {each for rows in possible.values() for each in op.columns_of(rows)}
    met = meeting(node, leaf, list(keys.values()), columns, changes.tree.subqueries)
    if met is None:
        return None
    relations, equal = met
    rows, *others = [possible[each] for each in relations]
    for other in others:
        rows = op.Join("inner", rows, other)
    found = changes.keys_of(Project(op.filtered(rows, *equal), tuple(keys.items())), keys)
    return [] if found is None else [found]


def _possible(node: op.Rows, changes: Run, choosing: Collection[Project]) -> op.Rows | None:
    """All rows that a relation may have, with the columns that do not depend on what is chosen. None if unknown."""
    if not _depends_on_choices(node, changes, choosing):
        return node
    result = node.child if isinstance(node, op.Alias) else None
    while isinstance(result, (op.Distinct, op.Sort)):
        result = result.child
    if not isinstance(node, op.Alias) or not isinstance(result, Project):
        return None
    outputs, rows = dict(result.outputs), result.child
    while isinstance(inner := op.above_groups(rows), (op.Group, op.Window)):
        if isinstance(inner, op.Group):
            keys = common_keys(inner)
            outputs = {name: keys[each] for name, each in outputs.items() if each in keys}
        rows = inner.child
    conditions: list[exp.Expr] = []
    if _depends_on_choices(rows, changes, choosing):
        while isinstance(rows, op.Filter):
            conditions += op.conjuncts(rows.condition)
            rows = rows.child
        found = _possible(rows, changes, choosing)
        if found is None:
            return None
        rows = found
    columns = {*op.columns_of(rows)}

    def is_known(value: exp.Expr) -> bool:
        return is_of_row(value) and op.read_columns(value, changes.tree.subqueries) <= columns

    listed = tuple((name, each) for name, each in outputs.items() if is_known(each))
    return op.Alias(Project(op.filtered(rows, *filter(is_known, conditions)), listed), node.alias) if listed else None


def _depends_on_choices(node: op.Node, changes: Run, choosing: Collection[Project]) -> bool:
    """Whether an operator chooses among rows, or reads one that does."""
    return any(each in choosing for each in op.all_nodes(node, changes.tree.subqueries))

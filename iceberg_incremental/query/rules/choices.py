"""The affected keys of a query in which other parts depend on a choice among rows, such as ``row_number()``.

Only the table shows which row was chosen. If the choice is computed again, another row may be chosen, even in the old
state. It is therefore unknown which rows the chosen row was joined with, and which filters it passed. However, all rows
that depend on a choice have the key values of its group or partition. A key is affected only if a relation that is
joined with a choice has changed rows with this key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..algebra.nodes import Alias, Node, Project, Result, all_nodes, column
from .matching import affected_values
from .restrict import below, selects, sources
from .run import Run


def keys_of_choices(
    node: Result, columns: Mapping[str, str], changes: Run, choosing: Collection[Project]
) -> list[Result] | None:
    """The queries for the affected keys of a result. None if a changed relation lacks a column of the key.

    ``columns``: the key columns, by the names of the result's columns with their values. ``choosing``: the SELECTs that
    choose among rows.
    """
    found: list[Result] = []
    wanted = set(columns.values())
    listed = list(selects(node, changes.tree, columns))
    for select, values in listed:
        if {key for _, key in below(select.child, values)[1]} != wanted or changes.reads_clock(select):
            return None
        leaves = sources(select, values, changes.tree)
        if len(listed) == 1 and not any(_depends_on_choices(leaf, changes, choosing) for leaf, _ in leaves):
            keys = changes.keys_of(select, {key: each for each, key in values})
            return [] if keys is None else [keys]
        for leaf, held in leaves:
            if not changes.is_changed(leaf):
                continue
            names = {key: name for name, key in held.exact.items()}
            if names.keys() != wanted:
                return None
            if isinstance(leaf, Alias) and _depends_on_choices(leaf, changes, choosing):
                inner = keys_of_choices(leaf.child, {name: key for key, name in names.items()}, changes, choosing)
                if inner is None:
                    return None
                found += inner
            elif (rows := affected_values(changes, leaf, list(names.values()))) is not None:
                alias = f"ip_choice{len(found)}"
                outputs = tuple((key, column((alias, name))) for key, name in names.items())
                found.append(Project(Alias(rows, alias), outputs))
    return found


def _depends_on_choices(node: Node, changes: Run, choosing: Collection[Project]) -> bool:
    """Whether an operator chooses among rows, or reads one that does."""
    return any(each in choosing for each in all_nodes(node, changes.tree.subqueries))

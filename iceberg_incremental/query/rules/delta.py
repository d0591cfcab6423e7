"""The exact difference of an operator between two states.

If the changed sides of a join are changed one after another, each added or removed row is caused by exactly one of
them. The sides before it are read in their old state, those after it in their new state.
"""

from __future__ import annotations

from dataclasses import replace

from ..algebra import nodes as op
from ..states import State
from .run import Run, none_of, renamed, union_of


def added(changes: Run, node: op.Result) -> op.Result | None:
    """The exact rows that were added to a result.

    They are known for a join whose changed sources have only gained rows, and are on an inner or preserved side. None
    if they are unknown, or if there are none.
    """
    removed, found = (difference(changes, node, state) for state in (State.REMOVED, State.ADDED))
    return None if removed is None or removed or not found else union_of(found)


def difference(changes: Run, node: op.Result, state: State) -> list[op.Result] | None:
    """The added or removed rows of a result. None if they are unknown. A row that is in both results cancels out.

    ``state``: ``ADDED`` or ``REMOVED``.
    """
    match node:
        case op.Project():
            found = row_difference(changes, node.child, state)
            if found is None or any(changes.shifts(each) for _, each in node.outputs):
                return None
            return [op.InState(replace(node, child=each), State.NEW) for each in found]
        case op.Sort():
            return difference(changes, node.child, state)
        case op.Union():
            listed = [difference(changes, child, state) for child in node.children]
            if any(each is None for each in listed):
                return None
            if not any(listed):
                return []
            if not changes.has_one_type(node):
                # a branch without such rows is kept if it may determine the types of the columns
                listed = [
                    each or [none_of(child, changes.alias())] for each, child in zip(listed, node.children, strict=True)
                ]
            return [renamed(each, op.names_of(node), changes.alias()) for those in listed for each in those or ()]
        case op.Distinct() | op.SetOperation() | op.Limit() | op.Opaque() | op.Differing() | op.InState():
            return None if changes.is_changed(node) else []


def row_difference(changes: Run, node: op.Rows, state: State) -> list[op.Rows] | None:
    """The added or removed rows of an operator, as in ``difference``."""
    match node:
        case op.Scan():
            return [op.Delta(node, state)] if changes.has(node, state) else []
        case op.Alias():
            found = difference(changes, node.child, state)
            if found is None:
                return None
            both = union_of(found)
            return [] if both is None else [op.Alias(both, node.alias)]
        case op.Filter():
            rows = None if changes.shifts(node.condition) else row_difference(changes, node.child, state)
            return None if rows is None else [replace(node, child=each) for each in rows]
        case op.Generate():
            is_shifted = any(map(changes.shifts, op.expressions_of(node)))
            rows = None if is_shifted else row_difference(changes, node.child, state)
            return None if rows is None else [replace(node, child=each) for each in rows]
        case op.Join():
            return _of_join(changes, node, state)
        case op.One() | op.Values() | op.View() | op.Keyed() | op.Delta() | op.RowsInState() | op.Group() | op.Window():
            return None if changes.is_changed(node) else []


def _of_join(changes: Run, node: op.Join, state: State) -> list[op.Rows] | None:
    if node.on is not None and changes.shifts(node.on):
        return None
    optional = {"left": [node.right], "right": [node.left], "full": [node.left, node.right]}.get(node.kind, [])
    optional = [node.right] if node.kind in ("semi", "anti") else optional
    if any(map(changes.is_changed, optional)):
        return None
    left, right = (row_difference(changes, each, state) for each in (node.left, node.right))
    if left is None or right is None:
        return None
    before = op.RowsInState(node.left, State.OLD) if changes.is_changed(node.left) else node.left
    found: list[op.Rows] = [replace(node, left=each) for each in left]
    return found + [replace(node, left=before, right=each) for each in right]

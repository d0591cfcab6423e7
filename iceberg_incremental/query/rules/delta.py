"""The exact difference of an operator between two states.

If the changed sides of a join are changed one after another, each added or removed row is caused by exactly one of
them. The sides before it are read in their old state, those after it in their new state.
"""

from __future__ import annotations

from dataclasses import replace

from ..algebra.nodes import (
    Alias,
    Delta,
    Differing,
    Distinct,
    Filter,
    Generate,
    Group,
    InState,
    Join,
    Keyed,
    Limit,
    One,
    Project,
    Result,
    Rows,
    RowsInState,
    Scan,
    SetOperation,
    Sort,
    Union,
    Values,
    View,
    Window,
    names_of,
)
from ..states import State
from .run import Run, none_of, renamed


def added(changes: Run, node: Result) -> Result | None:
    """The exact rows that were added to a result.

    They are known for a join whose changed sources have only gained rows, and are on an inner or preserved side. None
    if they are unknown, or if there are none.
    """
    removed, found = (difference(changes, node, state) for state in (State.REMOVED, State.ADDED))
    return None if removed is None or removed or not found else found[0] if len(found) == 1 else Union(tuple(found))


def difference(changes: Run, node: Result, state: State) -> list[Result] | None:
    """The added or removed rows of a result. None if they are unknown. A row that is in both results cancels out.

    ``state``: ``ADDED`` or ``REMOVED``.
    """
    match node:
        case Project():
            found = row_difference(changes, node.child, state)
            if found is None or any(changes.shifts(each) for _, each in node.outputs):
                return None
            return [InState(replace(node, child=each), State.NEW) for each in found]
        case Sort():
            return difference(changes, node.child, state)
        case Union():
            listed = [difference(changes, child, state) for child in node.children]
            if any(each is None for each in listed):
                return None
            if not any(listed):
                return []
            types = [changes.types.of_result(child) for child in node.children]
            if not all(None not in each and each == types[0] for each in types):
                # a branch without such rows is kept if it may determine the types of the columns
                listed = [
                    each or [none_of(child, changes.alias())] for each, child in zip(listed, node.children, strict=True)
                ]
            return [renamed(each, names_of(node), changes.alias()) for those in listed for each in those or ()]
        case Distinct() | SetOperation() | Limit() | Differing() | InState():
            return None if changes.is_changed(node) else []


def row_difference(changes: Run, node: Rows, state: State) -> list[Rows] | None:
    """The added or removed rows of an operator, as in ``difference``."""
    match node:
        case Scan():
            return [Delta(node, state)] if changes.has(node, state) else []
        case Alias():
            found = difference(changes, node.child, state)
            if not found:
                return None if found is None else []
            return [Alias(found[0] if len(found) == 1 else Union(tuple(found)), node.alias)]
        case Filter():
            rows = None if changes.shifts(node.condition) else row_difference(changes, node.child, state)
            return None if rows is None else [replace(node, child=each) for each in rows]
        case Generate():
            rows = None if changes.shifts(node.call) else row_difference(changes, node.child, state)
            return None if rows is None else [replace(node, child=each) for each in rows]
        case Join():
            return _of_join(changes, node, state)
        case One() | Values() | View() | Keyed() | Delta() | RowsInState() | Group() | Window():
            return None if changes.is_changed(node) else []


def _of_join(changes: Run, node: Join, state: State) -> list[Rows] | None:
    if node.on is not None and changes.shifts(node.on):
        return None
    optional = {"left": [node.right], "right": [node.left], "full": [node.left, node.right]}.get(node.kind, [])
    optional = [node.right] if node.kind in ("semi", "anti") else optional
    if any(map(changes.is_changed, optional)):
        return None
    left, right = (row_difference(changes, each, state) for each in (node.left, node.right))
    if left is None or right is None:
        return None
    before = RowsInState(node.left, State.OLD) if changes.is_changed(node.left) else node.left
    found: list[Rows] = [replace(node, left=each) for each in left]
    return found + [replace(node, left=before, right=each) for each in right]

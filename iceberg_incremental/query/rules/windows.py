"""The rows of windows that a change can affect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ..algebra import nodes as op
from ..algebra.look_back import partitions
from ..algebra.nodes import column
from ..states import Keys, State
from .restrict import into, only
from .run import Run, Variant, at_state, whole_states


def affected_of_windows(run: Run, node: op.Window, state: State) -> list[Variant]:
    """The rows in a partition of any of the windows that contains a changed row.

    If all of them look back, without the rows that are sorted before the changed ones.
    """
    listed = partitions(node)
    back = run.look_back(node)
    if len(listed) == 1 and (listed[0] or back is not None):
        rows, conditions = _of_partitions(run, node, node.child, listed[0] if back is None else back.parts)
        return whole_states(op.filtered(replace(node, child=rows), *conditions), state)
    if not all(listed):
        return whole_states(node, state)
    found = []
    for at, keys in enumerate(listed):
        view = run.view_of(node, at, keys)
        inner = op.View(view.name, run.alias(), view.names)
        same = _same(inner, list(zip(keys, view.names, strict=True)))
        found.append(run.exists(op.filtered(inner, *same), State.NEW))
    return whole_states(op.Filter(node, exp.or_(*found)), state)


def keys_of_windows(run: Run, node: op.Window, keys: Mapping[str, exp.Expr]) -> list[op.Result] | None:
    """The affected rows of windows with one PARTITION BY, projected to some keys, without computing the windows.

    The rows below groups are read if they have the values of the keys. None if the rows must be grouped.
    """
    back = run.look_back(node)
    parts = partitions(node)[0] if back is None else back.parts
    rows, wanted = node.child, [*((each, "") for each in parts), *((each, name) for name, each in keys.items())]
    while isinstance(inner := op.above_groups(rows), op.Group):
        rows, mapped = into(inner, wanted)
        if len(mapped) < len(wanted):
            return None
        wanted = list(mapped)
    mine, values = [each for each, _ in wanted[: len(parts)]], wanted[len(parts) :]
    wanted_rows, conditions = _of_partitions(run, node, rows, mine)
    whole = [(at, op.filtered(each, *conditions)) for at, each in run.whole(rows, State.BOTH, wanted_rows)]
    outputs = tuple((name, value) for value, name in values)
    return [at_state(op.Project(each, outputs), at) for at, each in whole]


def _of_partitions(
    run: Run, node: op.Window, below: op.Rows, parts: Sequence[exp.Expr]
) -> tuple[op.Rows, list[exp.Expr]]:
    """The rows below windows in a partition with a changed row, and the conditions for those that are affected.

    ``below``: the rows below the windows, or below groups. ``parts``: the expressions over these rows of PARTITION BY,
    then that of ORDER BY if the windows look back.
    """
    back, keys = run.look_back(node), partitions(node)[0]
    view = run.view_of(node, "common", keys)
    pairs = list(zip(parts[: len(keys)], view.names, strict=back is None))
    rows = only(below, pairs, Keys(view.name, view.names), run.tree)
    if back is None:
        return rows, []
    inner = op.View(view.name, run.alias(), view.names)
    is_affected = replace(back, by=parts[-1]).is_affected(column((inner.alias, view.names[-1])))
    return rows, [run.exists(op.filtered(inner, *_same(inner, pairs), is_affected), State.NEW)]


def _same(view: op.View, pairs: Sequence[tuple[exp.Expr, str]]) -> list[exp.Expr]:
    """The conditions that expressions have the values of columns of a view."""
    return [exp.NullSafeEQ(this=column((view.alias, key)), expression=exp.paren(each.copy())) for each, key in pairs]

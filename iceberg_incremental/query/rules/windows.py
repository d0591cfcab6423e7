"""The rows of windows that a change can affect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ..algebra import nodes as op
from ..algebra.nodes import column
from ..states import Keys, State
from .look_back import partitions
from .restrict import only
from .run import Run, Variant, whole_states


def affected_of_windows(run: Run, node: op.Window, state: State) -> list[Variant]:
    """The rows in a partition of any of the windows that contains a changed row.

    If all of them look back, without the rows that are sorted before the changed ones.
    """
    listed = partitions(node)
    if len(listed) == 1 and (listed[0] or run.look_back(node) is not None):
        rows, conditions = _of_partitions(run, node, listed[0])
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


def affected_without_windows(run: Run, node: op.Window) -> list[Variant]:
    """The affected rows of windows with one PARTITION BY, without the values of window functions."""
    rows, conditions = _of_partitions(run, node, partitions(node)[0])
    return [(at, op.filtered(each, *conditions)) for at, each in run.whole(node.child, State.BOTH, rows)]


def _of_partitions(run: Run, node: op.Window, keys: Sequence[exp.Expr]) -> tuple[op.Rows, list[exp.Expr]]:
    """The rows below windows in a partition with a changed row, and the conditions for those that are affected.

    ``keys``: the common expressions of PARTITION BY.
    """
    view, back = run.view_of(node, "common", keys), run.look_back(node)
    pairs = list(zip(keys, view.names, strict=back is None))
    rows = only(node.child, pairs, Keys(view.name, view.names), run.tree)
    if back is None:
        return rows, []
    inner = op.View(view.name, run.alias(), view.names)
    is_affected = back.is_affected(column((inner.alias, view.names[-1])))
    return rows, [run.exists(op.filtered(inner, *_same(inner, pairs), is_affected), State.NEW)]


def _same(view: op.View, pairs: Sequence[tuple[exp.Expr, str]]) -> list[exp.Expr]:
    """The conditions that expressions have the values of columns of a view."""
    return [exp.NullSafeEQ(this=column((view.alias, key)), expression=exp.paren(each.copy())) for each, key in pairs]

"""Clauses of a SELECT: GROUP BY with its grouping sets, the measures of groups, named windows, and PIVOT."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from sqlglot import exp

from ..text.refusal import refused
from ..text.supported import call_of, is_aggregate
from .nodes import is_numbered

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def grouping(  # noqa: C901 (one case for each form of a clause)
    clause: exp.Group | None, outputs: Sequence[exp.Expr], value: Callable[[exp.Expr], exp.Expr]
) -> tuple[list[exp.Expr], tuple[tuple[int, ...], ...] | None]:
    """The expressions of GROUP BY, and its grouping sets. ``value``: resolves the names of an expression."""
    if clause is None:
        return [], None

    def values(node: exp.Expr) -> list[exp.Expr]:
        inner = node.unnest()
        if isinstance(inner, exp.Tuple):
            return [found for each in inner.expressions for found in values(each)]
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return [each.copy() for each in outputs[int(inner.name) - 1 :][:1]]
        return [] if isinstance(inner, _SETS) else [value(inner)]

    def sets_of(node: exp.Expr, listed: Sequence[list[exp.Expr]]) -> list[list[exp.Expr]]:
        if isinstance(node, exp.Rollup):
            return [list(itertools.chain(*listed[:length])) for length in range(len(listed), -1, -1)]
        if isinstance(node, exp.Cube):
            chosen = itertools.product((True, False), repeat=len(listed))
            return [list(itertools.chain(*itertools.compress(listed, each))) for each in chosen]
        found: list[list[exp.Expr]] = []
        for each, those in zip(node.expressions, listed, strict=False):
            found += sets_of(each, list(map(values, each.expressions))) if isinstance(each, _SETS) else [those]
        return found

    if clause.args.get("all"):
        listed = [each for each in outputs if not any(map(is_aggregate, each.walk()))]
        return [each.copy() for each in listed if not isinstance(each, (exp.Literal, exp.Null, exp.Boolean))], None
    inline = [each for each in clause.expressions if isinstance(each, _SETS)]
    later = [each for key in ("rollup", "cube", "grouping_sets") for each in clause.args.get(key) or ()]
    plain = [found for each in clause.expressions if not isinstance(each, _SETS) for found in values(each)]
    if not inline and not later:
        return plain, None
    factors = [[plain]] if not later else []
    for each in (*inline, *later):  # GROUP BY a, b WITH ROLLUP has no expressions of its own
        own = list(map(values, each.expressions)) or [[found] for found in plain]
        factors.append(sets_of(each, own))
    sets = [list(dict.fromkeys(itertools.chain(*each))) for each in itertools.product(*factors)]
    keys = list(dict.fromkeys(itertools.chain(*sets)))
    if any(each.find(exp.Column) is None for each in keys):
        raise refused("a constant in ROLLUP, CUBE or GROUPING SETS", clause)
    return keys, tuple(tuple(map(keys.index, each)) for each in sets)


def is_measure(node: exp.Expr, *, has_sets: bool) -> bool:
    """Whether a node is an aggregate with its FILTER and WITHIN GROUP, or the number of a grouping set."""
    return (has_sets and is_numbered(node)) or is_aggregate(call_of(node))


def without_named_windows(select: exp.Select) -> None:
    """Replace named windows by their definitions. Subqueries have names of their own."""
    named = {each.name.lower(): each for each in select.args.get("windows") or ()}
    for window in select.find_all(exp.Window) if named else ():
        reference = window.args.get("alias")
        if window.arg_key == "windows" or reference is None or window.find_ancestor(exp.Select) is not select:
            continue
        found = named.get(reference.name.lower())
        if found is None:
            raise refused(f"the window {reference.name}", window)
        window.set("alias", None)
        for key in ("partition_by", "order", "spec"):
            given = found.args.get(key)
            if given:
                window.set(key, [each.copy() for each in given] if isinstance(given, list) else given.copy())
    select.set("windows", None)

"""A query in fewer forms, each step for one form: what follows need not know the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from sqlglot import exp

from .reading import own_nodes
from .refusal import refused

Names = Callable[[str], Sequence[str]]
"""Gives the columns of a relation by its name."""


def clauses(select: exp.Select) -> list[tuple[str, exp.Expr, exp.Join | None]]:
    """The relations of a FROM clause in their order: alias, relation, and the join that adds it."""
    first = select.args.get("from_")
    if first is None:
        return []
    joins = select.args.get("joins") or []
    joined = [(each.this.alias_or_name, each.this, each) for each in joins]
    return [(first.this.alias_or_name, first.this, None), *joined]


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that all have to hold for a condition to hold."""
    if condition is None:
        return []
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        return [*conjuncts(inner.this), *conjuncts(inner.expression)]
    return [inner]


def filters(select: exp.Select) -> list[exp.Expr]:
    """The conditions of a WHERE clause, each of which has to hold."""
    where = select.args.get("where")
    return [] if where is None else conjuncts(where.this)


def set_filters(select: exp.Select, conditions: Sequence[exp.Expr]) -> None:
    """Give a SELECT another WHERE clause."""
    select.set("where", exp.Where(this=exp.and_(*(each.copy() for each in conditions))) if conditions else None)


def without_named_windows(select: exp.Select) -> None:
    """Write named windows where they are used."""
    named = {each.name.lower(): each for each in select.args.get("windows") or ()}
    if not named:
        return
    for window in select.find_all(exp.Window):
        reference = window.args.get("alias")
        if window.arg_key == "windows" or reference is None:
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


def without_semi_joins(select: exp.Select) -> None:
    """Write semi and anti joins as EXISTS in the WHERE clause, which is the same."""
    kept, conditions = [], filters(select)
    for join in select.args.get("joins") or []:
        if join.kind.upper() not in ("SEMI", "ANTI"):
            kept.append(join)
            continue
        on = join.args.get("on") or exp.true()
        inner = exp.select(exp.alias_(exp.Literal.number(1), "one")).from_(join.this.copy()).where(on.copy())
        exists: exp.Expr = exp.Exists(this=inner)
        conditions.append(exp.not_(exists) if join.kind.upper() == "ANTI" else exists)
    if len(kept) != len(select.args.get("joins") or []):
        select.set("joins", kept)
        set_filters(select, conditions)


def without_right_joins(select: exp.Select, columns: Names, numbers: count[int]) -> None:
    """Write right joins as left joins: what is left of one becomes the optional relation."""
    joins = select.args.get("joins") or []
    at = max((n for n, each in enumerate(joins) if each.side.upper() == "RIGHT"), default=None)
    if at is None:
        return
    if select.args.get("laterals"):
        raise refused("RIGHT JOIN with LATERAL VIEW", joins[at], "write it as LEFT JOIN")
    right, sources = joins[at], clauses(select)[: at + 1]
    on = right.args.get("on")
    alias = f"ip_left_{next(numbers)}"
    listed = []
    for name, relation, join in sources:
        if join is not None and join.kind.upper() in ("SEMI", "ANTI"):
            continue
        listed += [(name, column) for column in columns_of(relation, columns)]
    inner = exp.select(
        *(
            exp.alias_(exp.column(column, name, quoted=True), f"{name}__{column}", quoted=True)
            for name, column in listed
        )
    )
    inner.set("from_", exp.From(this=sources[0][1].copy()))
    inner.set("joins", [each.copy() for each in joins[:at]])
    without_right_joins(inner, columns, numbers)
    hidden = {name.lower() for name, _, _ in sources}
    derived = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    select.set("from_", exp.From(this=right.this.copy()))
    join = exp.Join(this=derived, side="LEFT", **({"on": on.copy()} if on is not None else {}))
    select.set("joins", [join, *(each.copy() for each in joins[at + 1 :])])
    for column in list(select.find_all(exp.Column)):
        if column.table.lower() in hidden and not _is_within(column, derived):
            column.replace(exp.column(f"{column.table}__{column.name}", alias, quoted=True))


def _is_within(node: exp.Expr, other: exp.Expr) -> bool:
    above: exp.Expr | None = node
    while above is not None:
        if above is other:
            return True
        above = above.parent
    return False


def columns_of(relation: exp.Expr, columns: Names) -> Sequence[str]:
    """The columns of a relation of a FROM clause."""
    if isinstance(relation, exp.Table):
        return columns(relation.name)
    if isinstance(relation, exp.Values):
        return relation.alias_column_names
    inner = relation.this
    assert isinstance(inner, exp.Query)
    return inner.named_selects


def without_order(select: exp.Select) -> None:
    """Drop what does not decide the rows of a result: its order."""
    for key in ("order", "sort", "cluster", "distribute"):
        select.set(key, None)


def grouped_by(select: exp.Select) -> list[exp.Expr] | None:
    """The expressions of a GROUP BY clause, ordinals resolved; None where there is no such clause."""
    group = select.args.get("group")
    if group is None:
        return None
    found = []
    for each in group.expressions:
        inner = each.unnest()
        if isinstance(inner, exp.Literal) and not inner.is_string:
            inner = select.expressions[int(inner.name) - 1].unalias()
        found += inner.expressions if isinstance(inner, exp.Tuple) else [inner]
    return [each.copy() for each in found]


def has_window(select: exp.Select) -> bool:
    """Whether a SELECT computes window functions itself."""
    return any(isinstance(node, exp.Window) for part in parts(select) for node in own_nodes(part))


def parts(select: exp.Select) -> list[exp.Expr]:
    """The expressions of a SELECT that are computed after its WHERE clause."""
    found = list(select.expressions)
    return [*found, *(select.args[key].this for key in ("having",) if select.args.get(key) is not None)]


def alone(select: exp.Select) -> exp.Select:
    """FROM, LATERAL VIEW and WHERE of a SELECT, without what is computed from their rows."""
    found = select.copy()
    for key in ("group", "having", "distinct", "windows", "with_", "hint"):
        found.set(key, None)
    found.set("expressions", [exp.alias_(exp.Literal.number(1), "one")])
    return found

"""The relations of a FROM clause, including those of joins in parentheses."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp


def is_nested(relation: exp.Expr) -> bool:
    """Whether a relation of a FROM clause is a join or a table in parentheses."""
    if not isinstance(relation, exp.Subquery):
        return False
    inner = relation.this
    return not isinstance(inner, exp.Query) or (
        isinstance(inner, exp.Subquery) and (bool(inner.args.get("joins")) or is_nested(inner))
    )


def relations(select: exp.Select) -> list[exp.Expr]:
    """The tables and derived tables of a FROM clause, in the order of the text."""
    return [relation for each in clauses_of(select) for relation in _leaves(each.this)]


def joins_of(select: exp.Select) -> list[exp.Join]:
    """The joins of a FROM clause, including those in parentheses."""
    found = []
    for each in clauses_of(select):
        found += [each] if isinstance(each, exp.Join) else []
        found += _joins_in(each.this)
    return found


def clauses_of(select: exp.Select) -> list[exp.Expr]:
    """The FROM node of a SELECT and its joins."""
    return [each for each in (select.args.get("from_"), *(select.args.get("joins") or ())) if each is not None]


def _leaves(relation: exp.Expr) -> Iterator[exp.Expr]:
    if not is_nested(relation):
        yield relation
        return
    for each in (relation.this, *(join.this for join in relation.this.args.get("joins") or ())):
        yield from _leaves(each)


def _joins_in(relation: exp.Expr) -> Iterator[exp.Join]:
    if is_nested(relation):
        yield from _joins_in(relation.this)
        for join in relation.this.args.get("joins") or ():
            yield join
            yield from _joins_in(join.this)

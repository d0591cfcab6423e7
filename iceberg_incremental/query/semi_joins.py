"""Semi and anti joins during name resolution, because sqlglot does not resolve names in the relation of such a join."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from sqlglot import exp

_MARK = "ip_semi_join_"


@dataclass(frozen=True)
class SemiJoin:
    """A semi or anti join that is temporarily a subquery: its position among the joins, and its kind."""

    place: int
    side: str
    kind: str


def as_subqueries(tree: exp.Expr) -> dict[str, SemiJoin]:
    """Rewrite semi and anti joins as EXISTS at the end of WHERE, where names have the same meaning."""
    found: dict[str, SemiJoin] = {}
    numbers = count()
    for select in tree.find_all(exp.Select):
        kept = []
        for place, join in enumerate(select.args.get("joins") or []):
            if join.kind.upper() not in ("SEMI", "ANTI") or join.args.get("using"):
                kept.append(join)
                continue
            mark = f"{_MARK}{next(numbers)}"
            found[mark] = SemiJoin(place, join.side, join.kind)
            inner = exp.select(exp.Literal.string(mark)).from_(join.this)
            inner.set("where", exp.Where(this=join.args.get("on") or exp.true()))
            exists, where = exp.Exists(this=inner), select.args.get("where")
            both = exists if where is None else exp.And(this=where.this, expression=exists)
            select.set("where", exp.Where(this=both))
        select.set("joins", kept)
    return found


def as_joins(tree: exp.Expr, found: dict[str, SemiJoin]) -> None:
    """Restore the joins. ``found``: the result of ``as_subqueries``."""
    for select in list(tree.find_all(exp.Select)):
        where, joins = select.args.get("where"), list(select.args.get("joins") or [])
        condition = None if where is None else where.this
        marked: list[tuple[SemiJoin, exp.Select]] = []
        while isinstance(condition, (exp.And, exp.Exists)):
            last = condition.expression if isinstance(condition, exp.And) else condition
            mark = _mark(last)
            if mark is None:
                break
            marked.append((found[mark], last.this))
            condition = condition.this if isinstance(condition, exp.And) else None
        for semi, inner in reversed(marked):
            relation, on = inner.args["from_"].this, inner.args["where"].this
            joins.insert(semi.place, exp.Join(this=relation, side=semi.side, kind=semi.kind, on=on))
        if marked:
            select.set("joins", joins)
            select.set("where", None if condition is None else exp.Where(this=condition))


def _mark(node: exp.Expr) -> str | None:
    if not isinstance(node, exp.Exists) or not isinstance(node.this, exp.Select):
        return None
    value = node.this.expressions[0].unalias()
    return value.name if isinstance(value, exp.Literal) and value.name.startswith(_MARK) else None

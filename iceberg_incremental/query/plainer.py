"""Forms of SQL that only save typing, written out: NATURAL JOIN, and generators in a SELECT list."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from sqlglot import exp

from .refusal import refused
from .relations import clauses_of
from .supported import is_generator

Qualify = Callable[[exp.Expr], exp.Expr]
"""Resolves the names of a query, and expands its stars."""

_DEFAULTS = {"posexplode": ("pos", "col"), "posexplode_outer": ("pos", "col")}
"""The names of the columns of generators that return several, if the text gives none."""


def without_natural_joins(tree: exp.Query, qualify: Qualify) -> None:
    """Replace NATURAL JOIN by USING of the common columns."""
    for select in reversed(list(tree.find_all(exp.Select))):
        joins = select.args.get("joins") or []
        for place, join in enumerate(joins):
            if (join.method or "").upper() != "NATURAL":
                continue
            before = [each.this for each in clauses_of(select)[: place + 1]]
            mine = {name.lower() for relation in before for name in _columns(relation, qualify)}
            common = [name for name in _columns(join.this, qualify) if name.lower() in mine]
            join.set("method", None)
            if common:
                join.set("using", [exp.to_identifier(name, quoted=True) for name in common])
            elif not join.side:
                join.set("kind", "CROSS")
            else:
                join.set("on", exp.true())


def _columns(relation: exp.Expr, qualify: Qualify) -> list[str]:
    """The columns of a relation of a FROM clause."""
    probe = exp.select("*").from_(relation.copy())
    above = relation.parent
    while above is not None:
        clause = above.args.get("with_")
        if clause is not None:
            known = probe.args.get("with_")
            listed = [*(each.copy() for each in clause.expressions), *([] if known is None else known.expressions)]
            probe.set("with_", exp.With(expressions=listed))
        above = above.parent
    found = qualify(probe)
    return list(dict.fromkeys(found.named_selects)) if isinstance(found, exp.Query) else []


def with_generators_in_from(tree: exp.Query) -> None:
    """Replace a generator with several columns in a SELECT list by LATERAL VIEW."""
    numbers = count()
    for select in tree.find_all(exp.Select):
        for value in list(select.expressions):
            call = value.this if isinstance(value, (exp.Aliases, exp.Alias)) else value
            if not is_generator(call):
                continue
            given = [each.name for each in value.expressions] if isinstance(value, exp.Aliases) else []
            names = given or list(_DEFAULTS.get(call.name.lower(), ()))
            if not names:
                continue
            if any(select.args.get(key) for key in ("group", "having", "distinct", "windows")):
                raise refused("a generator with several columns in a SELECT with groups", value, "use LATERAL VIEW")
            alias = f"ip_generated_{next(numbers)}"
            lateral = exp.Lateral(
                this=call.copy(),
                view=True,
                outer=False,
                alias=exp.TableAlias(
                    this=exp.to_identifier(alias, quoted=True),
                    columns=[exp.to_identifier(name, quoted=True) for name in names],
                ),
            )
            select.set("laterals", [*(select.args.get("laterals") or []), lateral])
            at = next(place for place, each in enumerate(select.expressions) if each is value)
            columns = [exp.column(name, alias, quoted=True) for name in names]
            select.set("expressions", [*select.expressions[:at], *columns, *select.expressions[at + 1 :]])

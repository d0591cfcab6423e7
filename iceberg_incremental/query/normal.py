"""Normalization of a query: each step removes one form, so that later steps need not handle it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from sqlglot import exp

from .refusal import refused
from .relations import clauses_of, is_nested
from .stars import require_no_field_names
from .subqueries import subqueries

Names = Callable[[str], Sequence[str]]
"""Returns the columns of a relation, by its name."""


def clauses(select: exp.Select) -> list[tuple[str, exp.Expr, exp.Join | None]]:
    """The relations of a FROM clause in order: alias, relation, and the join that adds it."""
    first = select.args.get("from_")
    if first is None:
        return []
    joins = select.args.get("joins") or []
    joined = [(each.this.alias_or_name, each.this, each) for each in joins]
    return [(first.this.alias_or_name, first.this, None), *joined]


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that a condition combines with AND."""
    if condition is None:
        return []
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        return [*conjuncts(inner.this), *conjuncts(inner.expression)]
    return [inner]


def has_only_inner_joins(select: exp.Select) -> bool:
    """Whether each row of a SELECT's relations can only add rows to the result of its FROM and WHERE."""
    return not subqueries(select) and not any(join is not None and join.side for _, _, join in clauses(select))


def filters(select: exp.Select) -> list[exp.Expr]:
    """The conditions that a WHERE clause combines with AND."""
    where = select.args.get("where")
    return [] if where is None else conjuncts(where.this)


def set_filters(select: exp.Select, conditions: Sequence[exp.Expr]) -> None:
    """Replace the WHERE clause of a SELECT."""
    select.set("where", exp.Where(this=exp.and_(*(each.copy() for each in conditions))) if conditions else None)


def without_named_windows(select: exp.Select) -> None:
    """Replace named windows by their definitions. Subqueries have names of their own."""
    named = {each.name.lower(): each for each in select.args.get("windows") or ()}
    if not named:
        return
    for window in select.find_all(exp.Window):
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


def without_semi_joins(select: exp.Select) -> None:
    """Rewrite semi and anti joins as EXISTS in the WHERE clause, which is equivalent."""
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
    """Rewrite right joins as left joins. The relations before the join become the optional relation."""
    joins = select.args.get("joins") or []
    at = max((n for n, each in enumerate(joins) if each.side.upper() == "RIGHT"), default=None)
    if at is None:
        return
    right, first = joins[at], select.args["from_"].this
    on = right.args.get("on")
    derived, renamed = _derived(first, joins[:at], columns, f"ip_left_{next(numbers)}")
    without_right_joins(derived.this, columns, numbers)
    select.set("from_", exp.From(this=right.this.copy()))
    join = exp.Join(this=derived, side="LEFT", **({"on": on.copy()} if on is not None else {}))
    select.set("joins", [join, *(each.copy() for each in joins[at + 1 :])])
    _rename(select, derived, renamed)


def without_full_joins(select: exp.Select, columns: Names, numbers: count[int]) -> None:
    """Rewrite full joins as the UNION ALL of a left join and the rows of the right side without a partner."""
    joins = select.args.get("joins") or []
    at = max((n for n, each in enumerate(joins) if each.side.upper() == "FULL"), default=None)
    if at is None:
        return
    if at > 0:
        derived, renamed = _derived(select.args["from_"].this, joins[:at], columns, f"ip_left_{next(numbers)}")
        select.set("from_", exp.From(this=derived))
        select.set("joins", [each.copy() for each in joins[at:]])
        _rename(select, derived, renamed)
    left, (full, *rest) = select.args["from_"].this, select.args["joins"]
    right, on = full.this, full.args.get("on") or exp.true()
    mine, others = (
        [exp.column(name, alias, quoted=True) for alias, name in _visible(each, (), columns)] for each in (left, right)
    )
    alone = exp.not_(exp.Exists(this=_select([exp.Literal.number(1)], left).where(on.copy())))
    joined = _select([*mine, *others], left)
    joined.set("joins", [exp.Join(this=right.copy(), side="LEFT", on=on.copy())])
    unmatched = _select([*(exp.null() for _ in mine), *others], right).where(alone)
    alias = f"ip_full_{next(numbers)}"
    both = exp.union(joined, unmatched, distinct=False, copy=False)
    derived = exp.Subquery(this=both, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    select.set("from_", exp.From(this=derived))
    select.set("joins", rest)
    listed = enumerate([*mine, *others])
    renamed = {(each.table.lower(), each.name.lower()): exp.column(f"c{n}", alias, quoted=True) for n, each in listed}
    _rename(select, derived, renamed)
    without_full_joins(select, columns, numbers)


def without_subqueries_in_on(select: exp.Select, columns: Names, numbers: count[int]) -> None:
    """Compute conditions with subqueries in the ON clauses of left joins in derived tables of one of the sides.

    Conditions that read both sides remain.
    """
    for at, join in enumerate(select.args.get("joins") or []):
        if join.side.upper() != "LEFT" or join.find(exp.Query) is None:
            continue
        before = {alias for alias, _, _ in clauses(select)[: at + 1]}
        conditions = conjuncts(join.args.get("on"))
        inside = [each for each in conditions if each.find(exp.Query) is not None]
        read = [{column.table for column in each.find_all(exp.Column)} for each in inside]
        of_right = [each for each, names in zip(inside, read, strict=True) if not names & before]
        of_left = [each for each in inside if each not in of_right and join.this.alias_or_name not in _read(each)]
        if of_right:
            derived, renamed = _derived(join.this, (), columns, f"ip_right_{next(numbers)}")
            for each in of_right:
                derived.this.where(each.copy(), copy=False)
            rest = [each.copy() for each in conditions if each not in of_right]
            join.set("this", derived)
            join.set("on", exp.and_(*rest) if rest else exp.true())
            _rename(select, derived, renamed)
        elif of_left:
            first, joins = select.args["from_"].this, select.args["joins"]
            derived, renamed = _derived(first, joins[:at], columns, f"ip_left_{next(numbers)}")
            for number, each in enumerate(of_left):
                derived.this.select(exp.alias_(each.copy(), f"m{number}", quoted=True), copy=False)
                each.replace(exp.column(f"m{number}", derived.alias, quoted=True))
            select.set("from_", exp.From(this=derived))
            select.set("joins", [each.copy() for each in joins[at:]])
            _rename(select, derived, renamed)
        else:
            continue
        without_subqueries_in_on(select, columns, numbers)
        return


def _read(node: exp.Expr) -> set[str]:
    return {column.table for column in node.find_all(exp.Column)}


def _select(values: Sequence[exp.Expr], relation: exp.Expr) -> exp.Select:
    """A SELECT of values, named c0, c1 and so on, from one relation."""
    found = exp.select(*(exp.alias_(each.copy(), f"c{number}", quoted=True) for number, each in enumerate(values)))
    found.set("from_", exp.From(this=relation.copy()))
    return found


def without_nested_joins(select: exp.Select, columns: Names, numbers: count[int]) -> None:
    """Rewrite joins in parentheses as derived tables."""
    for clause in clauses_of(select):
        if not is_nested(clause.this):
            continue
        inside = clause.this.this
        joins = inside.args.get("joins") or []
        inside.set("joins", None)
        derived, renamed = _derived(inside, joins, columns, f"ip_nested_{next(numbers)}")
        without_nested_joins(derived.this, columns, numbers)
        clause.set("this", derived)
        _rename(select, derived, renamed)


Renamed = dict[tuple[str, str], exp.Column]
"""The replacement of a column, by the alias of its relation and its name in lower case."""


def _derived(first: exp.Expr, joins: Sequence[exp.Join], columns: Names, alias: str) -> tuple[exp.Subquery, Renamed]:
    """A derived table of joined relations with all their columns, and the new names of these columns."""
    listed, renamed = [], {}
    for number, (name, column) in enumerate(_visible(first, joins, columns)):
        new = f"c{number}"
        listed.append(exp.alias_(exp.column(column, name, quoted=True), new, quoted=True))
        renamed[name.lower(), column.lower()] = exp.column(new, alias, quoted=True)
    inner = exp.select(*listed)
    inner.set("from_", exp.From(this=first.copy()))
    inner.set("joins", [each.copy() for each in joins])
    return exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))), renamed


def _visible(first: exp.Expr, joins: Sequence[exp.Join], columns: Names) -> list[tuple[str, str]]:
    """The columns of joined relations, each with its relation's alias."""
    found = []
    for relation in (first, *(each.this for each in joins if each.kind.upper() not in ("SEMI", "ANTI"))):
        if is_nested(relation):
            found += _visible(relation.this, relation.this.args.get("joins") or [], columns)
        else:
            found += [(relation.alias_or_name, column) for column in columns_of(relation, columns)]
    return found


def _rename(select: exp.Select, derived: exp.Subquery, renamed: Renamed) -> None:
    """Use the new names of a derived table's columns, except within the derived table."""
    for column in list(select.find_all(exp.Column)):
        found = renamed.get((column.table.lower(), column.name.lower()))
        if found is not None and not _is_within(column, derived):
            require_no_field_names(column)
            column.replace(found.copy())


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


def without_order(query: exp.Query) -> None:
    """Remove the order of a result, which does not affect its rows."""
    for key in ("order", "sort", "cluster", "distribute"):
        query.set(key, None)


def grouped_by(select: exp.Select) -> list[exp.Expr] | None:
    """The expressions of a GROUP BY clause, with resolved ordinals. None without the clause."""
    group = select.args.get("group")
    if group is None:
        return None
    found = []
    for each in group.expressions:
        inner = each.unnest()
        if isinstance(inner, exp.Literal) and not inner.is_string:
            inner = select.expressions[int(inner.name) - 1].unalias()
        found += [each.unalias() for each in inner.expressions] if isinstance(inner, exp.Tuple) else [inner]
    return [each.copy() for each in found]


def parts(select: exp.Select) -> list[exp.Expr]:
    """The expressions of a SELECT that are computed after its WHERE clause."""
    having = select.args.get("having")
    return [*select.expressions, *([] if having is None else [having.this])]


def alone(select: exp.Select) -> exp.Select:
    """FROM, LATERAL VIEW and WHERE of a SELECT, without the expressions that are computed from their rows."""
    found = select.copy()
    for key in ("group", "having", "distinct", "windows", "with_", "hint", "order", "limit", "offset"):
        found.set(key, None)
    found.set("expressions", [exp.alias_(exp.Literal.number(1), "one")])
    return found

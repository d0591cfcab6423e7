"""LIMIT and OFFSET with an order that determines which rows are returned.

Rows that are equal in ORDER BY are ordered by all columns of the result, and without ORDER BY all rows are. The result
is then always the same one of those that the SQL allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count

from sqlglot import Token, TokenType, exp

from . import functions
from .dialect import CLOSING, OPENING, PlainSpark
from .refusal import refused

_ENDS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SEMICOLON)
_OTHER_ORDERS = (TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY)
_BEFORE_NAMES = (TokenType.DOT, TokenType.ALIAS, TokenType.COMMA, TokenType.SELECT)


def is_limited(query: exp.Expr) -> bool:
    """Whether a query has LIMIT or OFFSET."""
    return any(query.args.get(key) is not None for key in ("limit", "offset"))


def has_limit(sql: str) -> bool:
    """Whether a text has LIMIT or OFFSET. Raises Refusal."""
    return bool(_clauses(sql))


def with_complete_orders(sql: str, qualified: Callable[[str], exp.Query]) -> str:
    """The text with complete orders for each LIMIT and OFFSET.

    ``qualified``: parses a text and expands its stars. Raises Refusal.
    """
    clauses = _clauses(sql)
    if not clauses:
        return sql
    marked = _edited(sql, [(start, end, str(number)) for number, (start, end, *_) in enumerate(clauses)])
    counts = {}
    for query in qualified(marked).find_all(exp.Query):
        if is_limited(query):
            clause = query.args.get("limit") or query.args["offset"]
            counts[int(clause.expression.name)] = len(query.named_selects)
    if len(counts) != len(clauses):
        raise refused("LIMIT in this place", None, "write the query that has it in a CTE")
    edits = []
    for number, (_, _, place, last, order) in enumerate(clauses):
        listed, before = ", ".join(str(at + 1) for at in range(counts[number])), sql[:last]
        if order is None:
            edits.append((place, place, f"order by {listed} "))
        elif order and not before.lower().endswith((f"order by {listed}", f", {listed}")):
            edits.append((len(before), len(before), f", {listed}"))
    return _edited(sql, edits)


def limit_apart(query: exp.Query, numbers: count[int]) -> exp.Select:
    """A query with LIMIT or OFFSET as a SELECT of a derived table, ordered by all of its columns."""
    names, alias = query.named_selects, f"ip_limit_{next(numbers)}"
    inner = query.copy()
    if isinstance(inner, exp.Subquery):
        inner = inner.this if not is_limited(inner.this) else inner
    for key in ("order", "limit", "offset", "with_"):
        inner.set(key, None)
    orders = _orders(query, inner, alias)
    columns = [exp.column(name, alias, quoted=True) for name in names]
    orders += [exp.Ordered(this=each.copy(), nulls_first=True) for each in columns]
    outer = exp.select(*(exp.alias_(each, name, quoted=True) for each, name in zip(columns, names, strict=True)))
    outer.set(
        "from_",
        exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))),
    )
    outer.set("order", exp.Order(expressions=orders))
    for key in ("limit", "offset", "with_"):
        if query.args.get(key) is not None:
            outer.set(key, query.args[key].copy())
    return outer


def _orders(query: exp.Query, inner: exp.Query, alias: str) -> list[exp.Expr]:
    """ORDER BY of a query over the derived table ``inner``, which gets a column for what is not in the result."""
    hidden: list[exp.Expr] = []
    orders: list[exp.Expr] = []
    order = query.args.get("order")
    for each in [] if order is None else order.expressions:
        if isinstance(each.this, exp.Var):  # ALL: by all columns, which is the order that is added
            if each.args.get("desc") or not each.args.get("nulls_first"):
                raise refused("ORDER BY ALL with another order, with LIMIT", each, "list the columns")
            continue
        name = _name_of(each.this, query)
        if name is None and any(not column.table for column in each.this.find_all(exp.Column)):
            orders.append(_over_outputs(each, query, alias))
            continue
        if name is None:
            if not isinstance(inner, exp.Select) or inner.args.get("distinct") is not None:
                raise refused("ORDER BY of a value that the query does not return, with LIMIT", each)
            name = f"ip_order_{len(hidden)}"
            hidden.append(exp.alias_(each.this.copy(), name, quoted=True))
        ordered = each.copy()
        ordered.set("this", exp.column(name, alias, quoted=True))
        orders.append(ordered)
    if hidden:
        inner.set("expressions", [*inner.expressions, *hidden])
    return orders


def _over_outputs(ordered: exp.Ordered, query: exp.Query, alias: str) -> exp.Ordered:
    """An order by an expression of the query's own columns, over the columns of the derived table. Raises Refusal."""
    names = {name.lower(): name for name in query.named_selects}
    found = ordered.copy()
    for node in list(found.find_all(exp.Column, exp.Anonymous, exp.Query, exp.Window)):
        if not isinstance(node, exp.Column):
            is_plain = isinstance(node, exp.Anonymous) and node.name.lower() in functions.SCALARS - _OF_GROUPS
        else:
            is_plain = not node.table and node.name.lower() in names
        if not is_plain:
            raise refused("ORDER BY of an expression of columns of the result and others, with LIMIT", ordered)
    for column in list(found.find_all(exp.Column)):
        column.replace(exp.column(names[column.name.lower()], alias, quoted=True))
    return found


_OF_GROUPS = frozenset(("grouping", "grouping_id"))


def _name_of(value: exp.Expr, query: exp.Query) -> str | None:
    """The column of a query's result that a value of its ORDER BY is. None if it is another value."""
    names = query.named_selects
    if isinstance(value, exp.Literal) and not value.is_string:
        return names[int(value.name) - 1]
    if isinstance(value, exp.Column) and not value.table:
        return next((name for name in names if name.lower() == value.name.lower()), None)
    if isinstance(query, exp.Select):
        return next((each.alias_or_name for each in query.expressions if each.unalias() == value), None)
    return None


_Clause = tuple[int, int, int, int, "bool | None"]
"""Where the number of LIMIT or OFFSET starts and ends, where the clause starts, where the text before it ends without
comments, and whether its order is incomplete. None without ORDER BY.
"""


def _clauses(sql: str) -> list[_Clause]:
    if re.search("limit|offset", sql, re.IGNORECASE) is None:
        return []
    tokens = PlainSpark().tokenize(sql)
    found: list[_Clause] = []
    for place, token in enumerate(tokens):
        if token.token_type not in (TokenType.LIMIT, TokenType.OFFSET) or not _is_clause(tokens, place):
            continue
        before = _before(tokens, place)
        if token.token_type is TokenType.OFFSET and any(tokens[at].token_type is TokenType.LIMIT for at in before):
            continue
        if any(tokens[at].token_type in _OTHER_ORDERS for at in before):
            raise refused("LIMIT with SORT BY, CLUSTER BY or DISTRIBUTE BY", None, "write ORDER BY")
        order = next((at for at in before if tokens[at].token_type is TokenType.ORDER_BY), None)
        is_all = order is not None and _is_by_all([each.text.upper() for each in tokens[order + 1 : place]])
        start, end = tokens[place + 1].start, tokens[_end(tokens, place + 1)].end + 1
        last = tokens[place - 1].end + 1
        found.append((start, end, token.start, last, None if order is None else not is_all))
    return found


def _is_by_all(words: Sequence[str]) -> bool:
    """Whether ORDER BY has only ALL, which already orders by all columns. Spark reads it as a column beside others."""
    return words[:1] == ["ALL"] and all(word in ("ASC", "DESC", "NULLS", "FIRST", "LAST") for word in words[1:])


def _is_clause(tokens: Sequence[Token], place: int) -> bool:
    before = tokens[place - 1].token_type if place else TokenType.SELECT
    after = tokens[place + 1].token_type if place + 1 < len(tokens) else TokenType.COMMA
    return before not in _BEFORE_NAMES and after in (TokenType.NUMBER, TokenType.L_PAREN, TokenType.ALL)


def _before(tokens: Sequence[Token], place: int) -> list[int]:
    """The places before another one in the same query and the same parentheses, from the last one."""
    found, depth = [], 0
    for at in range(place - 1, -1, -1):
        type_ = tokens[at].token_type
        depth += (type_ in CLOSING) - (type_ in OPENING)
        if depth < 0:
            break
        if not depth:
            found.append(at)
    return found


def _end(tokens: Sequence[Token], place: int) -> int:
    """The last token of an expression that starts at a place."""
    depth = 0
    for at in range(place, len(tokens)):
        type_ = tokens[at].token_type
        depth += (type_ in OPENING) - (type_ in CLOSING)
        if depth < 0 or (not depth and type_ in (*_ENDS, TokenType.OFFSET)):
            return at - 1
    return len(tokens) - 1


def _edited(sql: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """The text with other texts in the place of some parts, in the order of the text."""
    for start, end, text in reversed(edits):
        sql = f"{sql[:start]}{text}{sql[end:]}"
    return sql

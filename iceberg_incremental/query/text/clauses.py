"""Clauses in the text of a query: the orders of LIMIT and OFFSET, and the values in VALUES.

An order determines which rows LIMIT returns. Rows that are equal in ORDER BY are ordered by all columns of the result,
and without ORDER BY all rows are. The result is then always the same one of those that the SQL allows. Spark computes
the values of VALUES while it analyzes a query, so its plans do not show them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlglot import Token, TokenType

from .dialect import PlainSpark
from .refusal import refused
from .tokens import ENDS, edited, end_of, same_level

_OTHER_ORDERS = (TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY)
_BEFORE_NAMES = (TokenType.DOT, TokenType.ALIAS, TokenType.COMMA, TokenType.SELECT)


def has_limit(sql: str) -> bool:
    """Whether a text has LIMIT or OFFSET. Raises Refusal."""
    return bool(_clauses(sql))


def with_complete_orders(sql: str, counts: Callable[[str], Mapping[str, int]]) -> str:
    """The text with complete orders for each LIMIT and OFFSET.

    ``counts``: returns the number of columns of each query in a text that has one of them, by the number in LIMIT.
    Raises Refusal.
    """
    clauses = _clauses(sql)
    if not clauses:
        return sql
    found = counts(edited(sql, [(start, end, str(number)) for number, (start, end, *_) in enumerate(clauses)]))
    if len(found) != len(clauses):
        raise refused("LIMIT in this place", None, "write the query that has it in a CTE")
    edits = []
    for number, (_, _, place, last, order) in enumerate(clauses):
        listed, before = ", ".join(str(at + 1) for at in range(found[str(number)])), sql[:last]
        if order is None:
            edits.append((place, place, f"order by {listed} "))
        elif order and not before.lower().endswith((f"order by {listed}", f", {listed}")):
            edits.append((len(before), len(before), f", {listed}"))
    return edited(sql, edits)


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
        before = list(same_level(tokens, place, -1))
        if token.token_type is TokenType.OFFSET and any(tokens[at].token_type is TokenType.LIMIT for at in before):
            continue
        if any(tokens[at].token_type in _OTHER_ORDERS for at in before):
            raise refused("LIMIT with SORT BY, CLUSTER BY or DISTRIBUTE BY", None, "write ORDER BY")
        order = next((at for at in before if tokens[at].token_type is TokenType.ORDER_BY), None)
        is_all = order is not None and _is_by_all([each.text.upper() for each in tokens[order + 1 : place]])
        start, end = tokens[place + 1].start, tokens[end_of(tokens, place, (*ENDS, TokenType.OFFSET)) - 1].end + 1
        last = tokens[place - 1].end + 1
        found.append((start, end, token.start, last, None if order is None else not is_all))
    return found


def _is_by_all(words: Sequence[str]) -> bool:
    """Whether ORDER BY has only ALL, which already orders by all columns. In a list, Spark reads ALL as a column."""
    return words[:1] == ["ALL"] and all(word in ("ASC", "DESC", "NULLS", "FIRST", "LAST") for word in words[1:])


def _is_clause(tokens: Sequence[Token], place: int) -> bool:
    before = tokens[place - 1].token_type if place else TokenType.SELECT
    after = tokens[place + 1].token_type if place + 1 < len(tokens) else TokenType.COMMA
    return before not in _BEFORE_NAMES and after in (TokenType.NUMBER, TokenType.L_PAREN, TokenType.ALL)


_PLAIN = re.compile(r"-?\d+(\.\d+)?|'[^'\\]*'|null|true|false", re.IGNORECASE)
"""A value that every parser interprets in the same way."""


def listed_values_sql(sql: str) -> str:
    """A SELECT of the values in a query's VALUES, in the order of the text. Empty if they are only plain literals.

    Raises Refusal for rows without parentheses.
    """
    values = [each for each in _listed_values(sql) if not _PLAIN.fullmatch(each)]
    return f"select {', '.join(f'{value} as ip_{number}' for number, value in enumerate(values))}" if values else ""


def _listed_values(sql: str) -> Iterator[str]:
    tokens = PlainSpark().tokenize(sql)
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.VALUES:
            for start, end in _places(tokens, place):
                yield sql[tokens[start].start : tokens[end].end + 1]


def _places(tokens: Sequence[Token], place: int) -> Iterator[tuple[int, int]]:
    """The first and the last token of each value. ``place``: that of VALUES."""
    at = place + 1
    while at < len(tokens):
        if tokens[at].token_type is not TokenType.L_PAREN:
            raise refused("a row without parentheses in VALUES", None, "write VALUES (1), (2)")
        row = [at, *same_level(tokens, at, 1)]
        bounds = [at, *(each for each in row if tokens[each].token_type is TokenType.COMMA), row[-1] + 1]
        yield from ((first + 1, last - 1) for first, last in itertools.pairwise(bounds))
        at = row[-1] + 3
        if tokens[at - 1 : at] and tokens[at - 1].token_type is not TokenType.COMMA:
            return

"""The values that VALUES lists. Spark computes them while it analyzes a query, so its plans do not show them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType

from .dialect import CLOSING, OPENING, PlainSpark
from .refusal import refused

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
            for start, end in _places(tokens, place + 1):
                yield sql[tokens[start].start : tokens[end].end + 1]


def _places(tokens: Sequence[Token], first: int) -> Iterator[tuple[int, int]]:
    """The first and the last token of each value. ``first``: the first token after VALUES."""
    depth, start = 0, first
    for at in range(first, len(tokens)):
        type_ = tokens[at].token_type
        if not depth and (at == first or tokens[at - 1].token_type is TokenType.COMMA):
            if type_ is not TokenType.L_PAREN:
                raise refused("a row without parentheses in VALUES", None, "write VALUES (1), (2)")
            depth, start = 1, at + 1
        elif not depth and type_ is not TokenType.COMMA:
            return
        elif depth == 1 and type_ in (TokenType.COMMA, TokenType.R_PAREN):
            yield start, at - 1
            start = at + 1
            depth -= type_ is TokenType.R_PAREN
        else:
            depth += (type_ in OPENING) - (type_ in CLOSING)

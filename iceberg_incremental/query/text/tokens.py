"""Places in the tokens of a text, and changes of the text there. The rest of the text stays as Spark reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)
ENDS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SEMICOLON)
"""The tokens after a SELECT."""


def same_level(tokens: Sequence[Token], place: int, step: int) -> Iterator[int]:
    """The places in one direction that are in the same parentheses as a place. ``step``: 1 or -1."""
    opening, closing = (_OPENING, _CLOSING) if step > 0 else (_CLOSING, _OPENING)
    depth, at = 0, place + step
    while 0 <= at < len(tokens):
        depth -= tokens[at].token_type in closing
        if depth < 0:
            return
        if not depth:
            yield at
        depth += tokens[at].token_type in opening
        at += step


def end_of(tokens: Sequence[Token], place: int, ends: Sequence[TokenType] = ENDS) -> int:
    """The place after the last token of a part of the text. ``place``: one in the part, outside its parentheses."""
    last = place
    for last in same_level(tokens, place, 1):
        if tokens[last].token_type in ends:
            return last
    return last + 1


def edited(sql: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """The text with other texts in the place of some parts, in the order of the text."""
    for start, stop, text in reversed(edits):
        sql = f"{sql[:start]}{text}{sql[stop:]}"
    return sql

"""QUALIFY as the filter of a derived table, for Spark 4.1 and earlier, which do not support it.

The rest of the text stays as it is, so that Spark interprets it, not the parser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import Token, TokenType, exp

from .dialect import CLOSING, OPENING, PlainSpark
from .refusal import refused

_KEPT, _RELATION = "ip_is_kept", "ip_qualified"
_ENDS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SEMICOLON)
_AFTER_ALL = (
    TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.LIMIT,
    TokenType.OFFSET, TokenType.FETCH,
)  # fmt: skip
_BEFORE_LIST = (TokenType.HINT, TokenType.ALL)
_BEFORE_NAMES = (TokenType.DOT, TokenType.ALIAS)
Parse = Callable[[str], exp.Expr]


def without_qualify(sql: str, parse: Parse) -> str:
    """The text with each QUALIFY as the filter of a derived table. ``parse``: parses a query. Raises Refusal."""
    while True:
        tokens = PlainSpark().tokenize(sql)
        places = [place for place, token in enumerate(tokens) if token.token_type is TokenType.QUALIFY]
        clauses = [place for place in places if tokens[place - 1].token_type not in _BEFORE_NAMES]
        if not clauses:
            return sql
        sql = _Select(sql, tokens, clauses[-1], parse).rewritten()


class _Select:
    """A SELECT with QUALIFY at a place in the tokens of a text."""

    def __init__(self, sql: str, tokens: Sequence[Token], place: int, parse: Parse) -> None:
        self._sql = sql
        self._tokens = tokens
        self._place = place
        self._start = next(at for at in self._same_level(place, -1) if self._type(at) is TokenType.SELECT)
        after = list(self._same_level(place, 1))
        self._end = next((at for at in after if self._type(at) in _ENDS), after[-1] + 1)
        self._tree = parse(self._text(self._start, self._end))
        if self._tree.args.get("qualify") is None:
            raise refused("the name qualify", self._tree, "write it in backticks")

    def rewritten(self) -> str:
        """The whole text with the SELECT without QUALIFY."""
        place, after = self._place, list(self._same_level(self._place, 1))
        if self._tree.args.get("distinct") is not None:
            raise refused("QUALIFY with DISTINCT", self._tree, "write one of them in a CTE")
        ordered = next((at for at in after if at < self._end and self._type(at) in _AFTER_ALL), self._end)
        window = next((at for at in after if at < ordered and self._type(at) is TokenType.WINDOW), ordered)
        listed = next((at for at in self._same_level(self._start, 1) if self._is_from(at)), place)
        last = self._text(ordered, self._end)
        is_limited = any(self._tree.args.get(key) is not None for key in ("limit", "offset"))
        inner = [
            f"{self._text(self._start, listed)}, ({self._condition(window)}) as {_KEPT}",
            self._text(listed, place),
            self._text(window, ordered),
            "" if is_limited else last,
        ]
        outer = [
            f"select * except ({_KEPT}) from ({' '.join(filter(None, inner))}) as {_RELATION} where {_KEPT}",
            last if is_limited else "",
        ]
        before, rest = self._tokens[self._start].start, self._tokens[self._end - 1].end + 1
        return f"{self._sql[:before]}{' '.join(filter(None, outer))}{self._sql[rest:]}"

    def _condition(self, end: int) -> str:
        """The text of the condition up to a token, with the expressions of the SELECT list instead of their aliases."""
        first = self._tokens[self._place + 1].start
        text, offset = self._text(self._place + 1, end), first - self._tokens[self._start].start
        values = self._values_by_alias(self._place)
        condition = self._tree.args["qualify"].this
        inside = condition.walk(prune=lambda each: isinstance(each, exp.Query))
        # the names in a subquery are those of its own relations
        columns = [node for node in inside if isinstance(node, exp.Column) and not node.table]
        for column in sorted(columns, key=lambda each: -each.this.meta["start"]):
            value = values.get(column.name.lower())
            if value is not None:
                start, stop = (column.this.meta[key] - offset for key in ("start", "end"))
                text = f"{text[:start]}({value}){text[stop + 1 :]}"
        return text

    def _values_by_alias(self, end: int) -> dict[str, str]:
        """The texts of the expressions in the SELECT list that have an alias, by their aliases in lower case."""
        ends = [at for at in self._same_level(self._start, 1) if self._type(at) is TokenType.COMMA or self._is_from(at)]
        stop = next((at for at in ends if self._is_from(at)), end)
        first = next(at for at in range(self._start + 1, stop) if self._type(at) not in _BEFORE_LIST)
        bounds = [first - 1, *(at for at in ends if at < stop), stop]
        pieces = list(zip([at + 1 for at in bounds], bounds[1:], strict=False))
        listed = self._tree.args["expressions"]
        if len(pieces) != len(listed):
            raise refused("QUALIFY in this SELECT", self._tree, "filter a CTE by the condition")
        found = {}
        for (first, last), each in zip(pieces, listed, strict=True):
            if isinstance(each, exp.Alias):
                has_as = self._type(last - 2) is TokenType.ALIAS
                found[each.alias.lower()] = self._text(first, last - 1 - has_as)
        return found

    def _same_level(self, place: int, step: int) -> Iterator[int]:
        """The places in one direction that are in the same parentheses as a place."""
        opening, closing = (OPENING, CLOSING) if step > 0 else (CLOSING, OPENING)
        depth, at = 0, place + step
        while 0 <= at < len(self._tokens):
            depth -= self._type(at) in closing
            if depth < 0:
                return
            if not depth:
                yield at
            depth += self._type(at) in opening
            at += step

    def _type(self, at: int) -> TokenType:
        return self._tokens[at].token_type

    def _is_from(self, at: int) -> bool:
        """Whether a token starts the FROM clause, as opposed to that in IS DISTINCT FROM."""
        return self._type(at) is TokenType.FROM and self._type(at - 1) is not TokenType.DISTINCT

    def _text(self, start: int, end: int) -> str:
        """The text from a token to the one before another. Empty if there are none."""
        return self._sql[self._tokens[start].start : self._tokens[end - 1].end + 1] if start < end else ""

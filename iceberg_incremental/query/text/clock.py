"""The clock as a source with one row: ``current_date``, ``current_timestamp()``, and texts such as ``'today'``.

The text of a query has marks in their places. A run reads the clock once, and replaces the marks by its value. Where
SQL describes the state at the checkpoint, it replaces them by the value at that time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlglot import Token, TokenType, exp

from ...table.clock import DATE, TIME, Clock
from .dialect import PlainSpark, may_be_moment
from .functions import CLOCK_MARKS
from .parsing import Columns, parsed
from .refusal import not_a_function
from .supported import is_in_expression, is_of_row, window_of
from .tokens import edited

_DATE, _TIME, _LOCAL = "ip_clock_date", "ip_clock_timestamp", "ip_clock_local"
_TEXT = "ip_clock_text_"
_OLD = "_before"
_CALLS = {
    "current_date": f"{_DATE}()",
    "curdate": f"{_DATE}()",
    "current_timestamp": f"{_TIME}()",
    "now": f"{_TIME}()",
    "localtimestamp": f"{_LOCAL}()",
    "unix_timestamp": f"unix_seconds({_TIME}())",
}
_WITHOUT_PARENTHESES = ("current_date", "current_timestamp", "localtimestamp")
_SELF_NAMED = re.compile(rf"\b({'|'.join(_WITHOUT_PARENTHESES)})\s+as\s+`?\1`?(?!\w)", re.IGNORECASE)
"""The clock as a column of the same name, which is the clock."""
DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_MARK = re.compile(rf"\b({_DATE}|{_TIME}|{_LOCAL}|{_TEXT}\w+?)({_OLD})?\(\)", re.IGNORECASE)
_MAY_READ = re.compile("|".join((*_CALLS, *DAYS)), re.IGNORECASE)
_BEFORE_NAMES = (TokenType.DOT, TokenType.ALIAS)


@dataclass(frozen=True)
class ClockStates:
    """The clock at the checkpoint and now. ``old``: None if it is unknown, or if the table is built as a whole."""

    new: Clock
    old: Clock | None = None

    def moved(self, parts: Collection[str]) -> frozenset[str]:
        """Those of some parts that differ between the states."""
        before = self.old
        return frozenset(part for part in parts if before is None or before.has_moved(self.new, (part,)))

    def sql(self, text: str) -> str:
        """SQL with values in the places of marks."""
        return _MARK.sub(lambda found: _value(found[1].lower(), self.old or self.new if found[2] else self.new), text)


SOME_TIME = ClockStates(Clock(0, "UTC"))
"""The time in SQL whose result does not matter."""


def has_clock(sql: str) -> bool:
    """Whether a text may read the clock."""
    if _MAY_READ.search(sql) is None:
        return False
    return bool(_places(sql)) or any(map(may_be_moment, _texts(PlainSpark().tokenize(sql))))


def require_clear(sql: str, columns: Iterable[Columns]) -> None:
    """Raise NotAFunction for a name such as ``current_date`` that may be a column or the clock.

    Also for ORDER BY ALL if a column has this name. ``columns``: those of each relation. A field of a struct may
    become a column.
    """
    tree = parsed(sql)
    named = {each.alias.lower() for each in tree.find_all(exp.Alias)}
    named |= {name.lower() for each in tree.find_all(exp.TableAlias) for name in (c.name for c in each.columns)}
    named |= {each.name.lower() for found in tree.find_all(exp.Aliases) for each in found.expressions}
    named |= _words(f"{name} {type_}" for each in columns for name, type_ in each.items())
    if "all" in named and any(isinstance(each.this, exp.Var) for each in tree.find_all(exp.Ordered)):
        raise not_a_function("ORDER BY ALL beside a column named all", None, "list the columns")
    named |= _words(_texts(PlainSpark().tokenize(sql)))  # such as the names of fields in named_struct()
    others = _SELF_NAMED.sub("", sql)
    bare = {others[start:end].lower() for start, end, _ in _places(others)} & set(_WITHOUT_PARENTHESES)
    for name in sorted(bare & named):
        advice = f"write {name}() for the time, and qualify the column with the alias of its relation"
        raise not_a_function(f"{name}, which may be the time or a column", None, advice)


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w+", text.lower())}


def with_marks(sql: str) -> str:
    """The text with marks in the places of calls that read the clock."""
    return edited(sql, _places(sql))


def require_names(tree: exp.Query) -> None:
    """Raise NotAFunction for a column that reads the clock and has no alias, because Spark names it by its value."""
    for select in tree.find_all(exp.Select):
        for each in () if is_in_expression(select) else select.expressions:
            if not isinstance(each, (exp.Alias, exp.Aliases)) and marks_in(each):
                raise not_a_function("a column that reads the clock and has no alias", each, "add an alias")


def text_mark(word: str) -> str:
    """The mark in the place of a text such as ``'today'``."""
    return f"{_TEXT}{word}()"


def parts_of(sql: str) -> frozenset[str]:
    """The parts of the clock that a text with marks reads."""
    return frozenset(_part(found[1].lower()) for found in _MARK.finditer(sql))


def _part(mark: str) -> str:
    return DATE if mark == _DATE or mark.removeprefix(_TEXT) in DAYS else TIME


def marks_in(node: exp.Expr) -> list[exp.Anonymous]:
    """The marks in an expression or query."""
    return [each for each in node.find_all(exp.Anonymous) if each.name.lower() in CLOCK_MARKS]


def reads(node: exp.Expr, parts: Collection[str]) -> bool:
    """Whether an expression or query reads some parts of the clock."""
    return any(_part(each.name.lower()) in parts for each in marks_in(node))


def at_checkpoint(node: exp.Expr) -> exp.Expr:
    """A copy of an expression or query that reads the clock at the checkpoint."""
    found = node.copy()
    for each in marks_in(found):
        each.set("this", f"{each.name.lower()}{_OLD}")
    return found


_NO_VALUES = (
    exp.Alias, exp.Distinct, exp.Filter, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Tuple, exp.Where,
    exp.WindowSpec,
)  # fmt: skip


def compared_parts(node: exp.Expr, parts: Collection[str]) -> Iterator[exp.Expr]:
    """The largest parts of an expression that are computed from one row, and that read the clock."""
    if not reads(node, parts):
        return
    if is_of_row(node) and not isinstance(node, _NO_VALUES) and window_of(node) is None:
        yield node
        return
    for each in node.iter_expressions():
        yield from compared_parts(each, parts)


def _value(mark: str, clock: Clock) -> str:
    local = clock.local
    if mark == _DATE:
        return f"date'{clock.date}'"
    if mark == _TIME:
        return f"timestamp_micros({clock.instant})"
    if mark == _LOCAL:
        return f"timestamp_ntz'{local.replace(tzinfo=None).isoformat(' ', 'microseconds')}'"
    word = mark.removeprefix(_TEXT)
    if word in DAYS:
        return f"'{(local.date() + timedelta(days=DAYS[word])).isoformat()}'"
    return f"'{local.isoformat(' ', 'microseconds')}'"


def _places(sql: str) -> list[tuple[int, int, str]]:
    """Where a text calls functions that read the clock: the start, the end and the mark."""
    tokens, found = PlainSpark().tokenize(sql), []
    for place, token in enumerate(tokens):
        name = token.text.lower()
        mark = _CALLS.get(name)
        if mark is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER, TokenType.RAW_STRING):
            continue
        if place and tokens[place - 1].token_type in _BEFORE_NAMES:
            continue
        after = [each.token_type for each in tokens[place + 1 : place + 3]]
        if after == [TokenType.L_PAREN, TokenType.R_PAREN]:
            found.append((token.start, tokens[place + 2].end + 1, mark))
        elif name in _WITHOUT_PARENTHESES and after[:1] not in ([TokenType.L_PAREN], [TokenType.DOT]):
            found.append((token.start, token.end + 1, mark))
    return found


def _texts(tokens: Sequence[Token]) -> list[str]:
    return [each.text for each in tokens if each.token_type is TokenType.STRING]

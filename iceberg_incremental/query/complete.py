"""The complete text of a query: with orders for LIMIT, and with marks in the places of texts that mean a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import TokenType, exp

from ..table.history import TableName
from .algebra.build import build
from .algebra.nodes import all_nodes, expressions_of
from .text.clauses import with_complete_orders
from .text.clock import DAYS, text_mark
from .text.dialect import PlainSpark, may_be_moment
from .text.parsing import Columns, parsed, spark_text
from .text.refusal import Refusal
from .text.supported import COMPARISONS, require_columns, require_supported
from .text.tokens import edited


def complete_text(sql: str, columns: Mapping[TableName, Columns], catalog: str) -> str:
    """The text of a query that Spark executes: without QUALIFY, and with complete orders for LIMIT. Raises Refusal."""
    return with_complete_orders(spark_text(sql), lambda text: build(parsed(text), columns, catalog).limits)


def supported(sql: str, columns: Mapping[TableName, Columns]) -> exp.Query:
    """The parsed text of a query. Raises Refusal for a construct whose affected rows are not known."""
    tree = parsed(sql)
    require_supported(tree.walk(bfs=False))
    require_columns(tree, {name.lower() for found in columns.values() for name in found})
    return tree


def with_marks_of_texts(sql: str, columns: Mapping[TableName, Columns], catalog: str) -> str:
    """The text with marks in the places of texts such as ``'today'``, if Spark certainly casts all of them to times.

    ``columns``: those of each relation. ``catalog``: the default catalog.
    """
    tokens = PlainSpark().tokenize(sql)
    places = [at for at, each in enumerate(tokens) if each.token_type is TokenType.STRING and may_be_moment(each.text)]
    words = {at: tokens[at].text.strip().lower() for at in places}
    if not places or not set(words.values()) <= {*DAYS, "now"}:
        return sql
    try:
        tree = build(supported(sql, columns), columns, catalog)
    except Refusal:
        return sql
    parts = [part for node in all_nodes(tree.root, tree.subqueries) for part in expressions_of(node)]
    parts += [value for each in tree.subqueries.values() for value in each.values]
    texts = [each for part in parts for each in part.find_all(exp.Literal) if may_be_moment(each.name)]
    if not all(_is_cast(each, tree.types.of) for each in texts if each.is_string):
        return sql
    edits = []
    for at in places:
        start, mark = tokens[at].start, text_mark(words[at])
        before = tokens[at - 1] if at else None
        if before is not None and before.text.lower() in _TYPES:  # date 'today'
            start, mark = before.start, f"cast({mark} as {before.text})"
        edits.append((start, tokens[at].end + 1, mark))
    return edited(sql, edits)


_TYPES = ("date", "timestamp", "timestamp_ntz", "timestamp_ltz")
_CASTS = (*_TYPES, "to_date", "to_timestamp", "try_to_date", "try_to_timestamp")
_COMPARED = (*COMPARISONS, exp.Between, exp.In)


def _is_cast(text: exp.Literal, type_of: Callable[[exp.Expr], str | None]) -> bool:
    """Whether Spark casts a text to a time."""
    above = text.parent
    if isinstance(above, (exp.Cast, exp.TryCast)):
        return str(above.to.sql(PlainSpark)).lower().startswith(_TYPES)
    if isinstance(above, exp.Anonymous):
        return above.name.lower() in _CASTS and len(above.expressions) == 1
    if not isinstance(above, _COMPARED):
        return False
    others = [each for each in above.iter_expressions() if not isinstance(each, exp.Literal)]
    return bool(others) and all((type_of(each) or "").startswith(_TYPES) for each in others)

"""Reading a text: parsing it into a tree, and the relations that it mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from ...names import sql_name
from ...table.history import TableName
from .dialect import PlainSpark, with_units, with_whole_intervals
from .functions import GENERATORS
from .refusal import line_of, not_a_function, other_relation, refused
from .tokens import edited, end_of, same_level

Columns = Mapping[str, str]
"""The types of a relation's columns, by column name."""

_OF_ARGUMENTS = frozenset(("range", *GENERATORS))
"""Functions for FROM whose rows depend only on their arguments."""


@dataclass(frozen=True)
class Mention:
    """A place in a text that names a relation: from ``start`` to ``end``, exclusive.

    ``alias``: the name by which the rest of the query refers to it, if the text has no alias.
    """

    relation: TableName
    start: int
    end: int
    alias: str | None


def parsed(sql: str) -> exp.Query:
    """The tree of one query, without QUALIFY. Raises Refusal."""
    return _parsed(spark_text(sql))


def _parsed(sql: str) -> exp.Query:
    if "|>" in sql and any(each.token_type is TokenType.PIPE_GT for each in PlainSpark().tokenize(sql)):
        raise not_a_function("the pipe operator |>", None, "write the query without pipes")
    try:
        tree = query_in(sql)
    except (SqlglotError, RecursionError) as error:
        errors: Sequence[Mapping[str, object]] = getattr(error, "errors", None) or [{}]
        line = errors[0].get("line")
        place = f" in line {line}" if line else ""
        raise refused(f"SQL that cannot be parsed{place}: {errors[0].get('description') or error}") from error
    if tree is None:
        raise refused("SQL that is not one SELECT")
    return tree


def query_in(sql: str) -> exp.Query | None:
    """The tree of any query. None for other statements. Raises SqlglotError for a text that cannot be parsed."""
    found = [each for each in PlainSpark().parse(sql) if each is not None]
    tree = with_units(with_whole_intervals(found[0])) if len(found) == 1 else None
    if not isinstance(tree, exp.Query):
        return None
    for hint in list(tree.find_all(exp.Hint)):  # hints affect no result, and later steps rename what they name
        hint.pop()
    return tree


def literals(sql: str) -> list[str]:
    """The texts in a query, which may be one that cannot be parsed."""
    try:
        tokens = PlainSpark().tokenize(sql)
    except SqlglotError:
        return []
    return [each.text for each in tokens if each.token_type in (TokenType.STRING, TokenType.RAW_STRING)]


def without_end(sql: str) -> str:
    """The text without semicolons at its end, so that it can be part of another query."""
    try:
        tokens = PlainSpark().tokenize(sql)
    except SqlglotError:
        return sql
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        end = tokens.pop()
        sql = f"{sql[: end.start]}{sql[end.end + 1 :]}"
    return sql


def spark_text(sql: str) -> str:
    """A query for Spark 4, which does not support QUALIFY. Other queries keep their text. Raises Refusal."""
    if "qualify" not in sql.lower() or _parsed(sql).find(exp.Qualify) is None:
        return sql
    return without_qualify(sql)


def mentions(sql: str, catalog: str | None, namespace: str | None = None) -> list[Mention]:
    """The relations that a query names, in the order of the text, without its own CTEs.

    ``catalog``, ``namespace``: the defaults for names without one. None if unknown. Raises Refusal for a name that is
    not a relation, and OtherRelation for one whose default is unknown.
    """
    return _mentions(_parsed(sql), catalog, namespace)


def relations_of(sql: str, columns: Mapping[TableName, Columns], catalog: str) -> list[TableName]:
    """The relations that a query reads, in the order of the text. Raises OtherRelation for one not in ``columns``."""
    by_name = {str(table).lower(): table for table in columns}
    found: dict[TableName, None] = {}
    for each in mentions(spark_text(sql), catalog):
        if str(each.relation).lower() not in by_name:
            raise other_relation(each.relation, None)
        found[by_name[str(each.relation).lower()]] = None
    return list(found)


def _mentions(tree: exp.Query, catalog: str | None, namespace: str | None) -> list[Mention]:
    found = []
    for table in tree.find_all(exp.Table):
        if _is_cte(table):
            continue
        if isinstance(table.this, exp.Anonymous) and table.this.name.lower() in _OF_ARGUMENTS:
            continue
        if not is_named(table):
            read_instead = "read tables, views and models with ref() or source()"
            raise refused(f"FROM {table.this.sql(PlainSpark)}", table, read_instead)
        parts = table.parts
        name = _table_name([part.name for part in parts], catalog, namespace)
        if name is None:
            raise other_relation(table.sql(PlainSpark), line_of(table))
        start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        found.append(Mention(name, start, end, None if table.alias else parts[-1].name))
    return sorted(found, key=lambda each: each.start)


def _table_name(parts: Sequence[str], catalog: str | None, namespace: str | None) -> TableName | None:
    full = [*(catalog, namespace)[: max(3 - len(parts), 0)], *parts]
    known = [part for part in full if part is not None]
    return TableName.of(known) if len(known) == len(full) else None


def is_named(table: exp.Table) -> bool:
    """Whether a relation in FROM is a name. A name with several levels between catalog and table is a ``Dot``."""
    return isinstance(table.this, (exp.Identifier, exp.Dot)) and all(isinstance(p, exp.Identifier) for p in table.parts)


def _is_cte(table: exp.Table) -> bool:
    """Whether a name refers to a CTE that is in scope."""
    if table.args.get("db") is not None or not isinstance(table.this, exp.Identifier):
        return False
    name, node = table.name.lower(), table.parent
    below: exp.Expr | None = table
    while node is not None:
        clause = node.args.get("with_")
        if clause is not None:
            listed = clause.expressions
            if below is clause:  # a CTE can only read the CTEs before it, and a recursive one also itself
                inside = next(n for n, each in enumerate(listed) if any(table is t for t in each.find_all(exp.Table)))
                listed = listed[: inside + bool(clause.args.get("recursive"))]
            if any(each.alias.lower() == name for each in listed):
                return True
        below, node = node, node.parent
    return False


def replaced(sql: str, found: Sequence[Mention], texts: Sequence[str]) -> str:
    """The text with the named relations replaced by other relations."""
    edits = []
    for mention, text in zip(found, texts, strict=True):
        alias = f" as {sql_name(mention.alias)}" if mention.alias and text.startswith("(") else ""
        edits.append((mention.start, mention.end, f"{text}{alias}"))
    return edited(sql, edits)


# QUALIFY as the filter of a derived table, for Spark 4.1 and earlier, which do not support it. The rest of the text
# stays as it is, so that Spark interprets it, not the parser.

_KEPT, _RELATION = "ip_is_kept", "ip_qualified"
_AFTER_ALL = (
    TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.LIMIT,
    TokenType.OFFSET, TokenType.FETCH,
)  # fmt: skip
_BEFORE_LIST = (TokenType.HINT, TokenType.ALL)
_BEFORE_NAMES = (TokenType.DOT, TokenType.ALIAS)


def without_qualify(sql: str) -> str:
    """The text with each QUALIFY as the filter of a derived table. Raises Refusal."""
    while True:
        tokens = PlainSpark().tokenize(sql)
        places = [place for place, token in enumerate(tokens) if token.token_type is TokenType.QUALIFY]
        clauses = [place for place in places if tokens[place - 1].token_type not in _BEFORE_NAMES]
        if not clauses:
            return sql
        sql = _Select(sql, tokens, clauses[-1]).rewritten()


class _Select:
    """A SELECT with QUALIFY at a place in the tokens of a text."""

    def __init__(self, sql: str, tokens: Sequence[Token], place: int) -> None:
        self._sql = sql
        self._tokens = tokens
        self._place = place
        self._start = next(at for at in same_level(tokens, place, -1) if self._type(at) is TokenType.SELECT)
        self._end = end_of(tokens, place)
        self._tree = _parsed(self._text(self._start, self._end))
        if self._tree.args.get("qualify") is None:
            raise refused("the name qualify", self._tree, "write it in backticks")

    def rewritten(self) -> str:
        """The whole text with the SELECT without QUALIFY."""
        place, after = self._place, list(same_level(self._tokens, self._place, 1))
        if self._tree.args.get("distinct") is not None:
            raise refused("QUALIFY with DISTINCT", self._tree, "write one of them in a CTE")
        ordered = next((at for at in after if at < self._end and self._type(at) in _AFTER_ALL), self._end)
        window = next((at for at in after if at < ordered and self._type(at) is TokenType.WINDOW), ordered)
        listed = next((at for at in same_level(self._tokens, self._start, 1) if self._is_from(at)), place)
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
        ends = [
            at
            for at in same_level(self._tokens, self._start, 1)
            if self._type(at) is TokenType.COMMA or self._is_from(at)
        ]
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

    def _type(self, at: int) -> TokenType:
        return self._tokens[at].token_type

    def _is_from(self, at: int) -> bool:
        """Whether a token starts the FROM clause, as opposed to that in IS DISTINCT FROM."""
        return self._type(at) is TokenType.FROM and self._type(at - 1) is not TokenType.DISTINCT

    def _text(self, start: int, end: int) -> str:
        """The text from a token to the one before another. Empty if there are none."""
        return self._sql[self._tokens[start].start : self._tokens[end - 1].end + 1] if start < end else ""

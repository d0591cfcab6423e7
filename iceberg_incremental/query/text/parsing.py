"""Reading a text: parsing it into a tree, and the relations that it mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from ...names import sql_name
from ...table.history import TableName
from .dialect import PlainSpark, with_units, with_whole_intervals
from .functions import GENERATORS
from .qualify import without_qualify
from .refusal import line_of, not_a_function, other_relation, refused

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
        found = [each for each in PlainSpark().parse(sql) if each is not None]
    except (SqlglotError, RecursionError) as error:
        errors: Sequence[Mapping[str, object]] = getattr(error, "errors", None) or [{}]
        line = errors[0].get("line")
        place = f" in line {line}" if line else ""
        raise refused(f"SQL that cannot be parsed{place}: {errors[0].get('description') or error}") from error
    tree = with_units(with_whole_intervals(found[0])) if len(found) == 1 else None
    if not isinstance(tree, exp.Query):
        raise refused("SQL that is not one SELECT")
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
    return without_qualify(sql, _parsed)


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
        if not isinstance(table.this, exp.Identifier):
            read_instead = "read tables, views and models with ref() or source()"
            raise refused(f"FROM {table.this.sql(PlainSpark)}", table, read_instead)
        parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
        name = _table_name([part.name for part in parts], catalog, namespace)
        if name is None:
            raise other_relation(table.sql(PlainSpark), line_of(table))
        start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        found.append(Mention(name, start, end, None if table.alias else parts[-1].name))
    return sorted(found, key=lambda each: each.start)


def _table_name(parts: Sequence[str], catalog: str | None, namespace: str | None) -> TableName | None:
    full = [*(catalog, namespace)[: 3 - len(parts)], *parts]
    known = [part for part in full if part is not None]
    return TableName(*known) if len(known) == len(full) else None


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
    pieces, at = [], 0
    for mention, text in zip(found, texts, strict=True):
        needs_alias = mention.alias is not None and text.startswith("(")
        alias = f" as {sql_name(mention.alias)}" if needs_alias and mention.alias else ""
        pieces += [sql[at : mention.start], text, alias]
        at = mention.end
    return "".join([*pieces, sql[at:]])
